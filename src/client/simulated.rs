//! Processes that a simulation runs, several of them on one thread.

use std::{io, sync::Arc};

use futures::FutureExt;

use super::ClientBuilder;
use crate::{clock::Clock, kinds::scripts, node::Stream, process::Process};

/// **For deterministic simulations only**: what a process is to the library, with nothing in it left
/// to chance.
///
/// It has a clock, randomness and an identity from a seed, and a watchdog on the current runtime,
/// so that several of them contend inside one test and the same seeds give the same run. Its
/// clients are made with [`ClientBuilder::simulated`](crate::ClientBuilder::simulated), mostly
/// over a [`connector`](crate::ClientBuilder::connector) that leads to an
/// [embedded server](crate::embedded::Server).
///
/// Holder ids that come from a seed can be guessed, and occur again: never use it for real locks.
///
/// # Examples
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use palisade::{Client, clock::{Clock, TokioClock}, embedded::{Server, SimulatedProcess}};
///
/// let server = Server::builder().seed(1).start_here();
/// let clock: Arc<dyn Clock> = Arc::new(TokioClock::new());
/// let process = SimulatedProcess::new(clock.clone(), clock, 7);
/// let streams = move || {
///     let server = server.clone();
///     async move { server.connect().await }
/// };
/// let client = Client::builder().connector("server", streams).simulated(&process).build()?;
/// let guard = client.lock("report").acquire().await?;
/// assert!(guard.holder_id().starts_with(&process.uuid()));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct SimulatedProcess(pub(super) Arc<Process>);

impl SimulatedProcess {
    /// A process whose leases are measured by `clock`. Its watchdog sleeps by `watchdog`, which
    /// must show the same time but may wake late.
    ///
    /// # Panics
    /// If called outside of a tokio runtime.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, watchdog: Arc<dyn Clock>, seed: u64) -> Self {
        Self(Process::simulated(clock, watchdog, seed))
    }

    /// What the ids of its holders begin with.
    #[must_use]
    pub fn uuid(&self) -> String {
        self.0.uuid().to_string()
    }

    /// The library's scripts, for traces: the digest that EVALSHA takes, and the name.
    #[must_use]
    pub fn scripts() -> Vec<(&'static str, String)> {
        scripts::named().collect()
    }
}

impl ClientBuilder {
    /// **For simulations**: the master that sentinels would name, as [`sentinels`](Self::sentinels) has it,
    /// reached as by a [`connector`](Self::connector).
    ///
    /// Each stream comes with the number of the configuration by which it leads to the master: each
    /// failover raises it. Nobody tells that the master is elsewhere: its streams are to break.
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
