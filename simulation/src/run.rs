//! One run: everything put together, played, and judged.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use checkers::{
    check::{self, Violation},
    history::{Event as Told, History, Kind, Leftovers, Record, Settings},
    random::Random,
};
use palisade::Quarantine;
use tokio::task::JoinHandle;

use crate::{
    coverage::Coverage,
    event::{Event, ProcessId},
    faults::{Damage, worker},
    guarded,
    log::{Finished, Log},
    network::Network,
    nodes::Node,
    plan::{About, Leases, Plan},
    process, semaphores,
    stage::{Signal, Stage},
    targets,
    topic::Topic,
    waiting::Waiting,
    world::World,
};

/// What to keep of a run.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// A line for every message, fault and step.
    pub trace: bool,
    /// Streams of bytes that are cut anywhere, as TCP may, in place of whole messages.
    pub tcp: bool,
    /// Whether clients are told at once that their keys were taken away.
    pub tracking: bool,
    /// What it is about.
    pub topic: Topic,
}

impl Options {
    /// What must be seen in many runs. Of a stream of bytes it is not known what it says.
    #[must_use]
    pub const fn sometimes(&self) -> &'static [&'static str] {
        if self.tcp { &[] } else { self.topic.sometimes() }
    }
}

/// What came of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// What decided everything.
    pub seed: u64,
    /// What must never happen and did.
    pub violations: Vec<Violation>,
    /// What was seen.
    pub coverage: Coverage,
    /// The same for two runs in which the same happened at the same times.
    pub fingerprint: u64,
    /// How often a lock was asked for, used, re-entered or let go of.
    pub steps: u64,
    /// What happened.
    pub history: Vec<Record>,
    /// If it was wanted.
    pub trace: Option<String>,
    /// How long it took those inside.
    pub simulated: Duration,
}

/// Plays what a seed decides.
///
/// # Panics
/// The runtime cannot be made.
#[must_use]
pub fn run(seed: u64, options: &Options) -> Outcome {
    let mut plan = options.topic.plan(seed);
    plan.tracking = options.tracking;
    if options.tcp {
        plan.promote_nobody();
    }
    let settings = settings(&plan);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O can always be made");
    let played = runtime.block_on(play(plan, &settings, options));
    drop(runtime);
    judge(seed, played)
}

fn settings(plan: &Plan) -> Settings {
    let back = plan.sets_clocks_back_ms();
    let late = plan.processes.iter().map(|process| process.late_us).max().unwrap_or(0);
    Settings {
        // A clock that was set back makes keys live longer.
        longest_lease_ms: plan.leases.max_ms * 101 / 100 + back,
        slack_ms: late / 1_000 + 2,
        quarantine_ms: plan.leases.quarantine_ms(),
        quarantine_all: plan.leases.quarantine != Quarantine::Composites || plan.is_followed(),
        stamp_ms: stamp_ms(&plan.leases) + back,
        brisk_ms: brisk_ms(plan),
        fair_ms: plan.fair_ms(),
        in_order_ms: plan.in_order_ms(),
        absent_ms: plan.absent_ms(),
        near: plan.is_near(),
        failover_ms: plan.failover_ms(),
        news_ms: if plan.has_one_restart() { NEWS_MS } else { 0 },
        lossy: plan.faulty,
        forgetful: false,
        profile: String::new(),
        seed: plan.seed,
        secs: plan.finish_at / 1_000_000,
        masters: plan.nodes.len(),
        workers: u32::try_from(plan.processes.len()).unwrap_or(0),
        planted: None,
    }
}

/// For how long a lock may lie free where nothing is broken.
fn brisk_ms(plan: &Plan) -> u64 {
    match plan.about {
        _ if !plan.is_brisk() => 0,
        About::Handover { .. } => plan.brisk_handover_ms(),
        // A writer of a composite that went withdraws no wish.
        About::Sharing => BRISK_MS + WISH_MS,
        // What is not given back stands for longer than it is held; and a caller that wished for several and
        // was killed withdraws nothing.
        About::Permits => BRISK_MS + 2 * plan.leases.clock_skew_ms + KEPT_OUT_MS,
        _ => BRISK_MS,
    }
}

/// A stamp is as far ahead as a vote may take and a margin, by what is known of the server's clock:
/// a sample as old as the run, at a hundredth of drift, that was as slow as a connect may be.
const fn stamp_ms(leases: &Leases) -> u64 {
    leases.node_timeout_ms + 100 + leases.connect_timeout_ms + 700
}

async fn play(plan: Plan, settings: &Settings, options: &Options) -> (Finished, Duration) {
    let random = |what| Random::branch(plan.seed, &[0, what]);
    let world = Arc::new(World::new(random(1), plan.processes.len()));
    let log = Arc::new(Log::new(&world, options.trace));
    let mut seeds = random(2);
    let is_strict = plan.leases.quarantine == Quarantine::Strict;
    let start = |node| Node::start(node, &world, seeds.draw(), is_strict);
    let mut nodes: Vec<_> = plan.nodes.iter().map(start).collect();
    if plan.is_followed() {
        let both = nodes.into_iter().zip(&plan.replicas);
        nodes = both.map(|(node, it)| node.with_replica(it, &world, seeds.draw())).collect();
    }
    let network = Network::new(&world, &log, &plan, random(3), nodes, options.tcp);
    log.record(Told::RunBegan(settings.clone()));
    say_what_it_is_about(&plan, &log);
    for user in 0..plan.users() {
        network.keep_off(user, targets::names_of_others(user, &plan));
    }
    schedule(&world, &plan);
    let stage = Arc::new(Stage {
        world: world.clone(),
        network: Arc::new(network),
        log: log.clone(),
        memory: Arc::default(),
        waiting: Waiting::default(),
        calm: Signal::default(),
        finish: Signal::default(),
        names: Mutex::default(),
        plan,
    });
    let mut play = Play::new(stage);
    play.perform().await;
    play.look(settings).await;
    (log.finish(), Duration::from_micros(world.now_us()))
}

fn say_what_it_is_about(plan: &Plan, log: &Log) {
    if plan.is_restarted() {
        log.saw("rolling restart");
    }
    if plan.is_undisturbed() || plan.is_restarted() {
        log.record(Told::Undisturbed);
    }
    if plan.is_followed() {
        log.saw("behind sentinels");
    }
    match plan.about {
        About::Everything => {}
        About::Tokens => log.saw("storm"),
        About::LostData => log.saw("late to lost data"),
        About::Rights => log.saw("two users"),
        About::Sharing => log.saw("readers and writers"),
        About::Overlapping => log.saw("locks that overlap in part"),
        About::Permits => log.saw("semaphores"),
        About::Queueing => log.saw("queues"),
        About::Latches => log.saw("latches"),
        About::Periods { .. } => log.saw("periods"),
        About::Elections { .. } => log.saw("elections"),
        About::Guarded => log.saw("guarded scripts"),
        About::Leases => log.saw("longest leases that differ"),
        About::Handover { .. } => log.saw("passed on again and again"),
    }
}

fn schedule(world: &World, plan: &Plan) {
    for (index, (at, _)) in plan.faults.iter().enumerate() {
        world.schedule(*at, Event::Fault(index));
    }
    world.schedule(plan.calm_at, Event::Calm);
    world.schedule(plan.finish_at, Event::Finish);
    world.schedule(plan.give_up_at(), Event::GiveUp);
}

struct Play {
    stage: Arc<Stage>,
    processes: Vec<JoinHandle<()>>,
    damage: Damage,
}

impl Play {
    fn new(stage: Arc<Stage>) -> Self {
        let processes = stage.plan.processes.iter().cloned().enumerate();
        let processes: Vec<_> = processes
            .map(|(id, plan)| tokio::spawn(process::run(stage.clone(), id, plan)))
            .collect();
        let damage = Damage::new(stage.plan.nodes.len(), processes.len());
        Self { stage, processes, damage }
    }

    /// Until every process has ended, or does not.
    async fn perform(&mut self) {
        loop {
            idle().await;
            if self.open().next().is_none() {
                return self.look_for_leaks();
            }
            match self.stage.world.next() {
                Some(Event::GiveUp) | None => break,
                Some(event) => self.handle(event),
            }
        }
        for id in self.open().collect::<Vec<_>>() {
            self.stage.log.record(Told::Hung { worker: worker(id) });
        }
    }

    fn handle(&mut self, event: Event) {
        let stage = &self.stage;
        match event {
            Event::Timer(place, uses) => stage.world.timer(place, uses),
            Event::Net(event) => stage.network.handle(event),
            Event::Fault(index) => stage.fault(&mut self.damage, index),
            Event::Resume(process) => stage.resume(&self.damage, process),
            Event::Calm => stage.calm_down(&mut self.damage),
            Event::Finish => {
                stage.log.record(Told::Finishing);
                stage.finish.give();
            }
            Event::GiveUp => {}
        }
    }

    /// The processes that are to end and have not.
    fn open(&self) -> impl Iterator<Item = ProcessId> + '_ {
        let processes = self.processes.iter().enumerate();
        let alive = processes.filter(|(id, _)| !self.damage.killed.contains(id));
        alive.filter(|(_, process)| !process.is_finished()).map(|(id, _)| id)
    }

    /// All have left, and have been told that nothing of theirs is left.
    fn look_for_leaks(&self) {
        for master in 0..self.stage.plan.nodes.len() {
            if self.stage.plan.is_broken(master) {
                continue;
            }
            let network = &self.stage.network;
            let held = |node: &mut Node| -> Vec<_> {
                let keys = node.keys().into_iter();
                let held = keys.flat_map(|key| {
                    node.holders(&key).into_iter().map(move |holder| (key.clone(), holder))
                });
                held.chain(node.places()).collect()
            };
            let held = network.with_node(master, held).unwrap_or_default();
            let keys = held.into_iter().filter(|(_, holder)| !self.may_stay(holder));
            let keys = keys.map(|(key, holder)| format!("{key} of {holder}")).collect();
            let left = Leftovers { master, keys, channels: Vec::new(), connections: 0 };
            self.stage.log.record(Told::Left(left));
        }
    }

    /// Orphans, what came twice, what belongs to a process that was killed; where a clock was set
    /// back, what its holder rightly takes for over; and what comes back with a replica that has not heard
    /// of its release.
    fn may_stay(&self, holder: &str) -> bool {
        if self.stage.plan.sets_clocks_back_ms() > 0 || self.stage.plan.is_followed() {
            return true;
        }
        let names = self.stage.names();
        let mut killed = self.damage.killed.iter().filter_map(|process| names.get(process));
        self.stage.network.is_excused(holder) || killed.any(|name| holder.starts_with(name))
    }

    /// Lets the last leases end, and looks at what is left.
    async fn look(&mut self, settings: &Settings) {
        let until = self.stage.world.now_us()
            + 1_000 * (settings.longest_lease_ms + 1_000)
            + self.stage.plan.network.spike_us;
        self.stage.world.schedule(until, Event::GiveUp);
        while self.stage.world.now_us() < until
            && let Some(event) = self.stage.world.next()
        {
            self.handle(event);
            idle().await;
        }
        for master in 0..self.stage.plan.nodes.len() {
            let network = &self.stage.network;
            let ends = |process| !self.damage.killed.contains(&process);
            let connections = network.connections(master, ends);
            let left =
                network.with_node(master, |node| (node.keys(), node.places(), node.channels()));
            let (mut keys, places, channels) = left.unwrap_or_default();
            // A client that cannot tell a server that it has gone stays connected, and in queues.
            let mended = !self.stage.plan.is_broken(master);
            let places = places.into_iter().filter(|(_, waiter)| mended && !self.may_stay(waiter));
            if master == self.stage.plan.home() {
                let permits =
                    |name: &str| network.with_node(master, |node| node.permits(name)).flatten();
                keys.extend(semaphores::wrong(&self.stage.plan, permits));
            }
            keys.extend(places.map(|(queue, waiter)| format!("{queue} of {waiter}")));
            let (channels, connections) =
                if mended { (channels, connections) } else { (Vec::new(), 0) };
            let left = Leftovers { master, keys, channels, connections };
            self.stage.log.record(Told::Left(left));
        }
        self.look_for_records();
        self.look_for_lines();
    }

    /// Beside the lock of a run about them.
    fn look_for_lines(&self) {
        if self.stage.plan.about != About::Guarded {
            return;
        }
        let (lock, master) = (guarded::LOCK, self.stage.plan.home());
        let works = |node: &mut Node| node.works().then(|| node.inscriptions(lock));
        if let Some(lines) = self.stage.network.with_node(master, works).flatten() {
            let lock = lock.to_owned();
            self.stage.log.record(Told::Inscriptions { master, lock, lines });
        }
    }

    /// On the servers of a job's lock that can be asked.
    fn look_for_records(&self) {
        let About::Periods { kind, fenced } = self.stage.plan.about else { return };
        let (lock, home) = (targets::name_of(kind, fenced), self.stage.plan.home());
        for master in 0..self.stage.plan.nodes.len() {
            let is_of_lock = kind != Kind::Lock || master == home;
            let works = |node: &mut Node| node.works().then(|| node.runs(lock));
            let runs = self.stage.network.with_node(master, works).flatten();
            if let Some(mut runs) = runs.filter(|_| is_of_lock) {
                runs.sort_unstable();
                self.stage.log.record(Told::Records { master, lock: lock.to_owned(), runs });
            }
        }
    }
}

/// A server that is down is tried every 100 ms, and what is held there renewed within 50 ms; the rest is
/// for a connect and two round trips.
const NEWS_MS: u64 = 250;

/// So long a lock may lie free where nothing is broken: a few round trips, and rounds of a majority
/// that were lost to each other.
const BRISK_MS: u64 = 500;
/// How long a wish to write lasts.
const WISH_MS: u64 = 1_000;
/// For how long one for permits keeps others out.
const KEPT_OUT_MS: u64 = 2_000;

/// Completes when nothing is left to do at this moment: paused time moves on only then.
async fn idle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

fn is_step(event: &Told) -> bool {
    checkers::history::section_of(event).is_some()
}

fn judge(seed: u64, (finished, simulated): (Finished, Duration)) -> Outcome {
    let history = History::from_records(finished.records.clone());
    let violations = history.map(|history| check::violations(&history)).unwrap_or_default();
    Outcome {
        seed,
        violations,
        coverage: finished.coverage,
        fingerprint: finished.fingerprint,
        steps: finished.records.iter().filter(|record| is_step(&record.event)).count() as u64,
        history: finished.records,
        trace: finished.trace,
        simulated,
    }
}
