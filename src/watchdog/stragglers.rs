//! Work that was left to a user's runtime, and is taken over if it is not done there in time.
//!
//! A runtime of one thread runs only inside `block_on`: between two calls nothing goes on there,
//! and no timer of its own can notice. To hand everything over at once would be safe as well, but
//! costs a second request for each, and a wake-up of the watchdog's thread.

use std::{
    fmt,
    sync::{PoisonError, Weak},
    time::Duration,
};

use super::Shared;
use crate::{
    clock::Instant,
    panics::contained,
    sync::{Mutex, MutexGuard},
};

/// Work on another runtime.
pub(crate) trait Straggling: fmt::Debug + Send + Sync {
    /// Ends it there, if it is not done. What is left of it goes to the releaser by itself.
    fn take_over(&self);
}

/// What is to be looked at, and when. Most of it is done by then, and gone.
#[derive(Debug, Default)]
pub(super) struct StragglerList(Mutex<Vec<(Instant, Weak<dyn Straggling>)>>);

impl StragglerList {
    /// True if the list is not looked after yet.
    pub(super) fn add(&self, at: Instant, work: Weak<dyn Straggling>) -> bool {
        let mut list = self.list();
        list.push((at, work));
        list.len() == 1
    }

    /// When to look again: `None` if nothing is left that is not done.
    fn next_glance(&self, now: Instant) -> Option<Instant> {
        let mut list = self.list();
        list.retain(|(_, work)| work.strong_count() > 0);
        let earliest = list.iter().map(|(at, _)| *at).min()?;
        // What comes meanwhile may be due sooner.
        Some(earliest.min(now + GLANCE))
    }

    /// Takes over what is due, and not done.
    pub(super) fn take_over(&self, now: Instant) {
        for work in self.take_due(now) {
            if let Some(work) = work.upgrade() {
                contained(|| work.take_over());
            }
        }
    }

    fn take_due(&self, now: Instant) -> Vec<Weak<dyn Straggling>> {
        self.list().extract_if(.., |(at, _)| *at <= now).map(|(_, work)| work).collect()
    }

    fn list(&self) -> MutexGuard<'_, Vec<(Instant, Weak<dyn Straggling>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks after the list until it is empty: in few glances, each at all that has gathered.
pub(super) async fn look_after(shared: &Shared) {
    while let Some(at) = shared.stragglers.next_glance(shared.clock.now()) {
        shared.clock.sleep_until(at).await;
        shared.stragglers.take_over(shared.clock.now());
    }
}

/// The longest sleep between two glances: by then most work is done, and gone.
const GLANCE: Duration = Duration::from_secs(1);

#[cfg(feature = "embedded")]
#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    use super::*;
    use crate::{
        clock::{Clock, TokioClock},
        random::Random,
        watchdog::Watchdog,
    };

    #[derive(Debug, Default)]
    struct Work(AtomicBool);

    impl Straggling for Work {
        fn take_over(&self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    /// Patience with one server must not make other calls wait for as long.
    #[tokio::test(start_paused = true)]
    async fn work_is_taken_over_in_its_own_time_whatever_else_is_listed() {
        let clock = Arc::new(TokioClock::new());
        let watchdog = Watchdog::on_current_runtime(clock.clone(), Arc::new(Random::seeded(1)));
        let at = |seconds| clock.now() + Duration::from_secs(seconds);
        let (patient, done, hasty) =
            (Arc::new(Work::default()), Arc::new(Work::default()), Arc::new(Work::default()));
        let listed = |work: &Arc<Work>, at| {
            let work: Arc<dyn Straggling> = work.clone();
            watchdog.take_over(at, &work);
        };
        listed(&patient, at(100));
        listed(&done, at(50));
        drop(done);
        clock.sleep_until(at(10)).await;
        listed(&hasty, at(3));
        clock.sleep_until(at(5)).await;
        let is_taken = |work: &Work| work.0.load(Ordering::SeqCst);
        assert!(is_taken(&hasty) && !is_taken(&patient));
        clock.sleep_until(at(100)).await;
        assert!(is_taken(&patient));
    }
}

#[cfg(all(test, shuttle))]
mod orders {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    };

    use futures::future::{BoxFuture, FutureExt, ready};
    use shuttle::{future::block_on, thread};

    use super::*;
    use crate::{
        clock::Clock,
        random::Random,
        sync::in_many_orders,
        watchdog::{Schedule, Table},
    };

    /// By this one everything is due at once.
    #[derive(Debug)]
    struct Due;

    impl Clock for Due {
        fn now(&self) -> Instant {
            Instant::from_origin(Duration::ZERO)
        }

        fn sleep_until(&self, _at: Instant) -> BoxFuture<'static, ()> {
            ready(()).boxed()
        }
    }

    #[derive(Debug, Default)]
    struct Counted(AtomicU32);

    impl Straggling for Counted {
        fn take_over(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn shared() -> Arc<Shared> {
        let table = Table { schedule: Schedule::new(), wakes_at: None };
        Arc::new(Shared {
            clock: Arc::new(Due),
            random: Arc::new(Random::seeded(1)),
            table: std::sync::Mutex::new(table),
            nudge: tokio::sync::Notify::new(),
            stragglers: StragglerList::default(),
            is_running: AtomicBool::new(true),
        })
    }

    /// A thread that lists something when the last of the others is taken finds the list looked
    /// after, or is told to call for that.
    #[test]
    fn work_is_taken_over_once_whenever_it_is_listed() {
        in_many_orders(2_000, || {
            let shared = shared();
            let works = [(); 3].map(|()| Arc::new(Counted::default()));
            let listing = works.clone().map(|work| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let work: Arc<dyn Straggling> = work;
                    if shared.stragglers.add(shared.clock.now(), Arc::downgrade(&work)) {
                        block_on(look_after(&shared));
                    }
                })
            });
            listing.into_iter().for_each(|thread| thread.join().expect("nobody panics"));
            let times = works.map(|work| work.0.load(Ordering::SeqCst));
            assert_eq!(times, [1; 3]);
        });
    }
}
