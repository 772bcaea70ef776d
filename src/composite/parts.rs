//! What composites are made of, and the methods that they share.

use std::sync::Arc;

use crate::{
    acquire::{Rule, Target},
    error::ConfigError,
    kinds::{FencedLock, Lock},
    voting::Member,
};

/// What a composite is made of: locks that can also be used by themselves.
pub(super) trait Part {
    /// Whether it was given a lease of its own.
    fn has_own_lease(&self) -> bool;

    /// How it takes part in a composite.
    fn member(&self) -> Member;

    /// The same lock, to look at.
    fn plain(&self) -> &Lock;
}

impl Part for Lock {
    fn has_own_lease(&self) -> bool {
        self.has_own_lease()
    }

    fn member(&self) -> Member {
        self.member().in_composite()
    }

    fn plain(&self) -> &Lock {
        self
    }
}

impl Part for FencedLock {
    fn has_own_lease(&self) -> bool {
        self.has_own_lease()
    }

    fn member(&self) -> Member {
        self.as_member()
    }

    fn plain(&self) -> &Lock {
        self.plain()
    }
}

/// A composite of `parts`, and the same locks for those who only look.
pub(super) fn composite<P: Part>(
    rule: Rule,
    parts: impl IntoIterator<Item = P>,
) -> Result<(Target, Arc<[Lock]>), ConfigError> {
    let parts: Vec<P> = parts.into_iter().collect();
    if let Some(own) = parts.iter().find(|part| part.has_own_lease()) {
        return Err(ConfigError::MemberLease { member: own.member().identity() });
    }
    let target = Target::composite(rule, parts.iter().map(Part::member))?;
    Ok((target, parts.iter().map(|part| part.plain().clone()).collect()))
}

/// The methods that composites share besides those of all locks.
macro_rules! composite_methods {
    ($Lock:ident) => {
        impl $Lock {
            /// The name of the first member.
            #[must_use]
            pub fn name(&self) -> &str {
                self.handle.target.members.first().kind.name()
            }

            /// What each server says of the lock.
            pub async fn inspect(&self) -> $crate::Inspection {
                $crate::Inspection::of(&self.locks).await
            }
        }
    };
}
pub(super) use composite_methods;
