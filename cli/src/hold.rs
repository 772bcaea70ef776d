//! What `palisade run` holds.

use palisade::LockGuard;

/// A lock, or permits, that are held.
pub(crate) struct Hold {
    pub(crate) guard: LockGuard,
    /// What the servers know it by: of permits, each of them.
    pub(crate) ids: Vec<String>,
}

impl From<LockGuard> for Hold {
    fn from(guard: LockGuard) -> Self {
        let ids = vec![guard.holder_id().to_owned()];
        Self { guard, ids }
    }
}
