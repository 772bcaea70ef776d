//! Repairs under way, only so many at a time.
//!
//! When a master comes back, every hold that stood there has a repair to make at about the same
//! time. A repair does nothing, and no time of its own runs, until its turn has come.

use std::collections::VecDeque;

use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};

use crate::panics::contained_async;

/// Work of a claim on the watchdog's runtime, which tells the hold itself what came of it.
pub(crate) type Repair = BoxFuture<'static, ()>;

/// Over all nodes together.
const AT_A_TIME: usize = 256;

#[derive(Default)]
pub(super) struct Repairs {
    waiting: VecDeque<Repair>,
    under_way: FuturesUnordered<Repair>,
}

impl Repairs {
    pub(super) fn add(&mut self, repairs: Vec<Repair>) {
        let contained = |repair| contained_async(repair).map(drop).boxed();
        self.waiting.extend(repairs.into_iter().map(contained));
        self.start();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Drives them until one is done.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub(super) async fn next(&mut self) {
        self.under_way.next().await;
        self.start();
    }

    fn start(&mut self) {
        let free = AT_A_TIME.saturating_sub(self.under_way.len()).min(self.waiting.len());
        self.under_way.extend(self.waiting.drain(..free));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn all_have_their_turn_and_only_so_many_at_a_time() {
        let (begun, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let gate = Arc::new(Semaphore::new(0));
        let repair = || {
            let (begun, done, gate) = (begun.clone(), done.clone(), gate.clone());
            async move {
                begun.fetch_add(1, Ordering::SeqCst);
                gate.acquire().await.expect("the gate is never closed").forget();
                done.fetch_add(1, Ordering::SeqCst);
            }
            .boxed()
        };
        let mut repairs = Repairs::default();
        repairs.add((0..2 * AT_A_TIME + 1).map(|_| repair()).collect());
        assert!(repairs.next().now_or_never().is_none());
        assert_eq!(begun.load(Ordering::SeqCst), AT_A_TIME);
        gate.add_permits(2 * AT_A_TIME + 1);
        while !repairs.is_empty() {
            repairs.next().await;
        }
        assert_eq!(done.load(Ordering::SeqCst), 2 * AT_A_TIME + 1);
    }
}
