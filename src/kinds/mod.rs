//! The kinds of locks, a folder each: what users see, what is said of it, and its scripts.

mod counter;
mod fenced;
mod latch;
mod mutex;
mod once;
mod rw;
pub(crate) mod scripts;
#[cfg(all(test, feature = "embedded"))]
mod tests;

pub use fenced::{FencedGuard, FencedLock};
pub use latch::CountDownLatch;
pub use mutex::Lock;
pub(crate) use mutex::Mutex;
pub use rw::{ReadGuard, ReadLock, RwLock, WriteGuard, WriteLock};
