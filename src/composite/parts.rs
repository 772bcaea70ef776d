//! What composites are made of.

use std::{fmt, sync::Arc};

use crate::{
    acquire::{Rule, Target},
    error::ConfigError,
    guard::{AnyGuard, LockGuard},
    kinds::{FairLock, FencedGuard, FencedLock, Lock, ReadGuard, ReadLock, WriteGuard, WriteLock},
    voting::Voter,
};

/// A lock that may be a member of a [`MultiLock`](crate::MultiLock). Sealed.
///
/// # Examples
/// A lock that is not a single one may not:
/// ```compile_fail
/// # fn example(masters: &palisade::Masters) {
/// let both = palisade::MultiLock::new(vec![masters.red_lock("a"), masters.red_lock("b")]);
/// # }
/// ```
#[expect(private_bounds, reason = "sealed: how a lock takes part is ours")]
pub trait MultiMember: Part {
    /// What an acquire of the composite brings.
    type Guard: AnyGuard;
}

/// A lock that may be a member of a [`RedLock`](crate::RedLock): one of which a majority excludes
/// all others. Sealed.
///
/// # Examples
/// Members of several kinds have no majority:
/// ```compile_fail
/// # fn example(client: &palisade::Client) {
/// use palisade::{Member, RedLock};
/// let lock = RedLock::new([Member::from(client.lock("a")), client.fenced_lock("a").into()]);
/// # }
/// ```
/// Nor have those that queue, each server in an order of its own:
/// ```compile_fail
/// # fn example(client: &palisade::Client) {
/// let lock = palisade::RedLock::new([client.fair_lock("a")]);
/// # }
/// ```
#[expect(private_bounds, reason = "sealed: how a lock takes part is ours")]
pub trait RedMember: Part {
    /// What an acquire of the composite brings.
    type Guard: AnyGuard;
}

/// A lock of any kind as a member of a [`MultiLock`](crate::MultiLock) of several kinds.
///
/// # Examples
/// ```
/// use palisade::{Client, Member, MultiLock, error::ConfigError};
///
/// fn both(client: &Client) -> Result<MultiLock<Member>, ConfigError> {
///     let prices = client.rw_lock("prices").read();
///     MultiLock::new(vec![client.lock("orders").into(), prices.into()])
/// }
/// ```
#[derive(Clone)]
pub struct Member {
    voter: Voter,
    plain: Lock,
    has_own_lease: bool,
}

/// How a lock takes part in a composite.
pub(crate) trait Part: Clone + fmt::Debug + Send + Sync + 'static {
    /// Whether it was given a lease of its own.
    fn has_own_lease(&self) -> bool;

    /// The same as one of several.
    fn voter(&self) -> Voter;

    /// The same lock, to look at.
    fn plain(&self) -> Lock;
}

impl MultiMember for Member {
    type Guard = LockGuard;
}

/// A lock as a member of a `MultiLock` of its kind, and of those of several.
macro_rules! member {
    ($Lock:ty, $Guard:ty, $voter:expr) => {
        impl MultiMember for $Lock {
            type Guard = $Guard;
        }

        impl From<$Lock> for Member {
            fn from(lock: $Lock) -> Self {
                let (voter, plain) = (Part::voter(&lock), Part::plain(&lock));
                Self { voter, has_own_lease: lock.has_own_lease(), plain }
            }
        }

        impl Part for $Lock {
            fn has_own_lease(&self) -> bool {
                self.has_own_lease()
            }

            fn voter(&self) -> Voter {
                $voter(self)
            }

            fn plain(&self) -> Lock {
                Lock::beside(self.voter())
            }
        }
    };
}
member!(Lock, LockGuard, |lock: &Self| lock.voter().in_composite());
member!(FencedLock, FencedGuard, Self::as_member);
member!(ReadLock, ReadGuard, |lock: &Self| lock.voter().in_composite());
member!(WriteLock, WriteGuard, |lock: &Self| lock.voter().in_composite());
member!(FairLock, LockGuard, |lock: &Self| lock.voter().in_composite());

/// One of which a majority excludes all others.
macro_rules! red_member {
    ($($Lock:ty => $Guard:ty),+) => {
        $(impl RedMember for $Lock {
            type Guard = $Guard;
        })+
    };
}
red_member!(Lock => LockGuard, FencedLock => FencedGuard, ReadLock => ReadGuard, WriteLock => WriteGuard);

impl Part for Member {
    fn has_own_lease(&self) -> bool {
        self.has_own_lease
    }

    fn voter(&self) -> Voter {
        self.voter.clone()
    }

    fn plain(&self) -> Lock {
        self.plain.clone()
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Member").field(&self.plain).finish()
    }
}

/// A composite of `parts`, and the same locks, only to look at.
pub(super) fn composite<P: Part>(
    rule: Rule,
    parts: impl IntoIterator<Item = P>,
) -> Result<(Target, Arc<[Lock]>), ConfigError> {
    let parts: Vec<P> = parts.into_iter().collect();
    if let Some(own) = parts.iter().find(|part| part.has_own_lease()) {
        return Err(ConfigError::MemberLease { member: own.voter().shown_identity() });
    }
    let target = Target::of_several(rule, parts.iter().map(Part::voter))?;
    Ok((target, parts.iter().map(|part| part.plain()).collect()))
}
