//! Servers, processes and time in which a scenario repeats.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, atomic::AtomicUsize},
    time::Duration,
};

use futures::future::BoxFuture;
use palisade::{
    Client, ClientBuilder, Masters,
    clock::{Clock, Instant as ClockInstant},
    embedded::{Server, SimulatedProcess},
};
use tokio::{
    sync::mpsc::{self, UnboundedSender},
    time::Instant,
};

use super::{
    Scenario,
    pipe::{self, Heard, Way},
    words::{self, Greetings, Names},
};

/// Plays a scenario and tells what was said in it, even if it fails: that is what explains it.
pub(super) fn perform(scenario: &Scenario, greetings: &mut Greetings) -> Vec<String> {
    let (said, mut heard) = mpsc::unbounded_channel();
    let uuids = Uuids::default();
    let play = AssertUnwindSafe(|| play(scenario, said, uuids.clone()));
    let failed = catch_unwind(play).is_err();
    let mut all: Vec<Heard> = std::iter::from_fn(|| heard.try_recv().ok()).collect();
    all.sort_by_key(|heard| (heard.server, heard.at, heard.connection));
    let mut lines = words::lines(&all, &mut Names::new(&uuids.lock().unwrap()), greetings);
    if failed {
        lines.push(FAILED.to_owned());
    }
    lines
}

fn play(scenario: &Scenario, said: UnboundedSender<Heard>, uuids: Uuids) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let stage = Stage::new(said, uuids);
        let play = tokio::time::timeout(HANG, (scenario.play)(&stage));
        assert!(play.await.is_ok(), "{} hangs", scenario.name);
        // What goes on in the background when the last guard is gone.
        tokio::time::sleep(SETTLE).await;
    });
}

/// Those of the processes, from the first on.
type Uuids = Arc<Mutex<Vec<String>>>;

/// Five servers, and the processes that are made on it.
pub(super) struct Stage {
    pub(super) servers: [Arc<Server>; SERVERS],
    opened: [Arc<AtomicUsize>; SERVERS],
    uuids: Uuids,
    said: UnboundedSender<Heard>,
}

impl Stage {
    fn new(said: UnboundedSender<Heard>, uuids: Uuids) -> Self {
        let born = |i: usize| {
            let server = Server::builder().seed(i as u64).wall_clock(words::BEGINNING);
            Arc::new(server.start_here())
        };
        Self { servers: std::array::from_fn(born), opened: Default::default(), uuids, said }
    }

    /// One more process.
    pub(super) fn process(&self) -> Process<'_> {
        let mut uuids = self.uuids.lock().unwrap();
        let number = uuids.len() + 1;
        let clock = Arc::new(Paused(Instant::now()));
        let process = SimulatedProcess::new(clock.clone(), clock, number as u64);
        uuids.push(process.uuid());
        Process { stage: self, number, process }
    }

    /// A client of the first server, in a process of its own.
    pub(super) fn client(&self) -> Client {
        self.process().client(0)
    }
}

pub(super) struct Process<'a> {
    stage: &'a Stage,
    number: usize,
    process: SimulatedProcess,
}

impl Process<'_> {
    /// Settings of a client of a server, counted from 0.
    pub(super) fn builder(&self, server: usize) -> ClientBuilder {
        let (to, said) = (self.stage.servers[server].clone(), self.stage.said.clone());
        let opened = self.stage.opened[server].clone();
        let takes = Duration::from_millis((server + 10 * self.number) as u64);
        let connect = move || {
            let (opened, heard) = (opened.clone(), said.clone());
            let way = Way { server: server + 1, opened, takes, heard };
            pipe::connect(to.clone(), way)
        };
        Client::builder().simulated(&self.process).connector("node", connect)
    }

    pub(super) fn client(&self, server: usize) -> Client {
        self.builder(server).build().unwrap()
    }

    /// The first `count` servers.
    pub(super) fn masters(&self, count: usize) -> Masters {
        self.masters_with(count, |builder| builder)
    }

    /// The same with other settings.
    pub(super) fn masters_with(
        &self,
        count: usize,
        set: impl Fn(ClientBuilder) -> ClientBuilder,
    ) -> Masters {
        let clients = (0..count).map(|server| set(self.builder(server)).build().unwrap());
        Masters::new(clients).unwrap()
    }
}

/// tokio's time, and a wall clock that begins where those of the servers do.
#[derive(Debug)]
struct Paused(Instant);

impl Clock for Paused {
    fn now(&self) -> ClockInstant {
        ClockInstant::from_origin(self.0.elapsed())
    }

    fn sleep_until(&self, at: ClockInstant) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep_until(self.0 + at.since_origin()))
    }

    fn unix_time(&self) -> Duration {
        words::BEGINNING + self.0.elapsed()
    }
}

/// Stands behind what was said in a scenario that failed.
pub(super) const FAILED: &str = "and then the scenario failed, as told above";
const SERVERS: usize = 5;
/// No scenario takes so long, in paused time.
const HANG: Duration = Duration::from_secs(600);
const SETTLE: Duration = Duration::from_millis(500);
