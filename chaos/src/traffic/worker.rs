//! The worker process: some contenders on one runtime, until its stdin is closed.

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use palisade::{Client, Masters, OnOutage, error::ConfigError};
use serde::{Deserialize, Serialize};
use tokio::{
    runtime::{Builder, Runtime},
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};
use workload::Lane;

use super::{
    access::Access, contender::Contender, following::Following, jobs, prizes::Prizes,
    steward::Steward, subscriber, targets, witness::Witnesses,
};
use crate::{
    history::{Event, Worker},
    random::Random,
    recorder::Recorder,
    time::{self, Machine},
};

/// All that a worker is told. Passed as one argument.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Orders {
    pub(crate) worker: Worker,
    pub(crate) seed: u64,
    pub(crate) access: Access,
    pub(crate) prizes: Prizes,
    /// For its records and the witnesses.
    pub(crate) folder: PathBuf,
    /// The planted fault: it takes locks that no other contender wants.
    pub(crate) ignores_lock: bool,
    /// It blocks its runtime now and then.
    pub(crate) blocks: bool,
    /// How many workers there are.
    pub(crate) workers: u32,
    /// What the holder ids of all workers begin with that were killed.
    pub(crate) dead: Vec<String>,
}

/// Tells a worker that the subscriber to the library's events panics from now on.
pub(crate) const PANIC: &str = "panic";
/// Tells it that this is over.
pub(crate) const CALM_DOWN: &str = "calm";

/// What a worker says when it works, and then what its holder ids begin with.
pub(super) const READY: &str = "ready";

/// Works until stdin is closed; what has been asked for by then is waited for.
pub(crate) fn work(orders: &Orders) -> ExitCode {
    let done =
        runtime(orders).map_err(|error| error.to_string()).and_then(|rt| rt.block_on(live(orders)));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{}: {problem}", orders.worker);
            ExitCode::FAILURE
        }
    }
}

/// Of several threads for every second worker: callers and drivers meet there at any moment. One that is to stand
/// still is of one.
fn runtime(orders: &Orders) -> io::Result<Runtime> {
    let mut builder = if orders.worker.place % 2 == 1 && !orders.blocks {
        Builder::new_multi_thread()
    } else {
        Builder::new_current_thread()
    };
    builder.worker_threads(2).enable_all().build()
}

async fn live(orders: &Orders) -> Result<(), String> {
    let worker = orders.worker;
    let recorder = Recorder::create(&orders.folder, &worker.to_string());
    let recorder = Arc::new(recorder.map_err(|error| error.to_string())?);
    let called = format!("{NAME_OF_WORKERS}{worker}");
    // Of every other one, so that both are tried.
    let clients = orders.access.clients(&called, worker.place.is_multiple_of(2));
    let clients = clients.map_err(|error| error.to_string())?;
    let masters = Masters::new(clients.iter().cloned()).map_err(|error| error.to_string())?;
    let finish = when_stdin_closes(subscriber::install());
    let pulse = tokio::spawn(take_pulse(worker, Arc::clone(&recorder)));
    let mut all = JoinSet::new();
    let steward = tokio::spawn(Steward::new(&clients, orders).run());
    let followed =
        Following::all(orders, &clients, &recorder).map_err(|error| error.to_string())?;
    let name = name_of_process(&clients, worker).await;
    for contender in contenders(orders, &clients, &recorder, &finish) {
        all.spawn(contender.map_err(|error| error.to_string())?.run());
    }
    writeln!(io::stdout(), "{READY} {name}").map_err(|error| error.to_string())?;

    let mut told = finish;
    told.wait_for(|finish| *finish).await.map_err(|error| error.to_string())?;
    let ended = timeout(LAST_WAIT, join(&mut all)).await;
    ended.map_err(|_elapsed| format!("still waits for locks after {LAST_WAIT:?}"))??;
    for following in followed {
        let ended = following.end(LAST_WAIT).await;
        ended.map_err(|_elapsed| format!("is still shown a leader after {LAST_WAIT:?}"))?;
    }
    steward.abort();
    let shutdown = masters.shutdown(DRAIN).await;
    pulse.abort();
    let unfinished = shutdown.err().map_or(0, |error| error.unfinished);
    recorder.note(Event::ShutDown { worker, unfinished });
    Ok(())
}

/// What all holder ids of this process begin with, as a lock of its own shows.
async fn name_of_process(clients: &[Client], worker: Worker) -> String {
    for client in clients.iter().cycle() {
        let lock = client.lock(format!("name of {worker}")).on_outage(OnOutage::Fail);
        if let Ok(Some(guard)) = lock.try_acquire().await {
            let name = guard.holder_id().split(':').next().map(str::to_owned);
            return name.unwrap_or_default();
        }
        sleep(PULSE).await;
    }
    unreachable!("invariant: there are masters")
}

fn contenders(
    orders: &Orders,
    clients: &[Client],
    recorder: &Arc<Recorder>,
    finish: &watch::Receiver<bool>,
) -> impl Iterator<Item = Result<Contender, ConfigError>> {
    let Worker { place, life } = orders.worker;
    let machine = Arc::new(Machine { finish: finish.clone() });
    let witnesses = Arc::new(Witnesses { folder: orders.folder.clone() });
    let prizes = orders.prizes.all().iter();
    let prizes = prizes.flat_map(|prize| [*prize; CONTENDERS_FOR_A_LOCK]);
    (0..).zip(prizes).map(move |(number, prize)| {
        let (clock, store, observer) = (machine.clone(), witnesses.clone(), recorder.clone());
        let targets = targets::of(&prize, clients, orders)?;
        // The first of those that a worker has.
        let sets = number % 2 == 0;
        let latches = targets::latches(&prize, clients, orders, sets);
        Ok(Contender {
            prize,
            targets,
            latches,
            job: jobs::of(&prize, clients, orders)?,
            recorder: recorder.clone(),
            random: Random::branch(orders.seed, &[place, life, number]),
            machine: machine.clone(),
            lane: Lane::new(orders.worker, number, clock, store, observer),
            blocks: orders.blocks,
        })
    })
}

async fn join(contenders: &mut JoinSet<()>) -> Result<(), String> {
    while let Some(ended) = contenders.join_next().await {
        ended.map_err(|panic| format!("a contender ended early: {panic}"))?;
    }
    Ok(())
}

/// Also when the parent dies, so that no worker outlives it for long.
fn when_stdin_closes(panics: &'static AtomicBool) -> watch::Receiver<bool> {
    let (tell, told) = watch::channel(false);
    thread::spawn(move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            panics.store(line == PANIC, Ordering::Relaxed);
        }
        panics.store(false, Ordering::Relaxed);
        tell.send_replace(true);
    });
    told
}

/// Notes when this runtime was run, and when not: a checker must not blame the library for that.
async fn take_pulse(worker: Worker, recorder: Arc<Recorder>) {
    let mut told = time::now();
    loop {
        let due = time::now() + PULSE;
        sleep(PULSE).await;
        if time::now().since(due) > IRREGULAR {
            recorder.note(Event::Stalled { worker, from: due });
        }
        if due.since(told) > PULSE_TOLD {
            recorder.note(Event::Pulse { worker });
            told = due;
        }
    }
}

/// What their connections are called begins with this.
pub(crate) const NAME_OF_WORKERS: &str = "chaos-";
/// More than one, so that there are waiters of the same lock within one process.
const CONTENDERS_FOR_A_LOCK: usize = 2;
const PULSE: Duration = Duration::from_millis(10);
/// It is told no more often than that.
const PULSE_TOLD: Duration = Duration::from_millis(250);
/// Far above the precision of tokio's timers.
const IRREGULAR: Duration = Duration::from_millis(20);
/// More than a waiter may wait while nothing is wrong, whatever is done to the servers; the parent waits for less.
const LAST_WAIT: Duration = Duration::from_secs(120);
/// Longer than any lease: after that there is nothing to be released.
const DRAIN: Duration = Duration::from_secs(3);
