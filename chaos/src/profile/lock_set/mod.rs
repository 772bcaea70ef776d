//! Sets that are read, changed and written back as a whole under locks, on masters that forget nothing and are killed.
//! Of each hundred holds one stands still between its last look and its write, until it has ended and another has
//! written. What was acknowledged must be there in the end. Written by guarded scripts it is; written otherwise, as a
//! control, it is not.
//!
//! It counts additions and not seconds, and judges data and not holds. So it shares neither workers nor history with
//! the other profiles.
//!
//! * `options`: how a run is made. Pure.
//! * `plan`: what happens to each addition, by the seed. Pure.
//! * `words`: what parent and workers say to each other. Pure.
//! * `worker`: the process that adds.
//! * `stores`: the servers and their end.
//! * `post`: a worker as the parent sees it.
//! * `summary`: what a run has shown.

mod options;
mod plan;
mod post;
mod stores;
mod summary;
mod words;
mod worker;

use std::{
    collections::BTreeMap,
    io::{self, Write},
    panic::resume_unwind,
    process::ExitCode,
    sync::Mutex,
    thread::{self, ScopedJoinHandle},
    time::Instant,
};

use checkers::additions::Additions;
pub(crate) use options::SetOptions;
use post::{Minutes, Post, Trouble};
use stores::Stores;
use summary::Summary;
pub(crate) use worker::{Adding, work};

use crate::faults::Interrupt;

/// What the command line calls it.
pub(crate) const NAME: &str = "lock-set";

/// The hidden command by which its workers are started.
pub(crate) const ADDER: &str = "adder";

/// Runs, reports, and says by the exit code how it went.
pub(crate) fn main(options: &SetOptions) -> ExitCode {
    match run_and_report(options) {
        Ok(code) => code,
        Err(Trouble::Interrupted) => {
            eprintln!("interrupted; everything was ended");
            ExitCode::from(EXIT_INTERRUPTED)
        }
        Err(Trouble::Failed(error)) => {
            eprintln!("the run came to nothing: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run_and_report(options: &SetOptions) -> Result<ExitCode, Trouble> {
    let mut out = io::stdout();
    writeln!(out, "again: {options}")?;
    let began = Instant::now();
    let stores = Stores::start(options.masters, options.sets);
    let (minutes, kills) = run(options, &stores, &Interrupt::on_signals()?)?;
    let found = Additions::judge(&minutes.additions, &in_the_end(&stores)?);
    let took = began.elapsed();
    let summary = Summary { options, found, minutes, kills, took };
    writeln!(out, "{summary}again: {options}")?;
    Ok(summary.exit_code())
}

/// Until all workers have ended.
fn run(
    options: &SetOptions,
    stores: &Stores,
    interrupt: &Interrupt,
) -> Result<(Minutes, u32), Trouble> {
    let posts = (0..options.workers).map(|place| post(options, stores, place));
    let posts = posts.collect::<Result<Vec<_>, _>>()?;
    let (numbers, over) = (Mutex::new(0..options.additions), Interrupt::default());
    thread::scope(|scope| {
        let kills = options.kills.then(|| scope.spawn(|| stores.torment(options.seed, &over)));
        let (numbers, tended) = (&numbers, posts.into_iter());
        let tended: Vec<_> =
            tended.map(|post| scope.spawn(|| post.tend(numbers, stores, interrupt))).collect();
        let minutes = tended.into_iter().map(joined).collect::<Vec<_>>();
        over.raise();
        let kills = kills.map_or(0, joined);
        Ok((all_of(minutes)?, kills))
    })
}

fn post(options: &SetOptions, stores: &Stores, place: u32) -> Result<Post, Trouble> {
    let (sets, wire) = stores.place(place);
    let adding = Adding { seed: options.seed, sets, wire: wire.addr(), plain: options.plain };
    Post::start(ADDER, &adding, wire)
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

fn all_of(minutes: Vec<Result<Minutes, Trouble>>) -> Result<Minutes, Trouble> {
    minutes.into_iter().try_fold(Minutes::default(), |all, of_one| Ok(all.and(of_one?)))
}

fn in_the_end(stores: &Stores) -> Result<BTreeMap<u32, Vec<u64>>, Trouble> {
    let numbers = |set| stores.numbers(set).map(|numbers| (set, numbers));
    let all: Option<_> = stores.sets().map(numbers).collect();
    all.ok_or_else(|| Trouble::Failed(io::Error::other("a set cannot be read")))
}

const EXIT_INTERRUPTED: u8 = 130;
