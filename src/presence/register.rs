//! The holds of one client that are told, and the task that tells them.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{runtime::Handle, sync::Notify};

use super::{
    entries::{Entries, LongHold, Writing},
    identity::ProcessIdentity,
    script::WriteRecord,
};
use crate::{
    clock::{Instant, SharedClock, due_or_nudged},
    error::NodeError,
    logging::NODE,
    node::Node,
    random::SharedRandom,
    telling,
};

/// Of which holds a process tells on their servers, with its host, its number, its program and its
/// [note](crate::ClientBuilder::note): for `palisade inspect`.
///
/// What is told is information, and nothing is decided by it.
///
/// # Examples
/// ```
/// use palisade::{Client, settings::Presence};
///
/// let builder = Client::builder().presence(Presence::LongHolds).note("nightly billing");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Presence {
    /// Of none.
    Hidden,
    /// Of those that are held for longer than a third of their lease: what is shorter costs nothing.
    #[default]
    LongHolds,
    /// Of each that is held for a quarter of a second: for programs with few holds.
    EachHold,
}

/// The record of one client on its servers.
#[derive(Debug)]
pub(crate) struct Register(Arc<RegisterInner>);

struct RegisterInner {
    node: Node,
    clock: SharedClock,
    random: SharedRandom,
    at: Arc<str>,
    identity: Arc<ProcessIdentity>,
    timeout: Duration,
    entries: Mutex<Entries>,
    /// Something became due earlier.
    nudge: Arc<Notify>,
    /// LongHold while a call is under way: what ends the record comes last.
    turn: tokio::sync::Mutex<()>,
    /// Nothing more is written: the client was shut down, or its user may not, which was said.
    is_over: AtomicBool,
}

impl Register {
    /// Sends nothing yet. What it does goes on on `on`.
    pub(crate) fn new(
        (node, on): (&Node, &Handle),
        (clock, random): (SharedClock, SharedRandom),
        (at, identity): (Arc<str>, ProcessIdentity),
        timeout: Duration,
    ) -> Self {
        let inner = Arc::new(RegisterInner {
            node: node.clone(),
            clock,
            random,
            at,
            identity: Arc::new(identity),
            timeout,
            entries: Mutex::default(),
            nudge: Arc::default(),
            turn: tokio::sync::Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        on.spawn(write_when_due(Arc::downgrade(&inner), inner.clock.clone(), inner.nudge.clone()));
        Self(inner)
    }

    /// From now on a hold is told, until it is over. Never blocks. What has no number of its own is not told.
    pub(crate) fn note(&self, holder: &str, since: Instant, hold: Weak<dyn LongHold>) {
        let number = holder.rsplit_once(':').and_then(|(_, number)| number.parse().ok());
        let Some(number) = number.filter(|_| !self.0.is_over()) else { return };
        if self.0.entries().note(number, since, hold, self.0.clock.now()) {
            self.0.nudge.notify_one();
        }
    }

    /// Takes what was told back. Nothing is told after that.
    pub(crate) async fn leave(&self) {
        self.0.is_over.store(true, Ordering::Relaxed);
        let _turn = self.0.turn.lock().await;
        let writing = self.0.entries().take_all();
        if let Some(writing) = writing {
            // What is not taken back ends by itself.
            drop(self.0.write(Arc::new(writing)).await);
        }
    }
}

/// Until the register is dropped, or nothing more is written.
async fn write_when_due(register: Weak<RegisterInner>, clock: SharedClock, nudge: Arc<Notify>) {
    loop {
        let Some(due) = register.upgrade().map(|inner| inner.entries().next_due()) else { return };
        due_or_nudged(&clock, due, &nudge).await;
        let Some(inner) = register.upgrade() else { return };
        // What was noted at the very end stays due, and would be looked at for ever.
        if inner.is_over() {
            return;
        }
        inner.write_if_due().await;
    }
}

impl RegisterInner {
    async fn write_if_due(&self) {
        let _turn = self.turn.lock().await;
        if self.is_over() {
            return;
        }
        let again = self.random.within(AGAIN.0..AGAIN.1);
        let writing = self.entries().take_due(self.clock.now(), again);
        let Some(writing) = writing.map(Arc::new) else { return };
        match self.write(writing.clone()).await {
            Ok(()) => self.entries().confirm(&writing),
            Err(error) if error.is_transient() => {
                let at = self.clock.now() + self.random.most_of(RETRY);
                self.entries().retry(at);
            }
            Err(error) => self.give_up(error),
        }
    }

    async fn write(&self, writing: Arc<Writing>) -> Result<(), NodeError> {
        let call = WriteRecord { at: self.at.clone(), identity: self.identity.clone(), writing };
        let deadline = self.clock.now() + self.timeout;
        self.node.call(&self.at, &call, deadline).await.map(drop)
    }

    fn give_up(&self, error: NodeError) {
        self.is_over.store(true, Ordering::Relaxed);
        drop(self.entries().take_all());
        let node = self.node.id().clone();
        telling::event(move || {
            tracing::warn!(target: NODE, %node, %error, "what is held for long is not told to operators there");
        });
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for RegisterInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Register").field("at", &self.at).finish_non_exhaustive()
    }
}

/// When a record is written again: well before it ends, and not by all processes together.
const AGAIN: (Duration, Duration) = (Duration::from_secs(20), Duration::from_secs(30));
/// When, if a server did not answer.
const RETRY: Duration = Duration::from_secs(10);
