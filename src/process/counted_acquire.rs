//! How many acquires of a client are under way, those that wait included.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::NodeServices;
use crate::metering::UnderwayAcquire;

/// An acquire that is under way, until this is dropped.
pub(crate) struct CountedAcquire<'a> {
    count: &'a AtomicUsize,
    _measured: UnderwayAcquire<'a>,
}

impl NodeServices {
    pub(crate) fn underway(&self) -> CountedAcquire<'_> {
        self.acquiring.fetch_add(1, Ordering::Relaxed);
        CountedAcquire { count: &self.acquiring, _measured: self.settings.meters.underway() }
    }
}

impl Drop for CountedAcquire<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}
