//! Processes that a simulation runs, several of them on one thread.

use std::sync::Arc;

use crate::{clock::Clock, kinds::scripts, process::Process};

/// **For deterministic simulations only**: what a process is to the library, with nothing in it left
/// to chance.
///
/// It has a clock, randomness and an identity from a seed, and a watchdog on the current runtime. So
/// several of them contend inside one test, and the same seeds give the same run. Its clients are
/// made with [`ClientBuilder::simulated`](crate::ClientBuilder::simulated), mostly over a
/// [`connector`](crate::ClientBuilder::connector) that leads to an [embedded
/// server](crate::embedded::Server).
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
