//! Locks and semaphores of the other kinds: acquired and released, each against scripts by hand.

use std::time::{Duration, Instant};

use palisade::Client;
use testkit::RedisServer;
use tokio::time::sleep;

use crate::{
    block::Pair,
    line::{Better, Line, Sides},
    locks::once,
    rows::Setting,
};

/// What is acquired.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Reading,
    Writing,
    Fair,
    Semaphore,
    Expirable,
}

impl Kind {
    /// What peers are told.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Reading => "reading",
            Self::Writing => "writing",
            Self::Fair => "fair",
            Self::Semaphore => "semaphore",
            Self::Expirable => "expirable",
        }
    }

    /// How many there are of each that has some.
    pub(crate) const PERMITS: u32 = 64;

    pub(crate) const fn has_permits(self) -> bool {
        matches!(self, Self::Semaphore | Self::Expirable)
    }
}

/// The name of the plain lock beside those.
pub(crate) const LOCK: &str = "lock";

/// One on one node.
#[derive(Clone)]
pub(crate) struct OfKind {
    kind: Kind,
    client: Client,
    name: String,
}

impl OfKind {
    /// One client of the server, and a name each.
    pub(crate) async fn connect(kind: Kind, url: &str, names: &[String]) -> Vec<Self> {
        let client = Client::connect(url).await.expect("the server is up");
        for name in names.iter().filter(|_| kind.has_permits()) {
            let set = client.semaphore(name).try_set_permits(Kind::PERMITS).await;
            set.expect("the server is up");
        }
        let named = |name: &String| Self { kind, client: client.clone(), name: name.clone() };
        names.iter().map(named).collect()
    }
}

impl Pair for OfKind {
    async fn pair(&mut self) {
        let (client, name) = (&self.client, &self.name);
        match self.kind {
            Kind::Reading => once(client.rw_lock(name).read().acquire().await).await,
            Kind::Writing => once(client.rw_lock(name).write().acquire().await).await,
            Kind::Fair => once(client.fair_lock(name).acquire().await).await,
            Kind::Expirable => once(client.expirable_semaphore(name).acquire().await).await,
            Kind::Semaphore => {
                let released = match client.semaphore(name).acquire().await {
                    Ok(guard) => guard.release().await.map_err(|error| error.to_string()),
                    Err(error) => Err(error.to_string()),
                };
                if let Err(error) = released {
                    eprintln!("disturbed: {error}");
                }
            }
        }
    }
}

/// A writer that comes again and again to a lock that sixteen others read, at least one at any time.
pub(crate) async fn writer_among_readers(setting: &Setting) -> Vec<Line> {
    let server = RedisServer::start();
    let connect = async || Client::connect(&server.url()).await.expect("the server is up");
    let (readers, writer) = (connect().await, connect().await);
    let reading: Vec<_> =
        (0..READERS).map(|at| tokio::spawn(read_on(readers.clone(), at))).collect();
    let write = writer.rw_lock("one").write();
    let mut took = Vec::new();
    for _ in 0..if setting.effort.short { 5 } else { 20 } {
        sleep(SECTION).await;
        let begun = Instant::now();
        let guard = write.acquire().await.expect("the server is up");
        took.push(begun.elapsed().as_secs_f64() * 1e3);
        drop(guard.release().await);
    }
    reading.iter().for_each(tokio::task::JoinHandle::abort);
    let slowest = took.iter().copied().fold(0.0, f64::max);
    let each = Sides { baseline: vec![IN_WITHIN; took.len()], ours: took };
    let slowest = Sides::once(IN_WITHIN, slowest);
    vec![
        Line::new("p50, ms", Better::Less, "two sections and 1 s", &each),
        Line::new("slowest, ms", Better::Less, "two sections and 1 s", &slowest).aim(1.0),
    ]
}

/// One section begins before the last has ended.
async fn read_on(client: Client, at: u32) {
    sleep(SECTION * at / READERS).await;
    let read = client.rw_lock("one").read();
    loop {
        let guard = read.acquire().await.expect("the server is up");
        // By another task: one that waits for a writer that waits for its own section waits for
        // ever.
        tokio::spawn(async move {
            sleep(SECTION).await;
            drop(guard.release().await);
        });
        sleep(SECTION / 2).await;
    }
}

const READERS: u32 = 16;
const SECTION: Duration = Duration::from_millis(100);
/// Two sections and a second, in ms.
const IN_WITHIN: f64 = 1_200.0;
