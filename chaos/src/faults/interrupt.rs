//! The end of a run before its time.

use std::{
    io,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use tokio::{
    select,
    signal::unix::{SignalKind, signal},
};

/// The user's wish to end early, which cuts every sleep short.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<(Mutex<bool>, Condvar)>);

/// The user has had enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interrupted;

impl Interrupt {
    /// Raised by SIGINT and SIGTERM.
    ///
    /// # Errors
    /// They cannot be caught.
    pub(crate) fn on_signals() -> io::Result<Self> {
        let interrupt = Self::default();
        let raised = interrupt.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let mut signals = {
            let _context = runtime.enter();
            [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?]
        };
        thread::spawn(move || {
            let [interrupted, terminated] = &mut signals;
            runtime.block_on(async {
                select! {
                    _came = interrupted.recv() => {}
                    _came = terminated.recv() => {}
                }
            });
            raised.raise();
        });
        Ok(interrupt)
    }

    pub(crate) fn raise(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    pub(crate) fn sleep_until(&self, at: Instant) -> Result<(), Interrupted> {
        let (raised, changed) = &*self.0;
        let mut raised = raised.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let left = at.saturating_duration_since(Instant::now());
            match (*raised, left) {
                (true, _) => return Err(Interrupted),
                (false, Duration::ZERO) => return Ok(()),
                (false, _) => {}
            }
            let woken = changed.wait_timeout(raised, left);
            raised = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
