//! The reentrant lock on one node.

pub(crate) mod script;

use std::{sync::Arc, time::Duration};

pub(crate) use script::Mutex;

use super::{
    Holder, Member, Site,
    handle::{Handle, lock_methods},
    single::{Single, check_name},
};
use crate::{
    error::{InspectError, NodeError},
    lease::Lease,
    node::Answer,
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
///   processes it is not fair: whose request comes first after a release has it, so that one far
///   from the server is granted it rarely while others are near and busy.
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
#[derive(Debug, Clone)]
pub struct Lock {
    pub(crate) handle: Handle<Single>,
    mutex: Arc<Mutex>,
}

lock_methods!(Lock, LockGuard);

impl Lock {
    pub(crate) fn new(site: Arc<Site>, name: &str) -> Self {
        Self::of(site, Arc::new(Mutex::new(name)))
    }

    /// The locks of one name at many sites share what is said of it.
    pub(crate) fn of(site: Arc<Site>, mutex: Arc<Mutex>) -> Self {
        let member = Member::new(site, mutex.clone());
        Self { handle: Handle::new(Single::new(member)), mutex }
    }

    /// The lock's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.handle.target.member().kind.name()
    }

    /// Whether anybody holds the lock.
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    pub async fn is_locked(&self) -> Result<bool, InspectError> {
        Ok(self.holder().await?.is_some())
    }

    /// How much longer the lock is held unless it is renewed. `None` if it is free or has no ttl:
    /// [`holder`](Self::holder) tells these apart.
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    pub async fn remaining_ttl(&self) -> Result<Option<Duration>, InspectError> {
        Ok(self.holder().await?.and_then(|holder| holder.ttl))
    }

    /// Who holds the lock.
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    pub async fn holder(&self) -> Result<Option<Holder>, InspectError> {
        Ok(self.ask(&self.mutex.inspect()).await?.reply)
    }

    /// Deletes the lock, whoever holds it, and wakes those who wait. False if nobody held it.
    ///
    /// Two may then believe that they hold it, until the first learns of it: at once if somebody
    /// waits in its process, else with its next renewal, and with a fixed lease not before its end.
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
            _ => Ok(false),
        }
    }

    pub(crate) fn member(&self) -> &Member {
        self.handle.target.member()
    }

    /// Whether the lock was given a lease of its own.
    pub(crate) fn has_own_lease(&self) -> bool {
        self.handle.lease != Lease::default()
    }

    async fn ask<C: Call>(&self, call: &C) -> Result<Answer<C::Reply>, InspectError> {
        check_name(self.member())?;
        let site = &self.member().site;
        let deadline = site.process.clock.now() + site.settings.node_timeout;
        let answer = async {
            let connection = site.node.connection(self.member().kind.name(), deadline).await?;
            connection.call(call, deadline).await
        };
        answer.await.map_err(|error| self.failed(error))
    }

    fn failed(&self, source: NodeError) -> InspectError {
        InspectError::Node { node: self.member().site.node_id().clone(), source }
    }
}
