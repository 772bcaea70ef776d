//! Which locks there are.

use futures::future::try_join_all;

use super::{Client, Masters};
use crate::{
    error::ConfigError,
    listing::{ListOptions, LockList, ProcessList, list, list_processes},
};

impl Client {
    /// The locks that are held there, found by going through all keys. Of a cluster, those of all its masters.
    ///
    /// Only what has holders is shown: hashes of other programs are not. Semaphores and latches are numbers as others
    /// are, and shown only where the pattern is their name. A server that does not answer is told of in the list, and so
    /// is what its user may not read.
    ///
    /// # Errors
    /// [`ConfigError`] for a pattern that is empty or too long, and where nothing can be asked from.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "embedded")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use palisade::inspect::ListOptions;
    ///
    /// let client = palisade::embedded::Server::start()?.client()?;
    /// let _guard = client.lock("orders:42").acquire().await?;
    /// for lock in client.list(&ListOptions::new()).await?.locks {
    ///     println!("{}: {} holders", lock.name, lock.holders.len());
    /// }
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "embedded"))]
    /// # fn main() {}
    /// ```
    pub async fn list(&self, options: &ListOptions) -> Result<LockList, ConfigError> {
        list(&self.services, options).await
    }

    /// The processes that tell what they are, as [`Presence`](crate::settings::Presence) has it, found by going through
    /// all keys. Of `options` the pace matters alone, and not the pattern.
    ///
    /// # Errors
    /// [`ConfigError`] where nothing can be asked from.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn list_processes(&self, options: &ListOptions) -> Result<ProcessList, ConfigError> {
        list_processes(&self.services, options).await
    }
}

impl Masters {
    /// The locks that are held on any of them, put together by name: each tells on how many.
    ///
    /// # Errors
    /// As [`Client::list`].
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn list(&self, options: &ListOptions) -> Result<LockList, ConfigError> {
        let all = self.clients().iter().map(|client| client.list(options));
        Ok(LockList::merged(try_join_all(all).await?))
    }

    /// The processes that tell on any of them what they are.
    ///
    /// # Errors
    /// As [`Client::list_processes`].
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn list_processes(&self, options: &ListOptions) -> Result<ProcessList, ConfigError> {
        let all = self.clients().iter().map(|client| client.list_processes(options));
        Ok(ProcessList::merged(try_join_all(all).await?))
    }
}
