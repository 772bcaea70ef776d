//! What threads share: the standard library's and tokio's, or, where the orders are tried in which
//! threads may come (`cargo xtask shuttle`), the same with a stop before each step.
//!
//! For state on which several threads decide: claims, turns, what is handed from one thread to
//! another. What merely is kept under a lock, and calls nothing there, has no order to be tried.

#[cfg(all(test, shuttle))]
pub(crate) use {
    shuttle::sync::{Mutex, MutexGuard, atomic::AtomicUsize},
    stopping::{Notify, in_many_orders, stop},
};
#[cfg(not(all(test, shuttle)))]
pub(crate) use {
    std::sync::{Mutex, MutexGuard, atomic::AtomicUsize},
    tokio::sync::Notify,
};

#[cfg(all(test, shuttle))]
mod stopping {
    use std::sync::atomic::Ordering;

    use shuttle::{
        Config, Runner,
        scheduler::{PctScheduler, RandomScheduler, Scheduler},
        sync::atomic::AtomicUsize,
    };
    use tokio::sync::futures::Notified;

    /// Tells a story so many times, in orders that chance chooses: half of them from step to step,
    /// the others with one or two changes of threads at points where none has to wait.
    pub(crate) fn in_many_orders(times: usize, story: impl Fn() + Clone + Send + Sync + 'static) {
        let tell = |scheduler: Box<dyn Scheduler + Send>| {
            let mut config = Config::new();
            // What an embedded server runs has deep stacks.
            config.stack_size = 1 << 20;
            // That orders of memory are not tried is known: nothing here relies on a weak one.
            config.silence_warnings = true;
            Runner::new(scheduler, config).run(story.clone());
        };
        tell(Box::new(RandomScheduler::new(times / 2)));
        tell(Box::new(PctScheduler::new(2, times / 4)));
        tell(Box::new(PctScheduler::new(3, times / 4)));
    }

    /// Where another thread may go on.
    pub(crate) fn stop() {
        AtomicUsize::new(0).load(Ordering::SeqCst);
    }

    /// tokio's, with a stop before each step. What others do meanwhile is seen by the next one.
    #[derive(Debug, Default)]
    pub(crate) struct Notify(tokio::sync::Notify);

    impl Notify {
        pub(crate) fn notified(&self) -> Notified<'_> {
            stop();
            self.0.notified()
        }

        pub(crate) fn notify_waiters(&self) {
            stop();
            self.0.notify_waiters();
        }
    }
}
