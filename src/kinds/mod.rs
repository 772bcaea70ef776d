//! The kinds of locks, a folder each: what users see, what is said of it, and its scripts.

mod counter;
mod expirable;
mod fair;
mod fenced;
mod latch;
mod mutex;
mod once;
mod permits;
mod rights;
mod rw;
pub(crate) mod scripts;
mod semaphore;
#[cfg(all(test, feature = "embedded"))]
mod tests;
mod usage;

pub use expirable::{ExpirableGuard, ExpirableSemaphore};
pub use fair::FairLock;
pub use fenced::{FencedGuard, FencedLock};
pub use latch::CountDownLatch;
pub use mutex::Lock;
pub(crate) use mutex::Mutex;
pub use rights::Rights;
pub use rw::{ReadGuard, ReadLock, RwLock, WriteGuard, WriteLock};
pub use semaphore::{Semaphore, SemaphoreGuard};
pub use usage::Use;
