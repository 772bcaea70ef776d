//! How many acquires of a client are under way, those that wait included.

use std::sync::atomic::Ordering;

use super::NodeServices;

/// An acquire that is under way, until this is dropped. As small as it can be: futures of users have room for it.
pub(crate) struct CountedAcquire<'a>(&'a NodeServices);

impl NodeServices {
    pub(crate) fn underway(&self) -> CountedAcquire<'_> {
        self.acquiring.fetch_add(1, Ordering::Relaxed);
        self.settings.meters.waits();
        CountedAcquire(self)
    }
}

impl Drop for CountedAcquire<'_> {
    fn drop(&mut self) {
        self.0.acquiring.fetch_sub(1, Ordering::Relaxed);
        self.0.settings.meters.no_longer_waits();
    }
}
