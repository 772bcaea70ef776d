//! What one process shares between all its clients, and what each client is to its locks.
//!
//! A [`Process`] has the identity, the clock, the watchdog and the composites' lines. A client has
//! [`NodeServices`]: one node with all that a lock needs there. Both know claims by what they list of them
//! (`listed`), not what is in them.
//!
//! ```text
//! Process ─┬─ uuid ─► holder ids, "uuid:number", never used twice
//!          ├─ clock, random, watchdog, lines of composites
//!          └─ twins: names that share keys
//! NodeServices (a client) ─┬─ node, notifier, lines of its locks
//!                          ├─ attempts: asked for, not granted yet ──won──► live: held, by channel
//!                          └─ closed: after a shutdown nothing is granted
//! ```
//!
//! # Invariants
//! - **A holder id is drawn once.** In a child by `fork()` the process is another: what belongs to the parent does
//!   nothing there (`home.rs`).
//! - **A shutdown sees all**: an attempt is in one list or the other from before its first byte until its release
//!   is decided (`under_way`, `live`).
//! - **A server that is back, or has lost its data, is asked at once** about what is held there (`returning`).
//! - **Chance and time come from here alone**, so that a simulated process repeats.
//!
//! # What proves them
//! Tables at the end of `twins`, `live` and `listed`. In `tests/it`: `mutex::ending` and `holds` (shutdown),
//! `regressions::fork`, `processes`, `watchdog::returning`, `watchdog::sharing`, `regressions::twins`. In the
//! simulation: I5 (news within 250 ms), I6. Planted: `no-hurry`, `watchdog-on-users-runtime`.
//!
//! # To change…
//! - what a client shares with its locks: `services`; its lines, of which it does not know what they offer: `any_lines`
//! - what a shutdown ends: `under_way`, `live`, then `watchdog/drain.rs`
//! - what happens when a server is back: `returning`
//! - what users are told of holds without a word to a server: `held_lock`
//! - how a process is known: this file; across `fork()`: `home.rs`

mod any_lines;
mod counted_acquire;
mod gate;
mod held_lock;
mod listed;
mod live;
mod occasion;
mod returning;
mod services;
mod twins;
mod under_way;

#[cfg(feature = "embedded")]
use std::collections::BTreeMap;
use std::{
    io,
    sync::{
        Arc, Mutex, OnceLock, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use any_lines::AnyLines;
pub(crate) use gate::Gate;
pub use held_lock::{ClientStats, HeldLock};
pub(crate) use listed::{Listed, each_once};
pub(crate) use occasion::Occasion;
pub(crate) use services::{NodeServices, ServiceSettings};
use twins::Twins;
use uuid::Uuid;

use crate::{
    clock::{BootClock, SharedClock},
    error::NodeId,
    home::{Home, PerProcess},
    kind::Holder,
    random::{Random, SharedRandom},
    watchdog::Watchdog,
    wire::key,
};

/// The identity, the clock, the watchdog and the composites' lines of a process.
#[derive(Debug)]
pub(crate) struct Process {
    /// What is of another process does nothing here.
    pub(crate) home: Home,
    uuid: Uuid,
    /// The uuid as text, and a colon.
    holder_prefix: String,
    next_holder: AtomicU64,
    next_nonce: AtomicU64,
    next_id: AtomicU64,
    next_connector: AtomicU64,
    next_announcement: AtomicU64,
    pub(crate) clock: SharedClock,
    pub(crate) random: SharedRandom,
    pub(crate) watchdog: Watchdog,
    /// Composites wait here; a lock on one node waits in the lines of its client.
    pub(crate) lines: AnyLines,
    twins: Mutex<Twins>,
    /// Moves this process' renewals away from those of others on the same machine.
    pub(crate) renewal_phase: Duration,
}

impl Process {
    /// The one that all clients share unless they bring a clock of their own.
    pub(crate) fn global() -> io::Result<Arc<Self>> {
        static GLOBAL: PerProcess<OnceLock<Arc<Process>>> = PerProcess::new();
        let global = GLOBAL.get();
        if let Some(process) = global.get() {
            return Ok(process.clone());
        }
        let process = Self::on_own_thread(Arc::new(BootClock))?;
        Ok(global.get_or_init(|| process).clone())
    }

    /// The one of all clients that were given this clock.
    pub(crate) fn with_clock(clock: SharedClock) -> io::Result<Arc<Self>> {
        static WITH_CLOCKS: PerProcess<Mutex<Vec<Weak<Process>>>> = PerProcess::new();
        let mut known = WITH_CLOCKS.get().lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|process| process.strong_count() > 0);
        let mut live = known.iter().filter_map(Weak::upgrade);
        if let Some(process) = live.find(|process| Arc::ptr_eq(&process.clock, &clock)) {
            return Ok(process);
        }
        let process = Self::on_own_thread(clock)?;
        known.push(Arc::downgrade(&process));
        Ok(process)
    }

    fn on_own_thread(clock: SharedClock) -> io::Result<Arc<Self>> {
        let random = Arc::new(Random::of_system());
        #[cfg(planted_bugs)]
        if planted!(WatchdogOnUsersRuntime) {
            let watchdog = Watchdog::on_current_runtime(clock.clone(), random.clone());
            return Ok(Self::new(Uuid::new_v4(), clock, random, watchdog));
        }
        let watchdog = Watchdog::on_own_thread(clock.clone(), random.clone())?;
        Ok(Self::new(Uuid::new_v4(), clock, random, watchdog))
    }

    /// The one that lives on the current runtime and follows tokio's clock. All its users share
    /// it, so that composites over several servers find one clock.
    #[cfg(feature = "embedded")]
    pub(crate) fn here() -> Arc<Self> {
        static HERE: PerProcess<Mutex<BTreeMap<String, Weak<Process>>>> = PerProcess::new();
        let runtime = tokio::runtime::Handle::current().id().to_string();
        let mut here = HERE.get().lock().unwrap_or_else(PoisonError::into_inner);
        here.retain(|_, process| process.strong_count() > 0);
        if let Some(process) = here.get(&runtime).and_then(Weak::upgrade) {
            return process;
        }
        let clock: SharedClock = Arc::new(crate::clock::TokioClock::new());
        let random = Arc::new(Random::of_system());
        let watchdog = Watchdog::on_current_runtime(clock.clone(), random.clone());
        let process = Self::new(Uuid::new_v4(), clock, random, watchdog);
        here.insert(runtime, Arc::downgrade(&process));
        process
    }

    /// One of a simulation: nothing in it is left to chance, its identity included. Its watchdog
    /// is on the current runtime and sleeps by a clock of its own, so that it can be late.
    #[cfg(feature = "embedded")]
    pub(crate) fn simulated(clock: SharedClock, watchdog: SharedClock, seed: u64) -> Arc<Self> {
        let random = Arc::new(Random::seeded(seed));
        let uuid = Uuid::from_u64_pair(random.next(), random.next());
        let watchdog = Watchdog::on_current_runtime(watchdog, random.clone());
        Self::new(uuid, clock, random, watchdog)
    }

    fn new(uuid: Uuid, clock: SharedClock, random: SharedRandom, watchdog: Watchdog) -> Arc<Self> {
        // Of version 8, by which a queue tells our waiters from Redisson's, whose uuids have version 4: only
        // ours look by themselves (`kinds/fair/silent.lua`).
        let uuid = uuid::Builder::from_custom_bytes(uuid.into_bytes()).into_uuid();
        #[cfg(planted_bugs)]
        let clock = crate::planted::wall_clock::measured_by(clock);
        Arc::new(Self {
            home: Home::here(),
            uuid,
            holder_prefix: format!("{uuid}:"),
            next_holder: AtomicU64::new(1),
            next_nonce: AtomicU64::new(1),
            next_id: AtomicU64::new(1),
            next_connector: AtomicU64::new(1),
            next_announcement: AtomicU64::new(1),
            renewal_phase: random.within(Duration::ZERO..Duration::from_secs(1)),
            clock,
            random,
            watchdog,
            lines: AnyLines::default(),
            twins: Mutex::default(),
        })
    }

    /// What all holder ids of this process begin with.
    pub(crate) fn uuid(&self) -> Uuid {
        self.uuid
    }

    /// Whether a holder id, or that of a permit, is one of this process' own.
    pub(crate) fn made(&self, holder: &Holder) -> bool {
        holder.is_of(self.uuid) && self.home.is_here()
    }

    /// Takes note that a name is used as a lock of this sort. The name that has keys in common with it, if that
    /// is used, too.
    pub(crate) fn twin(
        &self,
        node: &NodeId,
        sort: &'static str,
        name: &Arc<str>,
    ) -> Option<String> {
        self.twins.lock().unwrap_or_else(PoisonError::into_inner).meet(node, sort, name)
    }

    /// Tells servers apart that are reached over streams of the caller's making.
    pub(crate) fn connector_number(&self) -> u64 {
        self.next_connector.fetch_add(1, Ordering::Relaxed)
    }

    /// A holder id that was never used before, in the form in which Redisson writes its own.
    pub(crate) fn fresh_holder(&self) -> Arc<str> {
        let number = self.next_holder.fetch_add(1, Ordering::Relaxed);
        key::joined(&[&[&self.holder_prefix, itoa::Buffer::new().format(number)]])
    }

    /// What no other mark of a server has in it. Counted apart from the holder ids, which look alike.
    pub(crate) fn fresh_nonce(&self) -> Arc<str> {
        let number = self.next_nonce.fetch_add(1, Ordering::Relaxed);
        format!("{}m{number}", self.holder_prefix).into()
    }

    /// Greater than all before, whichever hold it is for: a hold may have several that announce by it.
    pub(crate) fn next_announcement(&self) -> u64 {
        self.next_announcement.fetch_add(1, Ordering::Relaxed)
    }

    /// 16 bytes that were never used before.
    pub(crate) fn fresh_bytes(&self) -> u128 {
        let number = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.uuid.as_u128().wrapping_add(number.into())
    }

    /// The same in hexadecimal digits.
    pub(crate) fn fresh_id(&self) -> String {
        hex::encode(self.fresh_bytes().to_be_bytes())
    }
}
