//! Clients of the embedded server. Here and not in its room, which knows nothing of locks.

use super::{Client, ClientBuilder};
use crate::{embedded::Server, error::ConfigError, process::Process};

impl Server {
    /// A client of this server: the one-liner for unit tests.
    ///
    /// A server [on the caller's runtime](Server::start_here) gets a client whose clock and
    /// watchdog are there too, shared by all such clients of the runtime. So leases end and are
    /// renewed in paused time.
    ///
    /// # Errors
    /// [`ConfigError`] if the watchdog's thread cannot be started.
    ///
    /// # Examples
    /// In real time:
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let client = palisade::embedded::Server::start()?.client()?;
    /// let guard = client.lock("orders:42").acquire().await?;
    /// assert!(client.lock("orders:42").try_acquire().await?.is_none());
    /// guard.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    /// In paused time, where a lease of a minute ends at once:
    /// ```
    /// use std::time::Duration;
    /// use palisade::{Lease, LostCause, embedded::Server};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // In a test: #[tokio::test(start_paused = true)]
    /// let client = Server::start_here().client()?;
    /// let lock = client.lock("report").with_lease(Lease::Fixed(Duration::from_secs(60)));
    /// let guard = lock.acquire().await?;
    /// tokio::time::sleep(Duration::from_secs(59)).await;
    /// assert!(lock.try_acquire().await?.is_none());
    /// assert_eq!(guard.lost().await, LostCause::Expired);
    /// tokio::time::sleep(Duration::from_secs(1)).await;
    /// assert!(lock.try_acquire().await?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn client(&self) -> Result<Client, ConfigError> {
        self.client_builder().build()
    }

    /// The same for a client with settings of its own.
    pub fn client_builder(&self) -> ClientBuilder {
        let server = self.clone();
        let builder = Client::builder().connector("embedded", move || {
            let server = server.clone();
            async move { server.connect().await }
        });
        if self.is_here() { builder.process(Process::here()) } else { builder }
    }
}
