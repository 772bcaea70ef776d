//! What is measured, and what is to be reached.

use std::time::Duration;

use futures::{FutureExt, future::LocalBoxFuture};
use testkit::{Actor, RedisServer};

use crate::{
    Flavour::{self, CurrentThread, MultiThread},
    command, contact,
    cpus::Place::{self, Anywhere, Apart, OneCpu},
    deployments::Deployment,
    figure::Figure::{self, ClientCpu, P50, P99, P999, Rate, ServerCpu, Slowest},
    followed, herd, holds,
    kinds::{self, Kind},
    line::Line,
    live, many, meter, one_lock, outsider, overlapping,
    peer::Peer,
    tries,
    turns::Effort,
    work::Work::{
        self, Deployed, Lock, LockBehind, MultiLock, OfKind, OneFrozen, ReadersOfOne, RedLock,
    },
};

/// All rows, in the order of the table.
///
/// An aim is a ratio to the baseline: at most that if less is better, else at least.
#[rustfmt::skip]
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = vec![
        row("1 node, 1 task", Lock, 1).placed(Apart).on(CurrentThread).beside_peers().aim(P50, 0.6).aim(ClientCpu, 1.5),
        row("1 node, 1 task", Lock, 1).placed(Apart).beside_peers().aim(P50, 0.95).aim(ClientCpu, 1.2),
    ];
    for flavour in [CurrentThread, MultiThread] {
        rows.extend([2, 8, 16].map(|tasks| row(&format!("1 node, {tasks} tasks"), Lock, tasks).placed(Apart).on(flavour)));
        rows.extend([64, 256].map(|tasks| {
            row(&format!("1 node, {tasks} tasks"), Lock, tasks).placed(Apart).on(flavour).beside_peers()
                .aim(Rate, 1.4).aim(ServerCpu, 0.6).aim(ClientCpu, 1.0).aim(P999, 1.0).aim(Slowest, 0.8)
        }));
    }
    for (delay_ms, longer) in [(1, 3), (10, 10)] {
        rows.extend([(64, "64"), (1_000, "1,000")].map(|(tasks, name)| {
            row(&format!("1 node, {delay_ms} ms away, {name} tasks"), LockBehind(delay_ms), tasks).placed(Apart).longer(longer)
                .aim(Rate, 1.0).aim(P50, 1.05)
        }));
    }
    for flavour in [CurrentThread, MultiThread] {
        rows.extend([
            row("RedLock of 3, 1 task", RedLock(3), 1).placed(Apart).on(flavour).aim(P50, 1.1),
            row("RedLock of 5, 1 task", RedLock(5), 1).placed(Apart).on(flavour).beside_peers().aim(P50, 1.1),
            row("RedLock of 5, 64 tasks", RedLock(5), 64).placed(Apart).on(flavour).beside_peers().aim(Rate, 1.2),
            row("MultiLock of 3, 1 task", MultiLock(3), 1).placed(Apart).on(flavour).aim(P50, 1.05),
            row("MultiLock of 5, 1 task", MultiLock(5), 1).placed(Apart).on(flavour).aim(P50, 1.05),
        ]);
    }
    rows.extend([
        row("RedLock of 5, one frozen, 1 task", OneFrozen, 1).aim(P50, 1.1).aim(P99, 1.5),
        row("RedLock of 5, one frozen, 64 tasks", OneFrozen, 64).aim(Rate, 0.9).aim(P50, 1.1).aim(P99, 1.5),
        special("hand-over between processes", |setting| contact::hand_over(setting).boxed_local()),
        row("RwLock, reading, 1 task", OfKind(Kind::Reading), 1).placed(OneCpu).beside_peers().aim(P50, 1.2),
        row("RwLock, writing, 1 task", OfKind(Kind::Writing), 1).placed(OneCpu).beside_peers().aim(P50, 1.2),
        row("FairLock, 1 task", OfKind(Kind::Fair), 1).placed(OneCpu).beside_peers().aim(P50, 1.2),
        row("Semaphore, 1 task", OfKind(Kind::Semaphore), 1).placed(OneCpu).beside_peers().aim(P50, 1.2),
        row("ExpirableSemaphore, 1 task", OfKind(Kind::Expirable), 1).placed(OneCpu).beside_peers().aim(P50, 1.2),
        row("unix socket, 1 task", Deployed(Deployment::UnixSocket), 1).placed(OneCpu),
        row("TLS, 1 task", Deployed(Deployment::Tls), 1).placed(OneCpu),
        row("replicas(1), 1 task", Deployed(Deployment::Replicated), 1).placed(OneCpu),
        row("cluster of 3, 1 task", Deployed(Deployment::Clustered), 1).placed(OneCpu),
        row("64 readers of one name", ReadersOfOne, 64).aim(Rate, 0.7),
        special("a writer among 16 readers", |setting| kinds::writer_among_readers(setting).boxed_local()),
        special("hand-over between processes, fair", |setting| contact::fair_hand_over(setting).boxed_local()),
        special("one lock, 64 tasks", |setting| one_lock::in_one_process(setting).boxed_local()),
        special("one lock, two processes of 64 tasks", |setting| one_lock::in_two_processes(setting).boxed_local()),
        special("one lock, two busy processes, one waits", |setting| outsider::waits(setting).boxed_local()),
        special("one lock, two busy processes, one tries", |setting| outsider::tries(setting).boxed_local()),
        special("one lock, 1,000 waiters", |setting| one_lock::crowd(setting).boxed_local()),
        special("one lock, 1,000 waiters, no hand-over", |setting| one_lock::crowd_without_hand_over(setting).boxed_local()),
        special("a FairLock, 200 tasks try for 50 ms", |setting| tries::of_fair_lock(setting).boxed_local()),
        special("100 MultiLocks of 10 names", |setting| overlapping::names(setting).boxed_local()),
        special("100 MultiLocks of 2,000 stripes", |setting| overlapping::stripes(setting).boxed_local()),
    ]);
    rows.extend(crowds());
    rows
}

/// Of many processes, clients, holds or names.
#[rustfmt::skip]
fn crowds() -> Vec<Row> {
    vec![
        special("20 processes at once, 3 masters", |setting| herd::of_three(setting, 20).boxed_local()),
        special("100 processes at once, 3 masters", |setting| herd::of_three(setting, 100).boxed_local()),
        special("200 processes at once, 3 masters", |setting| herd::of_three(setting, 200).boxed_local()),
        special("500 processes at once, 3 masters", |setting| herd::of_three(setting, 500).boxed_local()),
        special("20 processes at once, 1 master", |setting| herd::of_one(setting, 20).boxed_local()),
        special("100 processes at once, 1 master", |setting| herd::of_one(setting, 100).boxed_local()),
        special("500 processes at once, 1 master", |setting| herd::of_one(setting, 500).boxed_local()),
        special("20 processes at once, each for 1 s", |setting| herd::for_a_second(setting, 20).boxed_local()),
        special("60 processes at once, one of 3 masters goes", |setting| herd::of_three_but_one(setting, 60).boxed_local()),
        special("1,500 clients at once, 1 master", |setting| herd::of_clients(setting, 1_500).boxed_local()),
        special("100,000 holds on one master", |setting| holds::of_one(setting).boxed_local()),
        special("100,000 holds on three masters", |setting| holds::of_three(setting).boxed_local()),
        special("100,000 holds of RedLocks of 5", |setting| holds::of_five(setting).boxed_local()),
        special("20,000 names in one MultiLock", |setting| many::members(setting).boxed_local()),
        special("100,000 holds whose server goes", |setting| many::ends(setting).boxed_local()),
        special("1,000 tasks that hold for 30 ms, with tracking", |setting| followed::short_holds(setting, Duration::from_millis(30)).boxed_local()),
        special("1,000 tasks that hold for 100 ms, with tracking", |setting| followed::short_holds(setting, Duration::from_millis(100)).boxed_local()),
        special("1,000 readers in 100 clients, with tracking", |setting| followed::readers(setting).boxed_local()),
        special("palisade run, 5 masters", |setting| command::measure(setting).boxed_local()),
        special("10,000 locks at once", |setting| live::measure(setting).boxed_local()).counted(),
    ]
}

/// A row of the table on one runtime.
pub(crate) struct Row {
    pub(crate) name: String,
    flavour: Flavour,
    how: How,
    aims: Vec<(Figure, f64)>,
    longer: u32,
    beside_peers: bool,
    cpus: Place,
}

enum How {
    /// So many tasks, each with a name of its own.
    Contest(Work, usize),
    Special(Special),
    /// The same, by an allocator that counts.
    Counted(Special),
}

type Special = fn(&Setting) -> LocalBoxFuture<'_, Vec<Line>>;

/// How much is measured, and beside which peers.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub(crate) effort: Effort,
    pub(crate) peers: Vec<Peer>,
}

fn row(name: &str, work: Work, tasks: usize) -> Row {
    let (name, how) = (name.to_owned(), How::Contest(work, tasks));
    Row {
        name,
        flavour: MultiThread,
        how,
        aims: Vec::new(),
        longer: 1,
        beside_peers: false,
        cpus: Anywhere,
    }
}

/// Measured in a way of its own, with figures and aims of its own.
fn special(name: &str, special: Special) -> Row {
    Row { how: How::Special(special), ..row(name, Lock, 1) }
}

impl Row {
    fn counted(self) -> Self {
        let How::Special(special) = self.how else { return self };
        Self { how: How::Counted(special), ..self }
    }

    const fn on(mut self, flavour: Flavour) -> Self {
        self.flavour = flavour;
        self
    }

    const fn beside_peers(mut self) -> Self {
        self.beside_peers = true;
        self
    }

    const fn placed(mut self, cpus: Place) -> Self {
        self.cpus = cpus;
        self
    }

    const fn longer(mut self, times: u32) -> Self {
        self.longer = times;
        self
    }

    fn aim(mut self, figure: Figure, ratio: f64) -> Self {
        self.aims.push((figure, ratio));
        self
    }

    /// Runtime and name, as lines have them.
    pub(crate) fn place(&self) -> (String, &str) {
        (self.flavour.to_string(), &self.name)
    }

    /// Whether an allocator that counts has something to count.
    pub(crate) const fn is_counted(&self) -> bool {
        matches!(self.how, How::Contest(..) | How::Counted(..))
    }

    pub(crate) const fn is_timed(&self) -> bool {
        matches!(self.how, How::Contest(..) | How::Special(..))
    }

    /// All figures that could be measured.
    pub(crate) fn measure(&self, setting: &Setting) -> Vec<Line> {
        let lines = self.cpus.run(|| self.lines(setting));
        let (runtime, row) = (self.flavour.to_string(), self.name.clone());
        let named = |line| Line { runtime: runtime.clone(), row: row.clone(), ..line };
        lines.into_iter().filter(|line| line.ratio.is_finite()).map(named).collect()
    }

    fn lines(&self, setting: &Setting) -> Vec<Line> {
        self.flavour.runtime_of(self.cpus.threads()).block_on(async {
            match self.how {
                How::Contest(work, tasks) => self.contest(work, tasks, setting).await,
                How::Special(measure) | How::Counted(measure) => measure(setting).await,
            }
        })
    }

    async fn contest(&self, work: Work, tasks: usize, setting: &Setting) -> Vec<Line> {
        let mut contest = work.contest(tasks).await;
        for side in [&contest.baseline, &contest.ours] {
            self.cpus.settle(side.servers.iter().map(RedisServer::pid));
            self.cpus.settle(side.proxy.iter().map(Actor::pid));
        }
        let kind = if let OfKind(kind) = work { kind.name() } else { kinds::LOCK };
        for peer in setting.peers.iter().filter(|peer| self.beside_peers && peer.has(kind)) {
            contest = contest.beside(peer, (self.flavour, self.cpus.threads()), tasks, kind);
        }
        let outcome = contest.hold(setting.effort.longer(self.longer)).await;
        let figures = if meter::is_counting() { &Figure::COUNTED[..] } else { &Figure::TIMED };
        let of_many = |figure: &&Figure| tasks > 1 || **figure != Slowest;
        let lines = figures.iter().filter(of_many).map(|figure| {
            let aim = self.aims.iter().find(|(of, _)| of == figure).map(|(_, aim)| *aim);
            Line { aim, ..outcome.line(*figure) }
        });
        lines.collect()
    }
}
