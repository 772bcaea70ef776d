//! Time, as the records have it.

use std::{fmt, time::Duration};

use checkers::time::Time;
use futures::future::BoxFuture;
use palisade::clock::Instant;

/// The clock of the records, and the times of a lane. The library's own clock may show another time.
pub trait Timekeeper: fmt::Debug + Send + Sync {
    fn now(&self) -> Time;

    /// When the library's clock shows `at`.
    fn time_of(&self, at: Instant) -> Time;

    fn sleep(&self, length: Duration) -> BoxFuture<'static, ()>;

    /// Whether work is to be cut short: the run ends, and others still wait for the lock.
    fn is_time_up(&self) -> bool {
        false
    }
}
