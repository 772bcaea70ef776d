//! What is said about a fair lock: the only place that knows the order of KEYS and ARGV.

use std::sync::Arc;

use crate::{
    kind::{AcquireRequest, ServerQueue, Sharing, Statements, Waking},
    kinds::mutex::script::Mutex,
    wire::{
        Arg, Call, HoldCheck, Items, Malformed, Script, ScriptText, Statement, Words, key, script,
    },
};

pub(crate) static ACQUIRE: Script = script!(
    "fair/acquire",
    3,
    "acquire.lua",
    "../mutex/foreign.lua",
    "../mutex/grant.lua",
    "queue.lua",
    "telling.lua",
    "silent.lua",
    "absent.lua",
    "place.lua",
    "stand.lua",
    "acquire_left.lua"
)
.granting()
.in_turns();
pub(crate) static RELEASE: Script =
    script!("fair/release", 2, "release.lua", "queue.lua", "telling.lua", "release_left.lua")
        .brief_if_asked();
pub(crate) static KEEP: Script = script!("fair/keep", 1, "queue.lua", "place.lua", "keep.lua");
pub(crate) static FORCE: Script =
    script!("fair/force", 1, "../mutex/foreign.lua", "queue.lua", "telling.lua", "force.lua");
pub(crate) static WAITING: Script = script!("fair/waiting", 0, "waiting.lua");

/// Every script of this kind; connections load them in advance.
pub(crate) static SCRIPTS: [&Script; 5] = [&ACQUIRE, &RELEASE, &KEEP, &FORCE, &WAITING];

/// The lock that is granted in the order in which it was asked for, as Redisson stores its
/// `RFairLock`: the hash of a mutex, and beside it the waiters.
#[derive(Debug)]
pub(crate) struct Fair {
    mutex: Mutex,
    queue: Arc<str>,
    deadlines: Arc<str>,
    /// Since when the first in the queue has not come for a free lock.
    note: Arc<str>,
}

impl Fair {
    pub(crate) fn new(name: &str) -> Self {
        let mutex = Mutex::new(name);
        let [queue, deadlines, note] =
            [key::fair_queue(name), key::fair_deadlines(name), key::fair_note(name)];
        Self { mutex, queue, deadlines, note }
    }

    pub(crate) fn force(&self) -> Statement {
        let keys = [self.name(), &self.queue, &self.deadlines];
        Statement::new(&FORCE, keys, [Arg::text(self.channel())])
    }

    pub(crate) fn waiting(&self) -> QueueQuery {
        QueueQuery { queue: self.queue.clone() }
    }

    fn all_keys(&self) -> [&Arc<str>; 4] {
        [self.name(), &self.queue, &self.deadlines, &self.note]
    }
}

impl Sharing for Fair {
    fn mode(&self) -> &'static str {
        "fair"
    }

    fn shares_keys(&self) -> Option<&'static str> {
        Some("fair")
    }
}

impl Waking for Fair {
    fn channel(&self) -> &Arc<str> {
        self.mutex.channel()
    }

    fn server_queue(&self) -> Option<&dyn ServerQueue> {
        Some(self)
    }
}

impl ServerQueue for Fair {
    fn channel_of(&self, holder: &Arc<str>) -> Arc<str> {
        key::joined(&[&[self.channel(), ":", holder]])
    }

    fn keep_place(&self, holder: &Arc<str>) -> Statement {
        let keys = [self.name(), &self.queue, &self.deadlines];
        Statement::new(&KEEP, keys, [Arg::text(holder)])
    }
}

impl Statements for Fair {
    fn name(&self) -> &Arc<str> {
        self.mutex.name()
    }

    fn acquire(&self, request: AcquireRequest<'_>) -> Statement {
        let AcquireRequest { holder, term, queues, .. } = request;
        let args = [Arg::text(holder), Arg::Int(queues.into()), Arg::text(self.channel())];
        Statement::leasing(&ACQUIRE, self.all_keys(), term.ms(), [Arg::NotAfter], args)
    }

    fn renew(&self, holder: &Arc<str>, lease_ms: i64) -> Statement {
        self.mutex.renew(holder, lease_ms)
    }

    fn count(&self, holder: &Arc<str>, guards: u32) -> Statement {
        self.mutex.count(holder, guards)
    }

    fn hold_check(&self, holder: &Arc<str>) -> HoldCheck {
        self.mutex.hold_check(holder)
    }

    fn release(&self, holder: &Arc<str>) -> Statement {
        let args = [Arg::text(holder), Arg::text(self.channel())];
        Statement::new(&RELEASE, self.all_keys(), args)
    }
}

/// Asks for the waiters.
#[derive(Debug, Clone)]
pub(crate) struct QueueQuery {
    queue: Arc<str>,
}

impl Call for QueueQuery {
    type Reply = Vec<String>;

    fn script(&self) -> ScriptText<'_> {
        WAITING.text()
    }

    fn asks_for_a_list(&self) -> bool {
        true
    }

    fn write(&self, to: &mut Words) {
        to.count(1).word(&*self.queue);
    }

    fn decode(&self, mut items: Items) -> Result<Vec<String>, Malformed> {
        let mut waiting = Vec::new();
        while !items.is_empty() {
            waiting.push(items.text()?);
        }
        Ok(waiting)
    }
}
