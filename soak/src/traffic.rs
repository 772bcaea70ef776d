//! What is done to the locks: rounds in which some are let go of and taken again, others are asked
//! for in vain, and a master's connections are cut.

use std::{
    fmt,
    time::{Duration, Instant},
};

use futures::{StreamExt, future::join_all, join, stream};
use palisade::{AcquireError, Client, LockGuard, Masters, OnOutage};
use rand::RngExt;
use testkit::{Cluster, RedisServer};
use tokio::{
    net::TcpStream,
    task::JoinSet,
    time::{sleep, timeout},
};

/// All locks, and their holders.
#[derive(Debug)]
pub(crate) struct Traffic {
    servers: Cluster,
    holders: Masters,
    /// As those of another process: they stand in no line with the holders.
    strangers: Masters,
    /// By the number of the lock. All are held between two rounds.
    held: Vec<Option<LockGuard>>,
    /// The waiters that wait all the time, for locks that are never let go of.
    standing: JoinSet<Result<LockGuard, AcquireError>>,
    counts: Counts,
}

/// What has happened so far.
#[derive(Debug, Default)]
struct Counts {
    grants: usize,
    dropped_futures: usize,
    cut: usize,
    lost: usize,
}

impl Traffic {
    /// Takes all locks.
    pub(crate) async fn begin() -> Result<Self, String> {
        let servers = Cluster::start(MASTERS).blessed();
        let holders = Masters::connect(servers.urls()).await.map_err(|error| error.to_string())?;
        let strangers = strangers(&servers)?;
        let mut standing = JoinSet::new();
        for number in 0..STANDING {
            let masters = strangers.clone();
            standing.spawn(async move {
                // The holders come first.
                sleep(CALM).await;
                acquire(&masters, number).await
            });
        }
        let held = (0..LOCKS).map(|_| None).collect();
        let counts = Counts::default();
        let mut traffic = Self { servers, holders, strangers, held, standing, counts };
        traffic.take_all().await?;
        Ok(traffic)
    }

    pub(crate) const fn servers(&self) -> &Cluster {
        &self.servers
    }

    /// Rounds until `end`, and then a calm in which what they left behind may settle.
    pub(crate) async fn go_on(&mut self, end: Instant) -> Result<(), String> {
        for round in 0.. {
            let cut = (round % CUT_EVERY == 0).then_some((round / CUT_EVERY) % MASTERS);
            let some: Vec<_> = (0..TURNS).map(|_| random(STANDING..LOCKS)).collect();
            let let_go: Vec<_> =
                some.iter().filter_map(|at| self.held.get_mut(*at)?.take()).collect();
            let (_, _, cut) = join!(
                join_all(let_go.into_iter().map(end_hold)),
                self.ask_in_vain(),
                self.cut(cut)
            );
            self.counts.cut += cut;
            self.counts.dropped_futures += TURNS;
            self.take_all().await?;
            if Instant::now() >= end {
                break;
            }
        }
        sleep(CALM).await;
        Ok(())
    }

    /// Futures that are dropped soon, most of them while they wait.
    async fn ask_in_vain(&self) {
        let asked = (0..TURNS).map(|turn| {
            let masters = if turn.is_multiple_of(2) { &self.holders } else { &self.strangers };
            let limit = Duration::from_millis(random(0..200) as u64);
            async move { drop(timeout(limit, acquire(masters, random(0..LOCKS))).await) }
        });
        join_all(asked).await;
    }

    /// Cuts all connections of a master, in the middle of whatever goes on; how many there were.
    async fn cut(&self, master: Option<usize>) -> usize {
        sleep(Duration::from_millis(random(0..200) as u64)).await;
        let Some(server) = master.map(|master| &self.servers[master]) else { return 0 };
        let kill = |which| server.cli(&["CLIENT", "KILL", "TYPE", which]).parse().unwrap_or(0);
        ["normal", "pubsub"].map(kill).iter().sum()
    }

    /// Acquires what is not held.
    async fn take_all(&mut self) -> Result<(), String> {
        let lost = |guard: &LockGuard| !guard.is_held();
        let gone: Vec<_> =
            self.held.iter_mut().filter_map(|held| held.take_if(|guard| lost(guard))).collect();
        self.counts.lost += gone.len();
        drop(gone);
        let free: Vec<_> =
            (0..LOCKS).filter(|at| self.held.get(*at).is_some_and(Option::is_none)).collect();
        self.counts.grants += free.len();
        let acquired = stream::iter(free).map(|number| {
            let masters = &self.holders;
            async move { (number, timeout(HANG, acquire(masters, number)).await) }
        });
        let acquired: Vec<_> = acquired.buffer_unordered(AT_ONCE).collect().await;
        for (number, guard) in acquired {
            let guard =
                guard.map_err(|_late| format!("lock {number} is not granted for {HANG:?}"))?;
            let guard = guard.map_err(|error| error.to_string())?;
            if let Some(held) = self.held.get_mut(number) {
                *held = Some(guard);
            }
        }
        Ok(())
    }

    /// Lets go of everything, after which nothing may be left of it.
    pub(crate) async fn end(mut self) -> Result<(), String> {
        drop(self.standing);
        join_all(self.held.drain(..).flatten().map(end_hold)).await;
        for masters in [self.holders, self.strangers] {
            masters.shutdown(HANG).await.map_err(|error| error.to_string())?;
        }
        for _ in 0..HANG.as_secs() {
            if self.servers.iter().all(|server| left_on(server).is_none()) {
                break;
            }
            sleep(Duration::from_secs(1)).await;
        }
        let left: Vec<_> = self.servers.iter().filter_map(left_on).collect();
        if left.is_empty() { Ok(()) } else { Err(left.join("\n")) }
    }
}

impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { grants, dropped_futures, cut, lost } = self.counts;
        write!(f, "{grants:>8}  {dropped_futures:>15}  {cut:>15}  {lost:>10}")
    }
}

/// What [`Traffic`] shows of itself.
pub(crate) const HEADER: &str = "  grants  futures dropped  connections cut  holds lost";

fn strangers(servers: &Cluster) -> Result<Masters, String> {
    let clients = servers.iter().map(|server| {
        let addr = server.addr();
        Client::builder().connector(&addr.to_string(), move || TcpStream::connect(addr)).build()
    });
    let clients: Result<Vec<_>, _> = clients.collect();
    clients.and_then(Masters::new).map_err(|error| error.to_string())
}

/// A majority for one half of the locks, all masters for the other; outages are waited out.
async fn acquire(masters: &Masters, number: usize) -> Result<LockGuard, AcquireError> {
    let name = format!("soak:{number}");
    if number.is_multiple_of(2) {
        masters.red_lock(name).on_outage(OnOutage::Wait).acquire().await
    } else {
        masters.multi_lock(name).on_outage(OnOutage::Wait).acquire().await
    }
}

/// One is released, with an answer or a cut connection; another is just dropped.
async fn end_hold(guard: LockGuard) {
    if random(0..2) == 0 {
        drop(guard.release().await);
    }
}

/// What is on a server when nothing should use it any more.
fn left_on(server: &RedisServer) -> Option<String> {
    let (keys, connections) = (server.keys(), server.connected_clients());
    let channels = server.cli(&["PUBSUB", "CHANNELS"]);
    let is_clean = keys.is_empty() && channels.is_empty() && connections == 0;
    (!is_clean).then(|| {
        format!(
            "left on {}: keys {keys:?}, channels {channels:?}, {connections} connections",
            server.addr()
        )
    })
}

fn random(range: std::ops::Range<usize>) -> usize {
    rand::rng().random_range(range)
}

const MASTERS: usize = 3;
const LOCKS: usize = 2_000;
/// Never let go of, and waited for all the time.
const STANDING: usize = 20;
/// How many are let go of in a round, and as many futures are dropped.
const TURNS: usize = 200;
/// In rounds.
const CUT_EVERY: usize = 5;
const AT_ONCE: usize = 64;
const CALM: Duration = Duration::from_secs(3);
/// Far beyond anything a busy machine explains.
const HANG: Duration = Duration::from_secs(60);
