//! Claims, as far as those need to know who list them.

use std::fmt;

use crate::{
    clock::Instant,
    error::{LostCause, NodeId},
};

/// A claim as its client sees it.
pub(crate) trait Listed: fmt::Debug + Send + Sync {
    /// Asks at once whether the lock is still ours.
    fn renew_now(&self);

    /// Asks the members on `node` at `at`; looks at once whether enough of the others still confirm.
    fn renew_on(&self, node: &NodeId, at: Instant);

    /// Whether nobody else can hold the lock meanwhile.
    fn is_exclusive(&self) -> bool;

    /// Whether a release by somebody else may mean that this one is over.
    fn is_shaken_by_releases(&self) -> bool;

    /// Ends it for whoever has it, and leaves the releases to the releaser.
    fn shut_down(&self, cause: LostCause);
}
