//! The reentrant lock on one node.

pub(crate) mod script;

use std::{sync::Arc, time::Duration};

use script::LockContents;
pub(crate) use script::Mutex;

use crate::{
    acquire::{Handle, Target, lock_methods},
    error::{InspectError, NodeError},
    guard::LockGuard,
    kind::Holder,
    lease::Lease,
    process::NodeServices,
    socket::Answer,
    voting::Voter,
    wire::{Call, Outcome},
};

/// A reentrant lock held on one Redis master.
///
/// Made by [`Client::lock`](crate::Client::lock); cheap to clone and to share. It is held until
/// its last guard is released or dropped, or until its lease ends; others are woken by pub/sub.
/// Keys, channel and replies are those of Redisson's `RLock`: a Java service can share it.
///
/// # Guarantees
/// - At most one owner holds it while the server keeps its key. *Not* across a failover or restart
///   that loses the key: use [`RedLock`](crate::RedLock) or [`MultiLock`](crate::MultiLock).
/// - With a [watchdog lease](Lease::Watchdog) it is renewed until the guard is gone. If renewals do
///   not get through, [`LockGuard::lost`](crate::LockGuard::lost) fires before others are granted.
/// - A holder that was stopped does not know that its lease is over until it looks; what it writes
///   then only a check at the store can refuse.
/// - Those who wait in one process are granted it in the order in which they asked. Between
///   processes it is not fair: whoever's request comes first after a release gets it, so a process
///   far from the server rarely does while others are near and busy. Where many wait, those that were woken in
///   vain are told one by one when to ask, so that a release does not cost a request of each.
///
/// # Examples
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::Client::connect("redis://127.0.0.1:6379").await?;
/// let guard = client.lock("orders:42").acquire().await?;
/// // … the section …
/// guard.release().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Lock {
    pub(crate) handle: Handle,
    mutex: Arc<Mutex>,
}

lock_methods!([] Lock, LockGuard);

impl Lock {
    pub(crate) fn new(services: Arc<NodeServices>, name: &str) -> Self {
        let mutex = Arc::new(Mutex::new(&services.key_of(name)));
        Self::of(services, mutex)
    }

    /// The locks of one name at many services share what is said of it.
    pub(crate) fn of(services: Arc<NodeServices>, mutex: Arc<Mutex>) -> Self {
        let member = Voter::new(services, mutex.clone());
        Self { handle: Handle::new(Target::one(member)), mutex }
    }

    /// The plain lock of the same name, to look at what stands there.
    pub(crate) fn beside(other: &Voter) -> Self {
        Self::of(other.services.clone(), Arc::new(Mutex::new(other.kind.name())))
    }

    /// The lock's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.voter().name()
    }

    /// Whether anybody holds the lock.
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn is_locked(&self) -> Result<bool, InspectError> {
        Ok(self.holder().await?.is_some())
    }

    /// How much longer the lock is held unless it is renewed. `None` if it is free or has no ttl:
    /// [`holder`](Self::holder) tells these apart.
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn remaining_ttl(&self) -> Result<Option<Duration>, InspectError> {
        Ok(self.holder().await?.and_then(|holder| holder.ttl))
    }

    /// Who holds the lock; of many readers one.
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn holder(&self) -> Result<Option<Holder>, InspectError> {
        Ok(self.holders().await?.into_iter().next())
    }

    /// Who holds the lock: nobody, one, or many [readers](crate::inspect::Access).
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn holders(&self) -> Result<Vec<Holder>, InspectError> {
        Ok(self.standing().await?.into_iter().flat_map(LockContents::into_holders).collect())
    }

    /// Deletes the lock, whoever holds it, and wakes those who wait. False if nobody held it. A key
    /// that is no lock is [not touched](NodeError::ForeignKey), nor is a lock of
    /// [another kind](NodeError::OtherKind).
    ///
    /// Its holder learns of it at once if somebody waits in the same process, else with its next
    /// renewal, and with a fixed lease only at the end. Until then two may believe that they hold
    /// the lock.
    ///
    /// # Errors
    /// [`InspectError`]; whether the lock was deleted is unknown if the cause
    /// [is](NodeError::is_unknown).
    ///
    /// # Cancel safety
    /// Dropping the future leaves it open whether the lock was deleted.
    pub async fn force_release(&self) -> Result<bool, InspectError> {
        match self.ask(&self.mutex.force()).await?.reply.code {
            Outcome::DONE => Ok(true),
            Outcome::FOREIGN => Err(self.failed(NodeError::ForeignKey)),
            Outcome::OTHER_KIND => Err(self.failed(NodeError::OtherKind)),
            _ => Ok(false),
        }
    }

    pub(crate) fn voter(&self) -> &Voter {
        self.handle.target.members.first()
    }

    /// Whether the lock was given a lease of its own.
    pub(crate) fn has_own_lease(&self) -> bool {
        self.handle.lease != Lease::default()
    }

    /// What stands under the name, of whatever kind.
    pub(super) async fn standing(&self) -> Result<Option<LockContents>, InspectError> {
        Ok(self.ask(&self.mutex.inspect()).await?.reply)
    }

    pub(super) async fn ask<C: Call>(&self, call: &C) -> Result<Answer<C::Reply>, InspectError> {
        self.voter().check_name()?;
        let services = &self.voter().services;
        services.check_here()?;
        let deadline = services.process.clock.now() + services.settings.node_timeout;
        // In doubt not said again: what was forced open once may be another's by now.
        let answer = services.node.call(self.voter().kind.name(), call, deadline).await;
        answer.map(|(_, answer)| answer).map_err(|error| self.failed(error))
    }

    pub(super) fn failed(&self, source: NodeError) -> InspectError {
        let (lock, node) = (self.voter().shown_name(), self.voter().services.node_id().clone());
        InspectError::Node { lock, node, source }
    }
}
