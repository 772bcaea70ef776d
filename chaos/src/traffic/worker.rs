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

use palisade::{Client, Masters, error::ConfigError};
use serde::{Deserialize, Serialize};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};
use workload::{Lane, Target, lock_on_all};

use super::{
    contender::Contender,
    intent::{CLOCK_SKEW, LONGEST_LEASE, PRIZES, Prize},
    subscriber::{self, Unwinding},
    witness::Witnesses,
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
    pub(crate) urls: Vec<String>,
    /// For its records and the witnesses.
    pub(crate) folder: PathBuf,
    /// The planted fault: it takes locks that nobody else wants.
    pub(crate) ignores_lock: bool,
    /// It blocks its runtime now and then.
    pub(crate) blocks: bool,
}

/// Tells a worker that whoever hears the library's events panics from now on.
pub(crate) const PANIC: &str = "panic";
/// Tells it that this is over.
pub(crate) const CALM_DOWN: &str = "calm";

/// What a worker says when it works.
pub(super) const READY: &str = "ready";

/// Works until stdin is closed; what has been asked for by then is waited for.
pub(crate) fn work(orders: &Orders) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime.map_err(|error| error.to_string()).and_then(|rt| rt.block_on(live(orders)));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{}: {problem}", orders.worker);
            ExitCode::FAILURE
        }
    }
}

async fn live(orders: &Orders) -> Result<(), String> {
    let worker = orders.worker;
    let recorder = Recorder::create(&orders.folder, &worker.to_string());
    let recorder = Arc::new(recorder.map_err(|error| error.to_string())?);
    let masters = connect(orders).map_err(|error| error.to_string())?;
    let finish = when_stdin_closes(subscriber::install());
    let pulse = tokio::spawn(take_pulse(worker, Arc::clone(&recorder)));
    let mut all = JoinSet::new();
    for contender in contenders(orders, &masters, &recorder, &finish) {
        all.spawn(contender.run());
    }
    writeln!(io::stdout(), "{READY}").map_err(|error| error.to_string())?;

    let mut told = finish;
    told.wait_for(|finish| *finish).await.map_err(|error| error.to_string())?;
    let ended = timeout(LAST_WAIT, join(&mut all)).await;
    ended.map_err(|_elapsed| format!("still waits for locks after {LAST_WAIT:?}"))??;
    let shutdown = masters.shutdown(DRAIN).await;
    pulse.abort();
    let unfinished = shutdown.err().map_or(0, |error| error.unfinished);
    recorder.note(Event::ShutDown { worker, unfinished });
    Ok(())
}

fn connect(orders: &Orders) -> Result<Masters, ConfigError> {
    let client = |url: &String| {
        let client = Client::builder().url(url).name(&format!("chaos-{}", orders.worker));
        client.max_lease(LONGEST_LEASE).clock_skew(CLOCK_SKEW).build()
    };
    Masters::new(orders.urls.iter().map(client).collect::<Result<Vec<_>, _>>()?)
}

fn contenders(
    orders: &Orders,
    masters: &Masters,
    recorder: &Arc<Recorder>,
    finish: &watch::Receiver<bool>,
) -> impl Iterator<Item = Contender> {
    let Worker { place, life } = orders.worker;
    let machine = Arc::new(Machine { finish: finish.clone() });
    let witnesses = Arc::new(Witnesses { folder: orders.folder.clone() });
    let prizes = PRIZES.into_iter().flat_map(|prize| [prize; CONTENDERS_FOR_A_LOCK]);
    (0..).zip(prizes).map(move |(number, prize)| {
        let (clock, store, observer) = (machine.clone(), witnesses.clone(), recorder.clone());
        Contender {
            prize,
            target: target(orders, prize, masters),
            random: Random::branch(orders.seed, &[place, life, number]),
            machine: machine.clone(),
            lane: Lane::new(orders.worker, number, clock, store, observer),
            blocks: orders.blocks,
        }
    })
}

/// For the planted fault behind the name is a lock that nobody else wants. It has no tokens: those of
/// another counter would be refused by the witness.
fn target(orders: &Orders, Prize { name, kind, fenced, .. }: Prize, masters: &Masters) -> Target {
    let lock = if orders.ignores_lock {
        lock_on_all(masters, kind, false, &format!("{name} of {}", orders.worker))
    } else {
        lock_on_all(masters, kind, fenced, name)
    };
    Target { name, kind, on: Vec::new(), shared: false, lock: Arc::new(Unwinding(lock)) }
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

/// Notes when this runtime was not run: a checker must not blame the library for that.
async fn take_pulse(worker: Worker, recorder: Arc<Recorder>) {
    loop {
        let due = time::now() + PULSE;
        sleep(PULSE).await;
        if time::now().since(due) > IRREGULAR {
            recorder.note(Event::Stalled { worker, from: due });
        }
    }
}

/// More than one, so that there are waiters of the same lock within one process.
const CONTENDERS_FOR_A_LOCK: usize = 2;
const PULSE: Duration = Duration::from_millis(10);
/// Far above the precision of tokio's timers.
const IRREGULAR: Duration = Duration::from_millis(20);
/// A good deal more than a waiter may wait while nothing is wrong.
const LAST_WAIT: Duration = Duration::from_secs(20);
/// Longer than any lease: after that there is nothing to be released.
const DRAIN: Duration = Duration::from_secs(3);
