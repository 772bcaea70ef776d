//! The semaphore whose permits have leases, on one node.

mod guard;
pub(crate) mod script;

use std::{pin::pin, sync::Arc, time::Duration};

pub use guard::ExpirableGuard;
use script::{LeasedPermitHolders, LeasedPermits, PermitContents, SORT, release, resize, update};

use crate::{
    acquire::{Handle, Target, WaitLimit},
    error::{AcquireError, ChangeError, ConfigError, InspectError},
    kind::Holder,
    kinds::permits::{Permits, permit_methods},
    lease::Lease,
    process::NodeServices,
    voting::Voter,
    wait::{OnOutage, WaitStrategy},
    wire::{key, permit},
};

/// Permits on one Redis master that end with a lease, as a lock does, if their user dies.
///
/// Made by [`Client::expirable_semaphore`](crate::Client::expirable_semaphore); cheap to clone and to share. They are
/// there once their number is set; until then there are none. Keys, channel and messages are those of Redisson's
/// `RPermitExpirableSemaphore`: a Java service can share it.
///
/// # Guarantees
/// - No more permits are held than there were set and added, by the clocks of their holders. That holds while the
///   server keeps its keys and no clock is further from the server's than
///   [`clock_skew`](crate::ClientBuilder::clock_skew). Of a holder that died, a permit is had by others of this crate
///   as soon as its lease is over. Redisson ends permits by clocks of its own: it has one that much later, and its own
///   are had that much later here.
/// - With a [watchdog lease](Lease::Watchdog) they are renewed until the guard is gone. If renewals do not
///   get through, [`lost`](crate::LockGuard::lost) fires before others are granted.
/// - A permit is taken once, though its request is sent again where an answer was lost, and given back once.
/// - The waiters of one process are granted in the order in which they asked: one that asks for few does not pass one
///   that asks for many. Between processes it is not fair. But a waiter that has waited for several for half a second
///   keeps others out for two, then eight later again. It is granted if all give back what they have within those.
///   Users of Redisson are not kept out.
/// - It is not entered again: each acquire takes permits, by [owners](crate::Owner) too.
///
/// Where rights are restricted, a user needs `+zadd +zrem +zscore +zrange +zrangebyscore +pttl +pexpire +get +set
/// +incrby +decrby +del +exists +time +publish`, for the keys of the name, `{name}:*` and
/// `palisade_once:*`, and the channels `redisson_sc:*`.
///
/// # Examples
/// A worker in one of three slots, whatever runs where:
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// let slots = client.expirable_semaphore("workers");
/// if !slots.try_set_permits(3).await? && slots.total().await? != Some(3) {
///     return Err("somebody else wants another number of slots".into());
/// }
/// let guard = slots.acquire().await?;
/// guard.run(async { /* … the work … */ }).await?;
/// guard.release().await?;
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
///
/// It is no member of a composite: a majority for each user would not bound how many there are.
/// ```compile_fail
/// # fn main() -> Result<(), palisade::error::ConfigError> {
/// let client = palisade::Client::connect_lazy("redis://127.0.0.1:6379")?;
/// palisade::MultiLock::new(vec![client.expirable_semaphore("workers")])?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ExpirableSemaphore {
    permits: Permits,
    lease: Lease,
    on_outage: Option<OnOutage>,
    strategy: WaitStrategy,
}

permit_methods!(ExpirableSemaphore, ExpirableGuard, " From 1 to 1,024.");

impl ExpirableSemaphore {
    pub(crate) fn new(services: Arc<NodeServices>, name: &str) -> Self {
        let permits = Permits::new(services, name, key::permit_leases);
        let permits = Permits { shares_keys: Some(SORT), ..permits };
        Self {
            permits,
            lease: Lease::default(),
            on_outage: None,
            strategy: WaitStrategy::default(),
        }
    }

    /// The same semaphore, with another lease for what is acquired. Defaults to [`Lease::Watchdog`].
    #[must_use]
    pub fn with_lease(mut self, lease: Lease) -> Self {
        self.lease = lease;
        self
    }

    /// How many permits are to be had; 0 if they are not set. Fewer than none after more were
    /// [taken away](Self::add) than were left.
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn permits(&self) -> Result<i64, InspectError> {
        Ok(self.standing().await?.map_or(0, |standing| standing.left))
    }

    /// How many there are, those that are held included. `None` if they are not set.
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn total(&self) -> Result<Option<i64>, InspectError> {
        let all = |PermitContents { left, holders }: PermitContents| {
            left.saturating_add(i64::try_from(holders.len()).unwrap_or(i64::MAX))
        };
        Ok(self.standing().await?.map(all))
    }

    /// The permits that are held, in Java too, each with its id and how long it stands on the server unless
    /// it is renewed. That is longer than it is held, by the
    /// [`clock_skew`](crate::ClientBuilder::clock_skew) of its holder.
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn holders(&self) -> Result<Vec<Holder>, InspectError> {
        Ok(self.standing().await?.map_or_else(Vec::new, |standing| standing.holders))
    }

    /// Gives back one permit by its id, whichever process holds it. False if it is not held.
    ///
    /// Of a guard that lives it lets others in beside it: the guard is lost at its next renewal.
    ///
    /// # Errors
    /// [`ChangeError`] says whether it was given back; [`ConfigError::InvalidPermitId`] for what is no id.
    ///
    /// # Cancel safety
    /// Dropping the future leaves it open whether it was given back: once, or not at all. What was sent may
    /// be executed until the client's `node_timeout` is over.
    pub async fn release_permit(&self, id: &str) -> Result<bool, ChangeError> {
        self.permits.change(release(&self.permits.store, parsed(id)?)).await
    }

    /// Gives one permit another lease, from now on: a longer one, or a shorter. False if it is not held.
    ///
    /// For permits of Redisson, and for those that are [orphaned](ExpirableGuard::orphan): a guard knows
    /// nothing of it.
    ///
    /// # Errors
    /// [`ChangeError`] says whether it has the lease; [`ConfigError::InvalidPermitId`] for what is no id, and
    /// what is said of a [fixed lease](Lease::Fixed) that is too short or too long.
    ///
    /// # Cancel safety
    /// Dropping the future leaves it open whether it has the lease; what was sent may be executed until the
    /// client's `node_timeout` is over.
    pub async fn update_lease(&self, id: &str, lease: Duration) -> Result<bool, ChangeError> {
        let settings = &self.permits.counter.services.settings;
        let term = Lease::Fixed(lease).term(settings.watchdog_lease, settings.max_lease)?;
        let change = update(&self.permits.store, parsed(id)?, term, settings.clock_skew);
        self.permits.change(change).await
    }

    /// Sets how many there are in all, those that are held included, whether or not they were set before.
    /// Returns how many are left: fewer than none where more are held, and then none is to be had until so many
    /// have come back.
    ///
    /// It is one change on the server, made at most once: many that set the same number at the same time set
    /// that number.
    ///
    /// # Errors
    /// [`ChangeError`] says whether they were set.
    ///
    /// # Cancel safety
    /// Dropping the future leaves it open whether they were set; what was sent may be executed until the
    /// client's `node_timeout` is over.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "embedded")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let client = palisade::embedded::Server::start()?.client()?;
    /// let semaphore = client.expirable_semaphore("uploads");
    /// assert_eq!(semaphore.set_permits(3).await?, 3);
    /// let held = semaphore.acquire_many(2).await?;
    /// assert_eq!(semaphore.set_permits(1).await?, -1);
    /// held.release().await?;
    /// assert_eq!(semaphore.permits().await?, 1);
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "embedded"))]
    /// # fn main() {}
    /// ```
    pub async fn set_permits(&self, permits: u32) -> Result<i64, ChangeError> {
        self.permits.resize(resize(&self.permits.store, permits)).await
    }

    async fn standing(&self) -> Result<Option<PermitContents>, InspectError> {
        let Permits { counter, store, .. } = &self.permits;
        let clock_skew = counter.services.settings.clock_skew;
        counter.ask(&LeasedPermitHolders { store: store.clone(), clock_skew }).await
    }

    async fn take(
        &self,
        permits: u32,
        patience: WaitLimit,
    ) -> Result<Option<ExpirableGuard>, AcquireError> {
        let Permits { counter, store, .. } = &self.permits;
        if !(1..=MOST).contains(&permits) {
            return Err(ConfigError::PermitsOutOfRange { permits, max: MOST }.into());
        }
        let services = counter.services.clone();
        let share = Arc::new(LeasedPermits::of(store, permits, services.settings.clock_skew));
        let mut handle = Handle::new(Target::one(Voter::new(services, share.clone())));
        (handle.lease, handle.on_outage) = (self.lease, self.on_outage);
        handle.strategy = self.strategy;
        // Once in the caller's future: by value it would be there twice.
        let acquire = pin!(handle.acquire_anew(patience));
        let guard = self.permits.acquired(patience, acquire).await?;
        Ok(guard.map(|guard| ExpirableGuard::new(guard, share)))
    }
}

fn parsed(id: &str) -> Result<u128, ConfigError> {
    permit::parse(id).ok_or_else(|| ConfigError::InvalidPermitId { id: id.into() })
}

/// The most permits of one acquire: each costs the server some microseconds, at every renewal too.
const MOST: u32 = 1_024;
