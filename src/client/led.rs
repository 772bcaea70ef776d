//! The master that a simulation's sentinels name.

use std::{io, sync::Arc};

use futures::FutureExt;

use super::ClientBuilder;
use crate::reach::Stream;

impl ClientBuilder {
    /// **For simulations**: the master that sentinels would name, as [`sentinels`](Self::sentinels) has it,
    /// reached as by a [`connector`](Self::connector).
    ///
    /// Each stream comes with the number of the configuration by which it leads to the master: each
    /// failover raises it. It is not told that the master is elsewhere: its streams are to break.
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use palisade::{Client, embedded::Server};
    ///
    /// let server = Server::start_here();
    /// let master = move || {
    ///     let server = server.clone();
    ///     async move { server.connect().await.map(|stream| (stream, 1)) }
    /// };
    /// let client = Client::builder().simulated_sentinels("orders", master).build()?;
    /// client.lock("report").acquire().await?.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn simulated_sentinels<S, F>(
        mut self,
        label: &str,
        connect: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        S: Stream,
        F: Future<Output = io::Result<(S, u64)>> + Send + 'static,
    {
        let lead = move || {
            let led = connect();
            async move {
                let (stream, config) = led.await?;
                Ok((Box::new(stream) as Box<dyn Stream>, config))
            }
            .boxed()
        };
        self.address.lead = Some((label.to_owned(), Arc::new(lead)));
        self
    }
}
