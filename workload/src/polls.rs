//! Futures that are dropped at a poll.

use std::{pin::pin, task::Poll};

use futures::future::poll_fn;

/// The output of `work`, or nothing after so many polls that did not bring it.
pub(crate) async fn some_polls<T>(work: impl Future<Output = T>, polls: u64) -> Option<T> {
    let mut work = pin!(work);
    let mut left = polls;
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if left <= 1 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}
