//! The worker process: one caller that adds its numbers, one after the other.

use std::{
    io::{self, Write},
    net::SocketAddr,
    ops::Range,
    process::ExitCode,
    time::{Duration, Instant},
};

use checkers::additions::{Addition, AdditionAnswer};
use palisade::{Client, Lease, LockGuard, error::GuardedError, guarded::Script};
use serde::{Deserialize, Serialize};
use testkit::{Connection, Reply};
use tokio::time::sleep;

use super::{
    plan::{Halted, PlannedAddition},
    words::{LEASE, Said, decode, encode, key, lock},
};

/// All that it is told. Passed as one argument.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Adding {
    pub(super) seed: u64,
    /// Those on its server.
    pub(super) sets: Range<u32>,
    /// Of its own wire to that.
    pub(super) wire: SocketAddr,
    /// The control: what is written is not guarded.
    pub(super) plain: bool,
}

/// Adds each number that it is given, until stdin is closed.
pub(crate) fn work(adding: &Adding) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime
        .map_err(|error| error.to_string())
        .and_then(|runtime| runtime.block_on(live(adding)));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("worker of {:?}: {problem}", adding.sets);
            ExitCode::FAILURE
        }
    }
}

async fn live(adding: &Adding) -> Result<(), String> {
    let url = format!("redis://{}", adding.wire);
    let client = Client::builder().url(&url).node_timeout(ANSWER_LIMIT).build();
    let client = client.map_err(|error| error.to_string())?;
    let mut caller = Caller { adding, client, by_hand: None };
    say(&Said::Ready)?;
    while let Some(line) = hear()? {
        let number = line.parse().map_err(|_not_a_number| format!("not understood: {line}"))?;
        let addition = caller.add(number).await?;
        say(&Said::Told(addition))?;
    }
    // What cannot be released ends with its lease.
    drop(caller.client.shutdown(LEASE).await);
    Ok(())
}

struct Caller<'a> {
    adding: &'a Adding,
    client: Client,
    /// For reads, and for what is written without a guard.
    by_hand: Option<Connection>,
}

impl Caller<'_> {
    /// Until it was sent once.
    async fn add(&mut self, number: u64) -> Result<Addition, String> {
        let planned = PlannedAddition::draw(self.adding.seed, number, &self.adding.sets);
        let set = planned.set;
        let deadline = Instant::now() + ADD_LIMIT;
        while Instant::now() < deadline {
            if let Some(answer) = self.try_to_add(number, planned).await? {
                return Ok(Addition { set, number, answer });
            }
            sleep(PAUSE).await;
        }
        Err(format!("cannot add to set {set} for {ADD_LIMIT:?}"))
    }

    /// None if nothing was tried to be written. Writers that look before they write have looked, in any case.
    async fn try_to_add(
        &mut self,
        number: u64,
        planned: PlannedAddition,
    ) -> Result<Option<AdditionAnswer>, String> {
        let PlannedAddition { set, hold, halt } = planned;
        let lock = self.client.lock(lock(set)).with_lease(Lease::WatchdogOf(LEASE));
        let Ok(guard) = lock.acquire().await else { return Ok(None) };
        let Ok(value) = self.by_hand(&["GET", &key(set)]) else { return Ok(None) };
        let mut numbers = match value {
            Reply::Nil => Vec::new(),
            Reply::Error(_) => return Ok(None),
            value => decode(&value.to_string()).ok_or("a set cannot be read")?,
        };
        sleep(hold).await;
        if guard.ensure_valid().is_err() {
            return Ok(None);
        }
        if let Some(halt) = halt {
            say(&Said::halt(set, halt))?;
            hear()?;
            if halt.what == Halted::Process {
                // As pools look at what has not been used for long.
                self.by_hand = None;
            }
        }
        numbers.push(number);
        let value = encode(&numbers);
        Ok(Some(match self.adding.plain {
            false => write_guarded(&guard, set, &value).await,
            true => self.write_plain(set, &value),
        }))
    }

    /// An answer that does not come is waited for, however long a hold stands.
    fn write_plain(&mut self, set: u32, value: &str) -> AdditionAnswer {
        match self.by_hand(&["SET", &key(set), value]) {
            Ok(Reply::Error(_)) => AdditionAnswer::NotSent,
            Ok(_) => AdditionAnswer::Acknowledged,
            Err(_) => AdditionAnswer::Unknown,
        }
    }

    /// By a connection that is opened anew where it broke.
    fn by_hand(&mut self, command: &[&str]) -> io::Result<Reply> {
        if self.by_hand.is_none() {
            self.by_hand = Some(Connection::open(self.adding.wire, BY_HAND_LIMIT)?);
        }
        let connection = self.by_hand.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let replied = connection.command(command);
        if replied.is_err() {
            self.by_hand = None;
        }
        replied
    }
}

async fn write_guarded(guard: &LockGuard, set: u32, value: &str) -> AdditionAnswer {
    let write = Script::new("return redis.call('SET', KEYS[1], ARGV[1])");
    match guard.script(&write).key(key(set)).arg(value).invoke::<()>().await {
        Ok(()) => AdditionAnswer::Acknowledged,
        Err(GuardedError::Lost(_)) => AdditionAnswer::Lost,
        Err(GuardedError::NotHeld { .. } | GuardedError::NotHeldThere { .. }) => {
            AdditionAnswer::NotHeld
        }
        Err(GuardedError::NotDone { .. } | GuardedError::Config(_)) => AdditionAnswer::NotSent,
        Err(_) => AdditionAnswer::Unknown,
    }
}

fn say(said: &Said) -> Result<(), String> {
    let line = serde_json::to_string(said).map_err(|error| error.to_string())?;
    writeln!(io::stdout(), "{line}").map_err(|error| error.to_string())
}

/// Blocks, as all of a process does that is stopped. The watchdog has a thread of its own. None if the parent says no more.
fn hear() -> Result<Option<String>, String> {
    io::stdin().lines().next().transpose().map_err(|error| error.to_string())
}

const PAUSE: Duration = Duration::from_millis(10);
/// So long that some of the calls that are held up are answered.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// Longer than anything is held up.
const BY_HAND_LIMIT: Duration = Duration::from_secs(60);
const ADD_LIMIT: Duration = Duration::from_secs(60);
