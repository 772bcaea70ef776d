//! What both kinds of semaphores have in common: permits that are counted on one node.

mod permit_methods;
pub(crate) mod script;

use std::{future::Future, pin::pin, sync::Arc, time::Duration};

use futures::future::{Either, select};

pub(super) use permit_methods::permit_methods;
use script::Store;

use super::{counter::Counter, once::Change};
use crate::{
    acquire::{WaitLimit, release_after_work},
    error::{AcquireError, ChangeError, ConfigError, WithError},
    guard::LockGuard,
    logging::LOCK,
    process::NodeServices,
    telling,
    wire::Outcome,
};

/// The permits of a semaphore, which users set and change.
#[derive(Debug, Clone)]
pub(crate) struct Permits {
    pub(crate) counter: Counter,
    pub(crate) store: Store,
    /// The sort, if Redisson's key of the holders is that of the same name in braces, too.
    pub(crate) shares_keys: Option<&'static str>,
}

impl Permits {
    /// `holders` is the key of the holders, of the semaphore's name.
    pub(crate) fn new(
        services: Arc<NodeServices>,
        name: &str,
        holders: fn(&str) -> Arc<str>,
    ) -> Self {
        let counter = Counter::new(services, name);
        let store = Store::new(&counter.key, holders(&counter.key));
        Self { counter, store, shares_keys: None }
    }

    /// How many are left.
    pub(crate) async fn resize(&self, change: Change) -> Result<i64, ChangeError> {
        self.check_apart()?;
        Ok(self.counter.change(change).await?.value)
    }

    fn check_apart(&self) -> Result<(), ConfigError> {
        match self.shares_keys {
            Some(sort) => self.counter.services.check_apart(sort, &self.counter.key),
            None => Ok(()),
        }
    }

    /// Whether it was made.
    pub(crate) async fn change(&self, change: Change) -> Result<bool, ChangeError> {
        self.check_apart()?;
        Ok(self.counter.change(change).await?.code == Outcome::DONE)
    }
}

/// A guard of permits.
pub(crate) trait PermitGuard {
    /// `None` of none.
    fn held(&self) -> Option<&LockGuard>;

    fn into_held(self) -> Option<LockGuard>;
}

/// Runs `work` with permits, and gives them back.
pub(crate) async fn work_with<G: PermitGuard, R>(
    guard: G,
    work: impl AsyncFnOnce(&G) -> R,
) -> Result<R, WithError> {
    let value = match guard.held() {
        Some(held) => held.run(work(&guard)).await?,
        None => work(&guard).await,
    };
    if let Some(held) = guard.into_held() {
        release_after_work(held).await;
    }
    Ok(value)
}

impl Permits {
    /// Waits for permits by `acquire`. Whether there is such a semaphore at all is looked at meanwhile: one that
    /// was never set is waited for in vain.
    pub(crate) async fn acquired<G>(
        &self,
        patience: WaitLimit,
        acquire: impl Future<Output = Result<Option<G>, AcquireError>>,
    ) -> Result<Option<G>, AcquireError> {
        let look_after = match patience {
            WaitLimit::Once => {
                let came = acquire.await?;
                // It was refused already: an acquire that was granted pays nothing.
                let is_unset = came.is_none() && self.is_unset_after(Duration::ZERO).await;
                return if is_unset { Err(self.not_set()) } else { Ok(came) };
            }
            WaitLimit::For(limit) => LOOK_AFTER.min(limit / 4),
            WaitLimit::Forever => LOOK_AFTER,
        };
        let (acquire, looking) = (pin!(acquire), pin!(self.is_unset_after(look_after)));
        let (is_unset, acquire) = match select(acquire, looking).await {
            Either::Left((came, _)) => return came,
            Either::Right(looked) => looked,
        };
        if is_unset && matches!(patience, WaitLimit::Forever) {
            self.warn_that_it_waits();
        }
        let came = acquire.await?;
        // They may have been set since, and all be held.
        let is_unset = is_unset && came.is_none() && self.is_unset_after(Duration::ZERO).await;
        if is_unset { Err(self.not_set()) } else { Ok(came) }
    }

    /// Looks a while later. False too if it cannot be asked.
    async fn is_unset_after(&self, time: Duration) -> bool {
        if !time.is_zero() {
            let clock = &self.counter.services.process.clock;
            clock.sleep_until(clock.now() + time).await;
        }
        matches!(self.counter.read().await, Ok(None))
    }

    fn not_set(&self) -> AcquireError {
        AcquireError::NotSet { lock: self.counter.shown_name() }
    }

    fn warn_that_it_waits(&self) {
        let lock = self.counter.shown_name();
        telling::event(move || {
            tracing::warn!(
                target: LOCK, %lock,
                "permits of a semaphore are waited for that was never set: set_permits says how many there are"
            );
        });
    }
}

/// How long permits are waited for before it is looked whether there are any.
const LOOK_AFTER: Duration = Duration::from_secs(1);
