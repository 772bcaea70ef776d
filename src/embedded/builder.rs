//! How a server is born, where that is to be the same each time.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use super::clock::{Clock, Source};
use super::engine::Engine;
use super::server::Server;
use super::state::Names;

/// Settings of a server whose every reply is to repeat: for simulations.
///
/// # Examples
/// ```
/// # use std::time::Duration;
/// # use palisade::embedded::Server;
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let born = || Server::builder().seed(7).wall_clock(Duration::from_secs(1_700_000_000));
/// assert_eq!(born().start_here().run_id(), born().start_here().run_id());
/// # }
/// ```
#[derive(Debug, Default)]
#[must_use]
pub struct ServerBuilder {
    seed: Option<u64>,
    wall_clock: Option<Duration>,
    time: Option<Source>,
}

// Here and not beside the others, so that the server need not know how it is born.
impl Server {
    /// For a server on the caller's runtime that is the same each time.
    pub fn builder() -> ServerBuilder {
        ServerBuilder::default()
    }
}

impl ServerBuilder {
    /// Whence the run ids come. Defaults to chance.
    ///
    /// `INFO` of a server with a seed tells 1 for `process_id`: the true one differs from run to run.
    ///
    /// Servers with a seed also take their script interpreters over from those of the same thread
    /// that have ended, with what is compiled there: a simulation starts thousands of them. Their
    /// scripts must leave nothing behind but in the data.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// What the server's wall clock shows at the start, since the beginning of 1970. Defaults to
    /// the machine's time.
    pub fn wall_clock(mut self, since_1970: Duration) -> Self {
        self.wall_clock = Some(since_1970);
        self
    }

    /// What the wall clock follows: a time that never goes back, from whatever beginning. Defaults
    /// to tokio's.
    pub fn time(mut self, elapsed: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        self.time = Some(Source::Given(Arc::new(elapsed)));
        self
    }

    /// As [`Server::start_here`].
    ///
    /// # Panics
    /// If called outside of a tokio runtime.
    #[must_use]
    pub fn start_here(self) -> Server {
        let runtime = Handle::current();
        let clock = Clock::new(runtime.clone(), self.time, self.wall_clock);
        let names = self.seed.map_or_else(Names::by_chance, Names::seeded);
        Server::of(Engine::new(clock, names, self.seed.is_some()), runtime)
    }
}
