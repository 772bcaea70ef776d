//! A run: servers, traffic and faults, and what the checkers say of it.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::{
    args::{NO_LOCK, Options},
    check::wakeups,
    faults::{Interrupt, Interrupted, calm},
    history::{Event, History, Worker},
    profile::{self, Course},
    recorder::Recorder,
    report::{self, Findings},
    traffic::{Access, Fleet, LONGEST_LEASE, Orders, Prizes},
};

/// Runs, reports, and says by the exit code how it went.
pub(crate) fn main(options: &Options) -> ExitCode {
    match run_and_report(options) {
        Ok(code) => code,
        Err(Stopped::Interrupted) => {
            eprintln!("interrupted; everything was ended");
            ExitCode::from(EXIT_INTERRUPTED)
        }
        Err(Stopped::Failed(error)) => {
            eprintln!("the run came to nothing: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Why a run has no result.
#[derive(Debug)]
enum Stopped {
    Interrupted,
    Failed(io::Error),
}

impl From<Interrupted> for Stopped {
    fn from(_: Interrupted) -> Self {
        Self::Interrupted
    }
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

fn run_and_report(options: &Options) -> Result<ExitCode, Stopped> {
    let settings = &options.settings;
    let mut out = io::stdout();
    report::announce(&mut out, settings)?;
    let folder = tempfile::Builder::new().prefix("palisade-chaos-").tempdir()?;
    run(options, folder.path(), &Interrupt::on_signals()?)?;
    let history = History::read(folder.path())?;
    let findings = Findings::of(&history);
    report::write(&mut out, &history, &findings)?;
    if options.keep || !findings.are_none() {
        let kept = keep(folder, &history)?;
        writeln!(out, "history: {}", kept.display())?;
        writeln!(out, "picture: {}", report::draw(&kept, &history, &findings)?.display())?;
    }
    report::announce(&mut out, settings)?;
    Ok(findings.exit_code())
}

/// The records of all processes are in `folder` afterwards. All of them have ended in any case.
fn run(options: &Options, folder: &Path, interrupt: &Interrupt) -> Result<(), Stopped> {
    let settings = &options.settings;
    let recorder = Recorder::create(folder, "parent")?;
    let profile = profile::of(settings);
    let ground = profile.start(settings)?;
    recorder.note(Event::RunBegan(settings.clone()));
    if let Some((fault, why)) = ground.left_out() {
        recorder.note(Event::LeftOut { fault: fault.to_owned(), why });
    }
    let mut fleet =
        Fleet::start(&recorder, orders(options, folder, ground.access(), profile.prizes()))?;
    let whole = Duration::from_secs(settings.secs);
    let end = Instant::now() + whole;
    if options.blocking {
        recorder.note(Event::Undisturbed);
        interrupt.sleep_until(end - calm(whole))?;
    } else {
        let course = Course { settings, recorder: &recorder, interrupt, began: Instant::now() };
        ground.torment(&course, &mut fleet)?;
    }
    recorder.note(Event::Calm);
    // On a busy machine, or where masters were waited for, the faults end late.
    interrupt.sleep_until(end.max(Instant::now() + calm(whole)))?;
    recorder.note(Event::Finishing);
    let served = LONGEST_LEASE + wakeups::POLL_CAP + wakeups::SLACK;
    let dead = fleet.finish(served + Duration::from_millis(settings.absent_ms) + MARGIN);
    // What killed workers held is let go of by the servers alone.
    interrupt.sleep_until(Instant::now() + LONGEST_LEASE + MARGIN)?;
    for left in ground.leftovers(&dead) {
        recorder.note(Event::Left(left));
    }
    Ok(())
}

fn orders(options: &Options, folder: &Path, access: &Access, prizes: Prizes) -> Vec<Orders> {
    let settings = &options.settings;
    let one = |place| Orders {
        worker: Worker { place, life: 0 },
        seed: settings.seed,
        access: access.clone(),
        prizes,
        folder: folder.to_owned(),
        ignores_lock: settings.planted.as_deref() == Some(NO_LOCK) && place == 0,
        blocks: options.blocking,
        workers: settings.workers,
        dead: Vec::new(),
    };
    (0..settings.workers).map(one).collect()
}

/// Instead of removing the folder.
fn keep(folder: TempDir, history: &History) -> io::Result<PathBuf> {
    let file = folder.keep().join("all.history");
    history.write_file(&file)?;
    Ok(file)
}

const EXIT_INTERRUPTED: u8 = 130;
/// For processes to start and to end on a busy machine.
const MARGIN: Duration = Duration::from_secs(1);
