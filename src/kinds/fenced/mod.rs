//! The reentrant lock with fencing tokens on one node.

mod guard;
mod looking;
#[cfg(planted_bugs)]
mod planted;
pub(crate) mod script;
#[cfg(all(test, feature = "embedded"))]
mod tests;

use std::sync::Arc;

pub use guard::FencedGuard;
pub use looking::TokenLook;
use script::Fenced;

use crate::{
    acquire::{Handle, Target, into_box_lock, lock_methods},
    error::InspectError,
    kind::Holder,
    kinds::{
        looking::{holders, single_lock_methods},
        mutex::Lock,
    },
    periods::period_methods,
    process::NodeServices,
    voting::Voter,
};

/// A reentrant lock held on one Redis master, with a [fencing token](crate::FencingToken) for each
/// holder.
///
/// Made by [`Client::fenced_lock`](crate::Client::fenced_lock). It is the [`Lock`] of the same name:
/// both exclude each other, and wait in one line. Keys and replies are those of Redisson's
/// `RFencedLock`, its counter included.
///
/// # Guarantees
/// - Those of [`Lock`].
/// - Tokens increase strictly over successive holders, those of Redisson included, while the server
///   keeps its data. One that lost its counter counts on from its time of day: that keeps the order
///   unless it was away for less than twice `clock_skew`, 10 s by default.
///   [`Quarantine::Always`](crate::Quarantine) sees to that.
/// - A counter that is more than a day ahead of its server's time is an
///   [error](crate::error::NodeError::ForeignCounter). Of several members it is the failure of that one: it is
///   not told to the others. Servers' clocks must be right by a day.
/// - The counter has no ttl, and the next grant removes one that it was given: Redisson would begin at 1 again
///   when it ran out. So one small key stays for every name ever locked. Use names that recur, or delete
///   `redisson_lock_token:{name}` when nothing can still be writing with an old token.
/// - An owner that holds the plain [`Lock`] has no token: to [acquire the fenced one
///   as](Self::acquire_as) the same owner is an [error](crate::error::ConfigError::HeldWithoutToken). The
///   other way round is a re-entry.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// let lock = client.fenced_lock("orders:42");
/// let first = lock.acquire().await?;
/// let token = first.fencing_token();
/// // UPDATE … SET …, fence = $token WHERE id = 42 AND fence <= $token
/// first.release().await?;
/// assert!(lock.acquire().await?.fencing_token() > token);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Clone)]
pub struct FencedLock {
    pub(crate) handle: Handle<FencedGuard>,
}

lock_methods!([] FencedLock, FencedGuard);
period_methods!([] FencedLock, FencedGuard);
into_box_lock!([] FencedLock);
single_lock_methods!(FencedLock, holders, holder);

impl FencedLock {
    pub(crate) fn new(services: Arc<NodeServices>, name: &str) -> Self {
        let key = services.key_of(name);
        let member = Voter::new(services, Arc::new(Fenced::alone(&key)));
        Self { handle: Handle::new(Target::one(member)) }
    }

    /// [`Lock::force_release`]. The counter stays: the next token is greater all the same.
    ///
    /// # Errors
    /// As [`Lock::force_release`].
    ///
    /// # Cancel safety
    /// As [`Lock::force_release`].
    pub async fn force_release(&self) -> Result<bool, InspectError> {
        Lock::beside(self.voter()).force_release().await
    }

    async fn holders(&self) -> Result<Vec<Holder>, InspectError> {
        holders(self.voter()).await
    }

    /// How the lock takes part in a composite: with a counter for that.
    pub(crate) fn as_member(&self) -> Voter {
        let alone = self.voter();
        let kind = Arc::new(Fenced::member(alone.kind.name()));
        Voter { kind, ..alone.in_composite() }
    }
}
