//! Requests that leave together, and their answers as they come.

use std::{
    collections::VecDeque,
    future::Future,
    task::{Context, Poll, ready},
};

use futures::{FutureExt, StreamExt, stream::FuturesUnordered};
use tokio::runtime::Handle;

/// Futures that were all polled once, in order, when they were given.
///
/// `FuturesUnordered` alone asks to be polled again whenever it has polled all it has. After a
/// fan-out that is one poll for nothing, and on a multi-thread runtime it wakes another worker,
/// which then takes away the task that writes to the socket. So the first poll is made here,
/// without a listener; whatever is woken by then or later is found by the next one.
#[derive(Debug)]
pub(crate) struct InFlight<F: Future> {
    /// Done at their first poll.
    done: VecDeque<F::Output>,
    /// Made with the first that is under way.
    under_way: Option<FuturesUnordered<F>>,
}

impl<F: Future> InFlight<F> {
    /// Nothing yet.
    pub(crate) const fn none() -> Self {
        Self { done: VecDeque::new(), under_way: None }
    }

    pub(crate) fn send(requests: impl IntoIterator<Item = F>) -> Self {
        let mut in_flight = Self::none();
        in_flight.add(requests);
        in_flight
    }

    /// More of them, sent now.
    pub(crate) fn add(&mut self, requests: impl IntoIterator<Item = F>) {
        self.under_way.get_or_insert_default().extend(requests);
        while let Some(output) = self.next_ready() {
            self.done.push_back(output);
        }
    }

    fn next_ready(&mut self) -> Option<F::Output> {
        self.under_way.as_mut()?.next().now_or_never()?
    }

    /// The next answer; `None` after the last.
    ///
    /// # Cancel safety
    /// Dropping the future loses no answer.
    pub(crate) async fn next(&mut self) -> Option<F::Output> {
        if let Some(output) = self.done.pop_front() {
            return Some(output);
        }
        self.under_way.as_mut()?.next().await
    }

    /// Whether nothing is under way any more, whatever the answers are that came by now.
    fn is_done(&mut self) -> bool {
        while self.next_ready().is_some() {}
        self.under_way.as_ref().is_none_or(FuturesUnordered::is_empty)
    }

    /// What is under way still, for the task that finishes it, if that is anything.
    pub(super) fn rest(mut self) -> Option<Self> {
        (!self.is_done()).then_some(self)
    }

    /// Drives what is under way, whatever the answers are.
    pub(super) fn poll_stragglers(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(under_way) = &mut self.under_way else { return Poll::Ready(()) };
        while ready!(under_way.poll_next_unpin(cx)).is_some() {}
        Poll::Ready(())
    }
}

impl<F> InFlight<F>
where
    F: Future<Output: Send> + Send + 'static,
{
    /// The slow rest goes on without us; if there is no runtime, or it ends meanwhile, it is
    /// dropped.
    pub(crate) fn finish_in_background(self) {
        let under_way = self.rest().and_then(|rest| rest.under_way);
        if let Some(mut under_way) = under_way
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(async move { while under_way.next().await.is_some() {} });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::{pending, ready},
        pin::pin,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::Wake,
    };

    use futures::future::BoxFuture;
    use tokio::sync::oneshot;

    use super::*;

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[tokio::test]
    async fn answers_come_as_they_are_ready() {
        let (late, answer) = oneshot::channel();
        let late_one = async move { answer.await.unwrap_or(0) };
        let requests: [BoxFuture<'static, u32>; 3] =
            [late_one.boxed(), ready(1).boxed(), ready(2).boxed()];
        let mut in_flight = InFlight::send(requests);
        assert_eq!(in_flight.next().await, Some(1));
        assert_eq!(in_flight.next().await, Some(2));
        assert_eq!(in_flight.next().now_or_never(), None);
        assert_eq!(late.send(3), Ok(()));
        assert_eq!(in_flight.next().await, Some(3));
        assert_eq!(in_flight.next().await, None);
    }

    #[test]
    fn waiting_for_the_first_answer_wakes_nobody() {
        let wakes = Arc::new(Wakes::default());
        let waker = wakes.clone().into();
        let mut in_flight = InFlight::send([pending::<()>(), pending()]);
        let next = pin!(in_flight.next());
        assert!(next.poll(&mut Context::from_waker(&waker)).is_pending());
        assert_eq!(wakes.0.load(Ordering::Relaxed), 0);
    }
}
