//! A simulated process: its clock, its clients, and its lanes.

use std::{sync::Arc, time::Duration};

use checkers::{
    history::{Event, Worker},
    random::Random,
};
use futures::{TryFutureExt, future::join_all};
use palisade::{Client, clock::Clock, embedded::SimulatedProcess, error::ConfigError};
use workload::Lane;

use crate::{
    caller::{Beat, Caller},
    clock::SimClock,
    elections,
    event::ProcessId,
    host::Host,
    latches, periods,
    plan::{About, ProcessPlan},
    semaphores,
    stage::Stage,
    stream::SimStream,
    targets,
};

/// Lives from the beginning until its lanes have finished.
pub(crate) async fn run(stage: Arc<Stage>, id: ProcessId, plan: ProcessPlan) {
    let worker = Worker { place: u32::try_from(id).unwrap_or(0), life: 0 };
    stage.log.record(Event::WorkerBegan { worker });
    let seed = Random::branch(stage.plan.seed, &[2, worker.place]).draw();
    let clock = SimClock::new(&stage.world, id, &plan);
    let late = Arc::new(clock.late(plan.late_us));
    let watchdog = Arc::new(clock.late(plan.late_us + plan.watchdog_late_us));
    if plan.watchdog_late_us > 0 {
        stage.log.saw("fault: late watchdog");
    }
    if plan.set.is_some() {
        stage.log.saw("fault: time of day set");
    }
    if plan.begins_us > 0 {
        stage.log.saw("newcomer");
        let begins = late.now() + Duration::from_micros(plan.begins_us);
        late.sleep_until(begins).await;
    }
    let process = SimulatedProcess::new(late, watchdog, seed);
    stage.names().insert(id, process.uuid());
    let problem = match clients(&stage, id, &process, &clock) {
        Ok(clients) => {
            if plan.examines {
                stage.log.saw("looked before it asked");
                join_all(clients.iter().map(Client::health)).await;
            }
            work(&stage, worker, &plan, &clock, &clients).await
        }
        Err(error) => Some(error.to_string()),
    };
    stage.log.record(Event::WorkerEnded { worker, problem });
}

async fn work(
    stage: &Arc<Stage>,
    worker: Worker,
    plan: &ProcessPlan,
    clock: &SimClock,
    clients: &[Client],
) -> Option<String> {
    let targets = match targets::all(clients, &stage.plan) {
        Ok(targets) => Arc::new(targets),
        Err(error) => return Some(error.to_string()),
    };
    let job = match periods::job(clients, &stage.plan) {
        Ok(job) => job,
        Err(error) => return Some(error.to_string()),
    };
    let follower = match elections::follow(stage, worker, clients) {
        Ok(follower) => follower,
        Err(error) => return Some(error.to_string()),
    };
    semaphores::set(clients, &stage.plan, clock).await;
    let lanes = (0..plan.lanes).map(|lane| {
        let latches = latches::of(clients, &stage.plan, lane);
        let random = Random::branch(stage.plan.seed, &[3, worker.place, lane]);
        let (store, observer) = (stage.memory.clone(), stage.clone());
        let lane = Lane::new(worker, lane, Arc::new(clock.clone()), store, observer);
        let (stage, targets) = (stage.clone(), targets.clone());
        if let Some(job) = &job {
            let (job, clock) = (job.clone(), clock.clone());
            let id = usize::try_from(worker.place).unwrap_or(0);
            return tokio::spawn(Host { stage, id, job, clock, random, lane }.run());
        }
        let every_us = plan.beat_us;
        let beat = (every_us > 0).then(|| Beat { clock: clock.clone(), every_us });
        tokio::spawn(Caller { stage, targets, random, lane, latches, beat }.run())
    });
    let ended = join_all(lanes.collect::<Vec<_>>()).await;
    drop(targets);
    elections::settle(&stage.plan, clock).await;
    // Those that reach their servers leave nothing behind; others must not wait for ever.
    let shut = join_all(clients.iter().map(|client| client.shutdown(SHUTDOWN))).await;
    let broken = |client: usize| stage.plan.is_broken(client % stage.plan.nodes.len());
    let unfinished = shut.iter().enumerate().filter(|(client, _)| !broken(*client));
    let unfinished = unfinished.filter_map(|(_, shut)| shut.as_ref().err()).map(|e| e.unfinished);
    stage.log.record(Event::ShutDown { worker, unfinished: unfinished.sum() });
    let followed = join_all(follower).await;
    let has_panicked = ended.iter().chain(&followed).any(Result::is_err);
    has_panicked.then(|| "has a task that panicked".to_owned())
}

fn clients(
    stage: &Arc<Stage>,
    id: ProcessId,
    process: &SimulatedProcess,
    clock: &SimClock,
) -> Result<Vec<Client>, ConfigError> {
    let leases = &stage.plan.leases;
    let nodes = stage.plan.nodes.len();
    let mut random = Random::branch(stage.plan.seed, &[4, u32::try_from(id).unwrap_or(0)]);
    let lag = Duration::from_millis(random.below(leases.lag_ms + 1));
    // All nodes' of the first user, then those of the next.
    let clients = (0..nodes * stage.plan.users()).map(|number| {
        let (user, node) = (number / nodes, number % nodes);
        let (network, clock) = (stage.network.clone(), clock.clone());
        let label = format!("n{node}");
        let connect = move || SimStream::connect(network.clone(), id, node, user, clock.clone());
        let builder = if stage.plan.is_followed() {
            Client::builder().simulated_sentinels(&label, connect)
        } else {
            let connect = move || connect().map_ok(|(stream, _)| stream);
            Client::builder().connector(&label, connect)
        };
        // Else records have the number of the process that we are.
        let builder = match stage.plan.about {
            About::Periods { .. } => builder.name(&format!("host-{id}")),
            _ => builder,
        };
        let builder = match stage.plan.processes.get(id).and_then(|it| it.max_lease_ms) {
            Some(own_ms) => builder.max_lease(Duration::from_millis(own_ms)),
            None => builder.fleet_max_lease(Duration::from_millis(leases.max_ms)),
        };
        builder
            .simulated(process)
            .watchdog_lease(Duration::from_millis(leases.watchdog_ms))
            .clock_skew(Duration::from_millis(leases.clock_skew_ms))
            .failover_lag(lag)
            .quarantine(leases.quarantine)
            .local_handover(stage.plan.handover)
            .tracking(stage.plan.tracking)
            .node_timeout(Duration::from_millis(leases.node_timeout_ms))
            .connect_timeout(Duration::from_millis(leases.connect_timeout_ms))
            .build()
    });
    clients.collect()
}

/// Longer than any lease, after which nothing need be released.
const SHUTDOWN: Duration = Duration::from_secs(4);
