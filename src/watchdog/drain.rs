//! How much is left to do before a client may go.

use std::sync::{Arc, atomic::Ordering};

use crate::{
    sync::{AtomicUsize, Notify},
    telling,
};

/// How many releases of a client are under way.
#[derive(Debug, Default)]
pub(crate) struct Drain {
    count: AtomicUsize,
    one_done: Notify,
}

impl Drain {
    pub(crate) fn begin(self: &Arc<Self>) -> Draining {
        self.count.fetch_add(1, Ordering::AcqRel);
        Draining(self.clone())
    }

    pub(crate) fn under_way(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Completes once nothing is under way.
    pub(crate) async fn drained(&self) {
        loop {
            let one_done = self.one_done.notified();
            if self.under_way() == 0 {
                return;
            }
            one_done.await;
        }
    }
}

/// A release that is under way, until this is dropped.
#[derive(Debug)]
pub(crate) struct Draining(Arc<Drain>);

impl Drop for Draining {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::AcqRel);
        let drain = self.0.clone();
        telling::wake(move || drain.one_done.notify_waiters());
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn drain_is_done_with_the_last_that_is_under_way() {
        let drain = Arc::new(Drain::default());
        assert_eq!(drain.drained().now_or_never(), Some(()));
        let mut under_way = vec![drain.begin(), drain.begin()];
        let mut drained = pin!(drain.drained());
        for (left, done) in [(2, None), (1, None), (0, Some(()))] {
            under_way.truncate(left);
            assert_eq!((drain.under_way(), drained.as_mut().now_or_never()), (left, done));
        }
    }
}

#[cfg(all(test, shuttle))]
mod orders {
    use shuttle::{future::block_on, thread};

    use super::*;
    use crate::sync::in_many_orders;

    #[test]
    fn who_waits_until_nothing_is_under_way_is_woken_by_the_last() {
        in_many_orders(2_000, || {
            let drain = Arc::new(Drain::default());
            let under_way = [drain.begin(), drain.begin()];
            let ending = under_way.map(|one| thread::spawn(move || drop(one)));
            block_on(drain.drained());
            assert_eq!(drain.under_way(), 0);
            ending.into_iter().for_each(|thread| thread.join().expect("nobody panics"));
        });
    }
}
