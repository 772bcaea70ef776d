//! Waiting no longer than until a deadline.

use crate::clock::{Instant, SharedClock};

/// The output of `work` if it comes until `deadline`.
///
/// What is ready counts, however late this task is polled: a runtime that was busy for long must
/// not be mistaken for a frozen server. After a long poll the timer may fire before the driver
/// has read what lies in the socket, hence the last look after the other tasks had their turn.
pub(crate) async fn before<T>(
    clock: &SharedClock,
    deadline: Instant,
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::pin!(work);
    tokio::select! {
        biased;
        output = &mut work => return Some(output),
        () = clock.sleep_until(deadline) => {}
    }
    last_look(work).await
}

/// The output of `work`, whose time is over, if it is ready once the other tasks had their turn.
pub(crate) async fn last_look<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::pin!(work);
    for _turn in 0..2 {
        tokio::task::yield_now().await;
        if let Some(output) = futures::future::FutureExt::now_or_never(&mut work) {
            return Some(output);
        }
    }
    None
}
