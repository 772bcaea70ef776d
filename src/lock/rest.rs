//! The slow rest of a volley, on a runtime that may stop going on.

use std::{
    fmt,
    future::{Future, poll_fn},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    task::{Context, Poll},
};

use tokio::{runtime::Handle, task::AbortHandle};

use super::volley::Volley;
use crate::watchdog::Unfinished;

/// What is under way of a volley, shared by the task that drives it and whoever takes it over.
pub(super) struct Rest<F: Future> {
    volley: Mutex<Option<Volley<F>>>,
    driver: OnceLock<AbortHandle>,
}

impl<F> Rest<F>
where
    F: Future<Output: Send> + Send + 'static,
{
    /// Has `runtime` drive it.
    pub(super) fn driven_by(runtime: &Handle, volley: Volley<F>) -> Arc<Self> {
        let rest = Arc::new(Self { volley: Mutex::new(Some(volley)), driver: OnceLock::new() });
        let driven = rest.clone();
        let driver = runtime.spawn(poll_fn(move |cx| driven.poll(cx)));
        // It is set once: here.
        let _always_new = rest.driver.set(driver.abort_handle());
        rest
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut volley = self.volley();
        let rest = volley.as_mut().map_or(Poll::Ready(()), |volley| volley.poll_rest(cx));
        if rest.is_ready() {
            *volley = None;
        }
        rest
    }

    fn volley(&self) -> MutexGuard<'_, Option<Volley<F>>> {
        self.volley.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F> Unfinished for Rest<F>
where
    F: Future<Output: Send> + Send + 'static,
{
    fn take_over(&self) {
        let left = self.volley().take();
        // Without the lock: what is dropped here hands itself on.
        drop(left);
        if let Some(driver) = self.driver.get() {
            driver.abort();
        }
    }
}

impl<F: Future> fmt::Debug for Rest<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rest").finish_non_exhaustive()
    }
}
