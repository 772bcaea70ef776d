//! The slow rest of a round, on a runtime that may stop going on.

use std::{
    fmt,
    future::{Future, poll_fn},
    sync::{Arc, OnceLock, PoisonError},
    task::{Context, Poll},
};

use tokio::{runtime::Handle, task::AbortHandle};

use crate::{
    claim::in_flight::InFlight,
    sync::{Mutex, MutexGuard},
    watchdog::Straggling,
};

/// What is under way of a round, shared by the task that drives it and the one that takes it over.
pub(super) struct Stragglers<F: Future> {
    in_flight: Mutex<Option<InFlight<F>>>,
    driver: OnceLock<AbortHandle>,
}

impl<F> Stragglers<F>
where
    F: Future<Output: Send> + Send + 'static,
{
    /// Has `runtime` drive it.
    pub(super) fn driven_by(runtime: &Handle, in_flight: InFlight<F>) -> Arc<Self> {
        let rest =
            Arc::new(Self { in_flight: Mutex::new(Some(in_flight)), driver: OnceLock::new() });
        let driven = rest.clone();
        let driver = runtime.spawn(poll_fn(move |cx| driven.poll(cx)));
        // It is set once: here.
        let _always_new = rest.driver.set(driver.abort_handle());
        rest
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut in_flight = self.in_flight();
        let rest =
            in_flight.as_mut().map_or(Poll::Ready(()), |in_flight| in_flight.poll_stragglers(cx));
        if rest.is_ready() {
            *in_flight = None;
        }
        rest
    }

    fn in_flight(&self) -> MutexGuard<'_, Option<InFlight<F>>> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F> Straggling for Stragglers<F>
where
    F: Future<Output: Send> + Send + 'static,
{
    fn take_over(&self) {
        let left = self.in_flight().take();
        // Without the lock: what is dropped here hands itself on.
        drop(left);
        if let Some(driver) = self.driver.get() {
            driver.abort();
        }
    }
}

impl<F: Future> fmt::Debug for Stragglers<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stragglers").finish_non_exhaustive()
    }
}
