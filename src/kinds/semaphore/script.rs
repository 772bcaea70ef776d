//! What is said about a semaphore: the only place that knows the order of KEYS and ARGV.

use std::{sync::Arc, time::Duration};

use crate::{
    error::ConfigError,
    kind::{Access, AcquireRequest, Admission, Holder, Kind, Sharing, Statements, Waking},
    kinds::{
        once::Change,
        permits::script::{Store, may_wish},
    },
    lease::Term,
    wire::{Arg, Call, HoldCheck, Items, Malformed, Script, ScriptText, Statement, Words, script},
};

static ACQUIRE: Script = script!(
    "semaphore/acquire",
    3,
    "acquire.lua",
    "../counter/count.lua",
    "foreign.lua",
    "wish.lua",
    "acquire_left.lua"
)
.granting()
.in_turns();
static COUNT: Script = script!(
    "semaphore/count",
    3,
    "count.lua",
    "../counter/count.lua",
    "../permits/announce.lua",
    "withdraw.lua",
    "foreign.lua",
    "count_left.lua"
)
.brief_if_asked();
static RENEW: Script = script!("semaphore/renew", 1, "foreign.lua", "renew.lua");
static HOLDERS: Script = script!("semaphore/holders", 0, "holders.lua");
static DRAIN: Script =
    script!("semaphore/drain", 0, "../once/once.lua", "../counter/count.lua", "drain.lua");

static RESIZE: Script = script!(
    "semaphore/resize",
    0,
    "../once/once.lua",
    "../counter/count.lua",
    "../permits/announce.lua",
    "held.lua",
    "../permits/resize.lua"
);

/// Every script of this kind.
pub(crate) static SCRIPTS: [&Script; 6] = [&ACQUIRE, &COUNT, &RENEW, &HOLDERS, &DRAIN, &RESIZE];

/// Sets how many there are in all.
pub(super) fn resize(store: &Store, permits: u32) -> Change {
    store.resize(&RESIZE, permits)
}

/// Some permits of a semaphore, as one holder has them.
#[derive(Debug, Clone)]
pub(crate) struct HeldPermits {
    store: Store,
    permits: u32,
    /// The same where another gives them back; `None` if this is that.
    forgotten: Option<Arc<dyn Kind>>,
}

impl HeldPermits {
    pub(crate) fn of(store: &Store, permits: u32) -> Self {
        let forgotten = Self { store: store.clone(), permits, forgotten: None };
        Self { forgotten: Some(Arc::new(forgotten.clone())), ..forgotten }
    }
}

impl Sharing for HeldPermits {
    fn admission(&self) -> Admission {
        Admission::Shared
    }

    fn reduced(&self) -> Option<&Arc<dyn Kind>> {
        self.forgotten.as_ref()
    }

    fn is_counted(&self) -> bool {
        true
    }
}

impl Waking for HeldPermits {
    fn channel(&self) -> &Arc<str> {
        &self.store.channel
    }
}

impl Statements for HeldPermits {
    fn name(&self) -> &Arc<str> {
        &self.store.name
    }

    fn term(&self, _asked: Term) -> Result<Term, ConfigError> {
        Ok(Term::ENDLESS)
    }

    fn acquire(&self, request: AcquireRequest<'_>) -> Statement {
        let args = [
            Arg::text(request.holder),
            Arg::Int(self.permits.into()),
            Arg::Int(may_wish(&request, self.permits).into()),
        ];
        Statement::leasing(&ACQUIRE, self.store.keys(), request.term.ms(), [Arg::NotAfter], args)
    }

    fn renew(&self, holder: &Arc<str>, _lease_ms: i64) -> Statement {
        let keys = [&self.store.name, &self.store.holders];
        Statement::new(&RENEW, keys, [Arg::text(holder)])
    }

    /// Nothing ends a hold, and a look would find no time that it has left.
    fn watched_key(&self) -> Option<&Arc<str>> {
        None
    }

    fn hold_check(&self, holder: &Arc<str>) -> HoldCheck {
        HoldCheck::new(HOLDS, [&self.store.name, &self.store.holders], Arg::text(holder))
    }

    fn release(&self, holder: &Arc<str>) -> Statement {
        let is_forgotten = self.forgotten.is_none();
        parting(&self.store, holder, if is_forgotten { -1 } else { self.permits.into() })
    }
}

/// By what it is seen that permits are held.
const HOLDS: &str = include_str!("holds.lua");

/// Gives back what `holder` has, however many permits that are.
pub(super) fn give_back(store: &Store, holder: &Arc<str>) -> Statement {
    parting(store, holder, 0)
}

fn parting(store: &Store, holder: &Arc<str>, permits: i64) -> Statement {
    let args = [Arg::text(holder), Arg::Int(permits), Arg::text(&store.channel)];
    Statement::new(&COUNT, store.keys(), args)
}

/// Takes all permits that are left.
pub(super) fn drain(store: &Store) -> Change {
    Change::new(&DRAIN, &store.name, [])
}

/// Asks for the holders of permits.
#[derive(Debug, Clone)]
pub(crate) struct PermitHolders {
    pub(crate) store: Store,
}

impl Call for PermitHolders {
    type Reply = Vec<Holder>;

    fn script(&self) -> ScriptText<'_> {
        HOLDERS.text()
    }

    fn asks_for_a_list(&self) -> bool {
        true
    }

    fn write(&self, to: &mut Words) {
        to.count(2).word(&*self.store.name).word(&*self.store.holders);
    }

    fn decode(&self, mut items: Items) -> Result<Vec<Holder>, Malformed> {
        let ttl = u64::try_from(items.int()?).ok().map(Duration::from_millis);
        let mut holders = Vec::new();
        while !items.is_empty() {
            let (id, permits) = (items.text()?, items.text()?);
            let (count, access) = (permits.parse().unwrap_or(0), Access::Permits);
            holders.push(Holder { id, count, ttl, access });
        }
        holders.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        Ok(holders)
    }
}
