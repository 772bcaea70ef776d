//! The task that a driver runs in, and how callers write without waking it.
//!
//! A caller that asks several servers at once finds most of their sockets idle, and writes to each by its
//! driver, in its own turn. To wake a task for each would have a runtime of several threads wake another of
//! these, too.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, Weak},
    task::{Context, Poll, Waker},
};

use super::{
    driver::Driver,
    outbox::{InlineWriter, Outbox},
    priority::Priority,
};
use crate::{
    panics::contained,
    reach::{Spin, Stream},
};

/// Drives a socket until it has ended, or this is dropped.
pub(crate) struct DriverTask(Arc<Mutex<Driver>>);

impl DriverTask {
    pub(crate) fn new(stream: Box<dyn Stream>, outbox: Arc<Outbox>, spin: Spin) -> Self {
        let driver = Arc::new(Mutex::new(Driver::new(stream, outbox.clone(), spin)));
        let writer: Weak<Mutex<Driver>> = Arc::downgrade(&driver);
        outbox.set_inline_writer(writer);
        Self(driver)
    }
}

impl Future for DriverTask {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match self.0.lock() {
            Ok(mut driver) => Pin::new(&mut *driver).poll(cx),
            // It panicked while a caller wrote: the stream may be the user's.
            Err(_) => Poll::Ready(()),
        }
    }
}

impl InlineWriter for Mutex<Driver> {
    fn write(&self, priority: Priority, task: &Waker) -> bool {
        let Ok(mut driver) = self.try_lock() else { return false };
        // Unlocked by the panic, if there is one, so that the task finds it poisoned.
        contained(move || driver.write_inline(priority, &mut Context::from_waker(task)))
            .unwrap_or(false)
    }
}
