//! How a server is born, where that is to be the same each time.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use super::clock::{EngineClock, Source};
use super::engine::Engine;
use super::server::Server;
use super::state::Names;

/// Settings of a server that gives the same replies in every run: for simulations.
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
    /// Settings for a server on the caller's runtime that is the same in every run.
    pub fn builder() -> ServerBuilder {
        ServerBuilder::default()
    }
}

impl ServerBuilder {
    /// Where the run ids come from. Defaults to chance.
    ///
    /// `INFO` of a server with a seed shows 1 for `process_id`: the true one differs from run to run.
    ///
    /// A server with a seed also reuses the script interpreter of an earlier one of the same thread,
    /// with the scripts that are compiled there. A simulation starts thousands of servers. So scripts
    /// must leave nothing behind except in the data.
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

    /// What the wall clock follows: a time that never goes back, whatever it counts from. Defaults
    /// to tokio's clock.
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
        let clock = EngineClock::new(runtime.clone(), self.time, self.wall_clock);
        let names = self.seed.map_or_else(Names::by_chance, Names::seeded);
        Server::of(Engine::new(clock, names, self.seed.is_some()), runtime)
    }
}
