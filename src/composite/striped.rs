//! A fixed number of locks for any number of keys.

use std::{collections::BTreeSet, fmt, hash::Hasher, sync::Arc};

use fnv::FnvHasher;

use super::MultiLock;
use crate::{
    error::{AcquireError, ConfigError},
    guard::LockGuard,
    kinds::Lock,
    process::NodeServices,
};

/// A fixed number of locks, the stripes, for any number of keys. What excludes each other by millions of
/// keys leaves a few names on the server, and several keys are locked in a call or two.
///
/// A key belongs to one stripe. Those that share one exclude each other too, so the holder of a key must not
/// wait for another one: take all at once, by [`acquire_many`](Self::acquire_many).
///
/// # Guarantees
/// - The stripe of a key is the 64-bit FNV-1a hash of its bytes, modulo the number of stripes: the same in
///   every version of this crate.
/// - Stripe `i` of `n` is the lock `<name>:stripe:<n>:<i>`. **Stripes of another number do not exclude
///   these**: change it only while no process uses the old one.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// let accounts = client.striped_lock("accounts", 64)?;
/// let guard = accounts.stripe_for("42").acquire().await?;
/// guard.release().await?;
/// let guard = accounts.acquire_many(["42", "4711"]).await?;
/// // … the transfer …
/// guard.release().await?;
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Clone)]
pub struct StripedLock {
    services: Arc<NodeServices>,
    name: Arc<str>,
    stripes: u32,
}

impl StripedLock {
    pub(crate) fn new(
        services: Arc<NodeServices>,
        name: &str,
        stripes: u32,
    ) -> Result<Self, ConfigError> {
        if !(1..=MOST).contains(&stripes) {
            let reason = format!("{stripes} is not within 1 … {MOST}").into();
            return Err(ConfigError::InvalidSetting { setting: "stripes", reason });
        }
        services.check_name_of(&services.key_of(name).into())?;
        Ok(Self { services, name: name.into(), stripes })
    }

    /// What stands before the names of all stripes.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The lock of a key. Sends no call.
    #[must_use]
    pub fn stripe_for(&self, key: impl AsRef<[u8]>) -> Lock {
        self.stripe(self.index(key.as_ref()))
    }

    /// The locks of several keys as one, each stripe once. Sends no call.
    ///
    /// # Errors
    /// [`ConfigError::NoMembers`] without keys.
    pub fn stripes_for<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<MultiLock, ConfigError> {
        let wanted: BTreeSet<_> = keys.into_iter().map(|key| self.index(key.as_ref())).collect();
        MultiLock::new(wanted.into_iter().map(|index| self.stripe(index)))
    }

    /// Waits until the locks of all keys are held. All processes take them in one order, so that two with
    /// overlapping keys do not block each other for ever.
    ///
    /// # Errors
    /// As [`MultiLock::acquire`]; [`ConfigError::NoMembers`] without keys.
    ///
    /// # Cancel safety
    /// As [`MultiLock::acquire`].
    pub async fn acquire_many<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<LockGuard, AcquireError> {
        self.stripes_for(keys)?.acquire().await
    }

    fn index(&self, key: &[u8]) -> u32 {
        let mut hasher = FnvHasher::default();
        hasher.write(key);
        u32::try_from(hasher.finish() % u64::from(self.stripes)).unwrap_or_default()
    }

    fn stripe(&self, index: u32) -> Lock {
        let (name, stripes) = (&self.name, self.stripes);
        Lock::new(self.services.clone(), &format!("{name}:stripe:{stripes}:{index}"))
    }
}

impl fmt::Debug for StripedLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StripedLock")
            .field("name", &self.stripe(0).voter().shown_name())
            .field("stripes", &self.stripes)
            .finish_non_exhaustive()
    }
}

/// More stripes than that are no few names any more.
const MOST: u32 = 1 << 16;
