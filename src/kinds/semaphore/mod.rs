//! The semaphore on one node.

mod guard;
pub(crate) mod script;

use std::{pin::pin, sync::Arc};

pub use guard::SemaphoreGuard;
use script::{HeldPermits, PermitHolders, drain, give_back, resize};

use crate::{
    acquire::{Handle, Target, WaitLimit},
    error::{AcquireError, ChangeError, InspectError, NodeError},
    kind::Holder,
    kinds::permits::{Permits, permit_methods, script::Store},
    process::NodeServices,
    voting::Voter,
    wait::{OnOutage, WaitStrategy},
    wire::{Outcome, key},
};

/// Permits on one Redis master, of which each user takes some and gives them back.
///
/// Made by [`Client::semaphore`](crate::Client::semaphore); cheap to clone and to share. They are there once their
/// number is set; until then there are none. Key, channel and messages are those of Redisson's `RSemaphore`: a Java
/// service can share it.
///
/// # Guarantees
/// - No more permits are held than there were set and added, while the server keeps its keys.
/// - A permit is taken once, though its request is sent again where an answer was lost, and given back once. How
///   many each holder has stands in a hash beside the semaphore (`{name}:palisade_holders`). Redisson keeps no such
///   thing.
/// - Permits have no lease. Those of a process that died are missing until they are [reclaimed](Self::reclaim);
///   [`holders`](Self::holders) shows which process had them. Where that is not wanted, take an
///   [`ExpirableSemaphore`](crate::ExpirableSemaphore).
/// - The waiters of one process are granted in the order in which they asked: one that asks for few does not pass
///   one that asks for many. Between processes it is not fair. But a waiter that has waited for several for half a
///   second keeps others out for two, then eight later again. It is granted if all give back what they have within
///   those. Users of Redisson are not kept out.
/// - It is not entered again: each acquire takes permits, by [owners](crate::Owner) too.
///
/// Where rights are restricted, a user needs `+hget +hset +hdel +hexists +hgetall +pttl +pexpire +persist
/// +get +set +incrby +decrby +del +exists +time +publish`, for the keys of the name, `{name}:*` and
/// `palisade_once:*`, and the channels `redisson_sc:*`.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// let semaphore = client.semaphore("uploads");
/// semaphore.try_set_permits(2).await?;
/// let (one, other) = (semaphore.acquire().await?, semaphore.acquire().await?);
/// assert!(semaphore.try_acquire().await?.is_none());
/// one.release().await?;
/// other.release().await?;
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
/// palisade::RedLock::new(vec![client.semaphore("uploads")])?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Semaphore {
    permits: Permits,
    on_outage: Option<OnOutage>,
    strategy: WaitStrategy,
}

permit_methods!(Semaphore, SemaphoreGuard, " 0 are granted without asking anybody.");

impl Semaphore {
    pub(crate) fn new(services: Arc<NodeServices>, name: &str) -> Self {
        let permits = Permits::new(services, name, key::permit_holders);
        Self { permits, on_outage: None, strategy: WaitStrategy::default() }
    }

    /// How many permits are left; 0 if they are not set. Fewer than none after more were
    /// [taken away](Self::add) than were left.
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn permits(&self) -> Result<i64, InspectError> {
        Ok(self.permits.counter.read().await?.unwrap_or(0))
    }

    /// Gives back permits that no guard here stands for: [forgotten](SemaphoreGuard::forget) ones, those of
    /// Redisson, or [drained](Self::drain) ones. The caller makes sure that they are held: a semaphore that
    /// is not set has so many permits then.
    ///
    /// # Errors
    /// [`ChangeError`] says whether they were given back.
    ///
    /// # Cancel safety
    /// Dropping the future leaves it open whether they were given back: once, or not at all. What was sent
    /// may be executed until the client's `node_timeout` is over.
    pub async fn release(&self, permits: u32) -> Result<(), ChangeError> {
        self.add(permits.into()).await
    }

    /// The same, unless there is no such semaphore: then false, and it is not made.
    ///
    /// # Errors
    /// As [`release`](Self::release).
    ///
    /// # Cancel safety
    /// As [`release`](Self::release).
    pub async fn release_if_exists(&self, permits: u32) -> Result<bool, ChangeError> {
        self.permits.change(self.permits.store.add(permits.into(), true)).await
    }

    /// Takes all that are left. Returns how many.
    ///
    /// # Errors
    /// [`ChangeError`] says whether they were taken.
    ///
    /// # Cancel safety
    /// Dropping the future leaves it open whether they were taken; what was sent may be executed until the
    /// client's `node_timeout` is over.
    pub async fn drain(&self) -> Result<u64, ChangeError> {
        let taken = self.permits.counter.change(drain(&self.permits.store)).await?.value;
        Ok(u64::try_from(taken).unwrap_or(0))
    }

    /// The holders of permits: `count` is how many, and `ttl` that of the semaphore. Those that took
    /// theirs with Redisson are not among these.
    ///
    /// [`Client::is_own`](crate::Client::is_own) tells those of this process.
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn holders(&self) -> Result<Vec<Holder>, InspectError> {
        self.permits.counter.ask(&PermitHolders { store: self.permits.store.clone() }).await
    }

    /// Gives back what a [holder](Self::holders) has, whether or not it is done. False if it has nothing.
    ///
    /// For those of a process that died. Of one that lives it lets others in beside it; what it gives back
    /// later is [not counted](crate::error::ReleaseError::Lost).
    ///
    /// # Errors
    /// [`InspectError`]; whether they were given back is unknown if the cause
    /// [is](NodeError::is_unknown).
    ///
    /// # Cancel safety
    /// Dropping the future leaves it open whether they were given back.
    pub async fn reclaim(&self, holder_id: &str) -> Result<bool, InspectError> {
        let Permits { counter, store, .. } = &self.permits;
        // Other versions keep the holders of `{x}` where those of `x` are: what they left is given back, too.
        let before = key::permit_holders_before(&store.name);
        let before = before.map(|holders| Store { holders, ..store.clone() });
        for store in [Some(store), before.as_ref()].into_iter().flatten() {
            match counter.ask(&give_back(store, &holder_id.into())).await?.code {
                Outcome::DONE => return Ok(true),
                Outcome::FOREIGN => return Err(counter.failed(NodeError::ForeignKey)),
                _ => {}
            }
        }
        Ok(false)
    }

    /// Sets how many there are in all, those that are held included, whether or not they were set before.
    /// Returns how many are left: fewer than none where more are held, and then none is to be had until so many
    /// have come back.
    ///
    /// It is one change on the server, made at most once: many that set the same number at the same time set
    /// that number. What is not known to be held is not counted: permits that users of Redisson took, that a
    /// [forgotten](crate::semaphore::SemaphoreGuard::forget) guard had, or that were [drained](Self::drain).
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
    /// let semaphore = client.semaphore("uploads");
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

    async fn take(
        &self,
        permits: u32,
        patience: WaitLimit,
    ) -> Result<Option<SemaphoreGuard>, AcquireError> {
        let Permits { counter, store, .. } = &self.permits;
        if permits == 0 {
            counter.check()?;
            return Ok(Some(SemaphoreGuard::NONE));
        }
        let share = Arc::new(HeldPermits::of(store, permits));
        let mut handle = Handle::new(Target::one(Voter::new(counter.services.clone(), share)));
        (handle.on_outage, handle.strategy) = (self.on_outage, self.strategy);
        // Once in the caller's future: by value it would be there twice.
        let acquire = pin!(handle.acquire_anew(patience));
        let guard = self.permits.acquired(patience, acquire).await?;
        Ok(guard.map(|guard| SemaphoreGuard::new(guard, permits)))
    }
}
