//! The kinds of locks, a folder each: what users see, what is said of it, and its scripts.

mod fenced;
mod mutex;
mod rw;
pub(crate) mod scripts;
#[cfg(all(test, feature = "embedded"))]
mod tests;

pub use fenced::{FencedGuard, FencedLock};
pub use mutex::Lock;
pub(crate) use mutex::Mutex;
pub use rw::{ReadGuard, ReadLock, RwLock, WriteGuard, WriteLock};
