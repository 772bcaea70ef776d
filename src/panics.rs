//! Panics in code that is not ours but runs within it: subscribers of events, callbacks, wakers.
//!
//! What goes on in the background serves all locks of a process, and must not end for one of them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::FutureExt;

/// The output of `work`, or `None` if it panicked, which the panic hook has told of.
///
/// Whatever `work` changes must be in order wherever it may panic.
pub(crate) fn contained<T>(work: impl FnOnce() -> T) -> Option<T> {
    // The payload may panic too, when it is dropped.
    catch_unwind(AssertUnwindSafe(work)).map_err(std::mem::forget).ok()
}

/// The same for work that waits.
pub(crate) async fn contained_async<F: Future>(work: F) -> Option<F::Output> {
    AssertUnwindSafe(work).catch_unwind().await.map_err(std::mem::forget).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Payload;

    impl Drop for Payload {
        fn drop(&mut self) {
            panic!("a payload panics");
        }
    }

    #[tokio::test]
    async fn panics_stay_where_they_are() {
        assert_eq!(contained(|| 1), Some(1));
        assert_eq!(contained(|| -> u32 { std::panic::panic_any(Payload) }), None);
        assert_eq!(contained_async(async { 1 }).await, Some(1));
        assert_eq!(contained_async(async { std::panic::panic_any(Payload) }).await, None::<()>);
    }
}
