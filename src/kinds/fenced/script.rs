//! What is said about a fenced lock: the hash of a plain one, and a counter beside it.

use std::{sync::Arc, time::Duration};

use crate::{
    kind::{AcquireRequest, Fencing, FencingToken, Sharing, Statements, Waking},
    kinds::mutex::script::Mutex,
    lease::Term,
    wire::{
        Arg, Call, HoldCheck, Items, Malformed, PlainRelease, Script, ScriptText, Statement, Words,
        key, script,
    },
};

pub(crate) static ACQUIRE: Script = script!(
    "fenced/acquire",
    2,
    "../mutex/foreign.lua",
    "../mutex/grant.lua",
    "counter.lua",
    "acquire.lua"
)
.telling_token()
.granting();
pub(crate) static PROMOTE: Script =
    script!("fenced/promote", 3, "counter.lua", "promote.lua").telling_token();

pub(crate) static LOOK: Script =
    script!("fenced/look", 0, "../mutex/foreign.lua", "counter.lua", "look.lua");

/// The scripts that this kind has beyond the mutex'; connections load them in advance. A look is rare.
pub(crate) static SCRIPTS: [&Script; 2] = [&ACQUIRE, &PROMOTE];

/// A mutex with a counter. All but the grant is the mutex' own.
#[derive(Debug)]
pub(crate) struct Fenced {
    mutex: Mutex,
    counter: Arc<str>,
    /// Whether the counter of a lock that is not used any more ends by itself.
    ends: bool,
}

impl Fenced {
    /// A lock by itself. Its counter is Redisson's, which counts on from whatever stands there: it
    /// must never end.
    pub(crate) fn alone(name: &str) -> Self {
        Self { mutex: Mutex::new(name), counter: key::lock_counter(name), ends: false }
    }

    /// A member of a composite. Its counter may end: no token is less than the time it was made at,
    /// and no clock is wrong by a day.
    pub(crate) fn member(name: &str) -> Self {
        Self { mutex: Mutex::new(name), counter: key::member_counter(name), ends: true }
    }

    /// The ttl to write to the counter, in ms; 0 for none.
    fn keep_ms(&self, term: Term) -> i64 {
        if self.ends { term.ms().saturating_mul(10).max(DAY_MS) } else { 0 }
    }

    fn statement<const A: usize>(&self, script: &'static Script, args: [Arg; A]) -> Statement {
        Statement::new(script, [self.mutex.name(), &self.counter], args)
    }
}

impl Sharing for Fenced {
    fn shares_keys(&self) -> Option<&'static str> {
        Some("fenced")
    }
}

impl Waking for Fenced {
    fn channel(&self) -> &Arc<str> {
        self.mutex.channel()
    }
}

impl Fencing for Fenced {
    fn promote(&self, holder: &Arc<str>, token: FencingToken, term: Term) -> Statement {
        let token = i64::try_from(token.get()).unwrap_or(i64::MAX);
        let args = [Arg::text(holder), Arg::Int(token), Arg::Int(self.keep_ms(term))];
        #[cfg(planted_bugs)]
        if planted!(NonStrictPromote) {
            return self.statement(&super::planted::BLIND_PROMOTE, args);
        }
        self.statement(&PROMOTE, args)
    }
}

impl Statements for Fenced {
    fn name(&self) -> &Arc<str> {
        self.mutex.name()
    }

    fn acquire(&self, request: AcquireRequest<'_>) -> Statement {
        let AcquireRequest { holder, term, hint, skew, is_held, .. } = request;
        let shared = [Arg::NotAfter, Arg::Int(micros(skew)), Arg::Int(self.keep_ms(term))];
        let keys = [self.mutex.name(), &self.counter];
        // That of a hold that stands is its token.
        let hint = if is_held { -micros(hint) } else { micros(hint) };
        let args = [Arg::text(holder), Arg::Int(hint)];
        Statement::leasing(&ACQUIRE, keys, term.ms(), shared, args)
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
        self.mutex.release(holder)
    }

    fn plain_release(&self, holder: &Arc<str>) -> Option<PlainRelease> {
        self.mutex.plain_release(holder)
    }

    fn fencing(&self) -> Option<&dyn Fencing> {
        Some(self)
    }
}

/// Asks how far the counter of a lock by itself has come.
#[derive(Debug, Clone)]
pub(crate) struct CounterLook {
    name: Arc<str>,
    counter: Arc<str>,
}

/// How far it has come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CounterSeen {
    /// Negative if what stands there is no counter.
    pub(super) counter: i64,
    /// Whether the lock is held.
    pub(super) held: bool,
}

impl CounterLook {
    pub(crate) fn at(name: &Arc<str>) -> Self {
        Self { name: name.clone(), counter: key::lock_counter(name) }
    }
}

impl Call for CounterLook {
    type Reply = CounterSeen;

    fn script(&self) -> ScriptText<'_> {
        LOOK.text()
    }

    fn asks_for_a_list(&self) -> bool {
        true
    }

    fn write(&self, to: &mut Words) {
        to.count(2).word(&*self.name).word(&*self.counter);
    }

    fn decode(&self, mut items: Items) -> Result<CounterSeen, Malformed> {
        Ok(CounterSeen { counter: items.int()?, held: items.int()? == 1 })
    }
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
