//! Whether anything was learned of servers since several of them were last compared.

use std::sync::atomic::{AtomicU64, Ordering};

/// How often something was learned of any server: which run it is, or what its data says.
static LEARNED: AtomicU64 = AtomicU64::new(0);

/// How much has been learned by now. The next look at servers sees all of it.
pub(crate) fn learned() -> u64 {
    LEARNED.load(Ordering::Acquire)
}

/// Something was learned, and is to be seen by now.
pub(crate) fn note_learned() {
    LEARNED.fetch_add(1, Ordering::Release);
}
