//! A worker, as the parent sees it: its process, its wire, and what is done to both.

use std::{
    io,
    ops::Range,
    os::unix::process::CommandExt,
    process::Command,
    sync::{Mutex, PoisonError, mpsc::RecvTimeoutError},
    time::{Duration, Instant},
};

use checkers::additions::Addition;
use testkit::{Actor, Fault, FaultProxy, Way};

use super::{
    stores::Stores,
    words::{GO, Said},
    worker::Adding,
};
use crate::faults::{Interrupt, Interrupted};

/// Killed and reaped on drop.
#[derive(Debug)]
pub(super) struct Post {
    process: Actor,
    wire: FaultProxy,
}

/// What a worker has told in the end, and what was done to it.
#[derive(Debug, Default)]
pub(super) struct Minutes {
    pub(super) additions: Vec<Addition>,
    pub(super) stopped: u32,
    pub(super) held_up: u32,
    /// In how many of these another wrote to the set.
    pub(super) overtaken: u32,
}

impl Minutes {
    /// Those of both.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.additions.extend(other.additions);
        self.stopped += other.stopped;
        self.held_up += other.held_up;
        self.overtaken += other.overtaken;
        self
    }
}

/// Why there is nothing to be told.
#[derive(Debug)]
pub(super) enum Trouble {
    Interrupted,
    Failed(io::Error),
}

impl Post {
    /// Starts a process by the hidden command `word` of this program, and waits until it is ready.
    ///
    /// # Errors
    /// It does not start.
    pub(super) fn start(word: &str, adding: &Adding, wire: FaultProxy) -> Result<Self, Trouble> {
        let mut command = Command::new(std::env::current_exe()?);
        // In a group of its own: Ctrl-C is for the parent, which knows what to end and how.
        command.arg(word).arg(serde_json::to_string(adding).map_err(io::Error::other)?);
        let process = Actor::spawn_command({
            command.process_group(0);
            command
        });
        let post = Self { process, wire };
        match post.hear(START_LIMIT)? {
            Some(Said::Ready) => Ok(post),
            said => Err(failed(format!("a worker did not start: {said:?}"))),
        }
    }

    /// Has it add these numbers, of which other workers take some, too, and halts it where it asks for that.
    ///
    /// # Errors
    /// It ends before, or is silent.
    pub(super) fn tend(
        mut self,
        numbers: &Mutex<Range<u64>>,
        stores: &Stores,
        interrupt: &Interrupt,
    ) -> Result<Minutes, Trouble> {
        let mut minutes = Minutes::default();
        while let Some(number) = next(numbers) {
            self.process.send(&number.to_string())?;
            let addition = self.add(&mut minutes, stores, interrupt)?;
            minutes.additions.push(addition);
        }
        self.process.close();
        match self.process.wait(END_LIMIT) {
            Some(status) if status.success() => Ok(minutes),
            ended => Err(failed(format!("a worker did not end as it should: {ended:?}"))),
        }
    }

    /// Until it has told what came of it.
    fn add(
        &mut self,
        minutes: &mut Minutes,
        stores: &Stores,
        interrupt: &Interrupt,
    ) -> Result<Addition, Trouble> {
        let limit = Instant::now() + SILENCE_LIMIT;
        while Instant::now() < limit {
            interrupt.sleep_until(Instant::now())?;
            match self.hear(LOOK)? {
                Some(Said::Told(addition)) => return Ok(addition),
                Some(Said::StopMe { set, ms }) => {
                    self.process.freeze();
                    let overtaken = until_overtaken(stores, set, ms, interrupt);
                    self.process.thaw();
                    minutes.stopped += 1;
                    minutes.overtaken += u32::from(overtaken?);
                    self.process.send(GO)?;
                }
                Some(Said::HoldUp { set, ms }) => {
                    self.wire.set(Fault::Stall(Way::Requests));
                    self.process.send(GO)?;
                    let overtaken = until_overtaken(stores, set, ms, interrupt);
                    self.wire.heal();
                    minutes.held_up += 1;
                    minutes.overtaken += u32::from(overtaken?);
                }
                Some(Said::Ready) => return Err(failed("a worker began twice".to_owned())),
                None => {}
            }
        }
        Err(failed(format!("a worker tells nothing of an addition for {SILENCE_LIMIT:?}")))
    }

    /// None if it says nothing for so long.
    fn hear(&self, limit: Duration) -> Result<Option<Said>, Trouble> {
        match self.process.recv(limit) {
            Ok(line) => Ok(Some(serde_json::from_str(&line).map_err(io::Error::other)?)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(failed("a worker is gone".to_owned())),
        }
    }
}

fn next(numbers: &Mutex<Range<u64>>) -> Option<u64> {
    numbers.lock().unwrap_or_else(PoisonError::into_inner).next()
}

/// For so long at least, and then until another has written to the set, unless none does. Whether one has.
fn until_overtaken(
    stores: &Stores,
    set: u32,
    ms: u64,
    interrupt: &Interrupt,
) -> Result<bool, Interrupted> {
    let before = stores.value(set);
    let least = Instant::now() + Duration::from_millis(ms);
    interrupt.sleep_until(least)?;
    while stores.value(set) == before {
        if least.elapsed() > OVERTAKEN_LIMIT {
            return Ok(false);
        }
        interrupt.sleep_until(Instant::now() + POLL)?;
    }
    Ok(true)
}

impl From<Interrupted> for Trouble {
    fn from(_: Interrupted) -> Self {
        Self::Interrupted
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

fn failed(what: String) -> Trouble {
    Trouble::Failed(io::Error::other(what))
}

const START_LIMIT: Duration = Duration::from_secs(30);
/// How often it is seen that the run is to end.
const LOOK: Duration = Duration::from_millis(200);
/// More than a worker takes for an addition, whatever is done to it.
const SILENCE_LIMIT: Duration = Duration::from_secs(120);
const END_LIMIT: Duration = Duration::from_secs(30);
const OVERTAKEN_LIMIT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(50);
