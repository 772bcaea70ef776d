//! What is said about a mutex: the only place that knows the order of KEYS and ARGV.

use std::{sync::Arc, time::Duration};

use crate::{
    kind::{Access, AcquireRequest, Holder, Sharing, Statements, Waking},
    wire::{
        Arg, Call, HoldCheck, Items, Malformed, PlainRelease, Script, ScriptText, Statement, Words,
        key, script,
    },
};

pub(crate) static ACQUIRE: Script =
    script!("mutex/acquire", 1, "acquire.lua", "foreign.lua", "grant.lua", "acquire_left.lua")
        .granting();
pub(crate) static RENEW: Script = script!("mutex/renew", 1, "renew.lua");
pub(crate) static COUNT: Script = script!("mutex/count", 3, "count.lua");
pub(crate) static FORCE: Script = script!("mutex/force", 1, "foreign.lua", "force.lua");
pub(crate) static INSPECT: Script = script!("mutex/inspect", 0, "foreign.lua", "inspect.lua");

/// Every script of this kind; connections load them in advance.
pub(crate) static SCRIPTS: [&Script; 5] = [&ACQUIRE, &RENEW, &COUNT, &FORCE, &INSPECT];

/// The reentrant lock, as Redisson stores its `RLock`.
#[derive(Debug)]
pub(crate) struct Mutex {
    name: Arc<str>,
    channel: Arc<str>,
}

impl Mutex {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.into(), channel: key::lock_channel(name) }
    }

    pub(crate) fn force(&self) -> Statement {
        self.statement(&FORCE, [Arg::text(&self.channel)])
    }

    fn statement<const A: usize>(&self, script: &'static Script, args: [Arg; A]) -> Statement {
        Statement::new(script, [&self.name], args)
    }
}

impl Sharing for Mutex {}

impl Waking for Mutex {
    fn channel(&self) -> &Arc<str> {
        &self.channel
    }
}

impl Statements for Mutex {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn acquire(&self, request: AcquireRequest<'_>) -> Statement {
        let (lease_ms, holder) = (request.term.ms(), [Arg::text(request.holder)]);
        Statement::leasing(&ACQUIRE, [&self.name], lease_ms, [Arg::NotAfter], holder)
    }

    // keeps: ttl-not-shortened
    fn renew(&self, holder: &Arc<str>, lease_ms: i64) -> Statement {
        if planted!(RenewalNamesMissingKey) {
            let keys = [&self.name, &key::lock_counter(&self.name)];
            return Statement::leasing(&RENEW, keys, lease_ms, [], [Arg::text(holder)]);
        }
        Statement::leasing(&RENEW, [&self.name], lease_ms, [], [Arg::text(holder)])
    }

    fn count(&self, holder: &Arc<str>, guards: u32) -> Statement {
        count(&self.name, holder, guards, &self.channel)
    }

    fn release(&self, holder: &Arc<str>) -> Statement {
        count(&self.name, holder, 0, &self.channel)
    }

    fn hold_check(&self, holder: &Arc<str>) -> HoldCheck {
        HoldCheck::new(HOLDS, [&self.name], Arg::text(holder))
    }

    fn plain_release(&self, holder: &Arc<str>) -> Option<PlainRelease> {
        Some(PlainRelease {
            key: self.name.clone(),
            holder: holder.clone(),
            channel: self.channel.clone(),
            by_script: |it| count(&it.key, &it.holder, 0, &it.channel),
        })
    }
}

/// By what a hold of a mutex is seen.
const HOLDS: &str = include_str!("holds.lua");

fn count(name: &Arc<str>, holder: &Arc<str>, times: u32, channel: &Arc<str>) -> Statement {
    let args = [Arg::text(holder), Arg::Int(times.into()), Arg::text(channel)];
    Statement::new(&COUNT, [name], args)
}

/// What stands under the name of a lock, of whatever kind.
#[derive(Debug, Default)]
pub(crate) struct LockContents {
    /// How it is held, of a lock that is read and written.
    pub(crate) mode: Option<String>,
    pub(crate) writer: Option<Holder>,
    /// All others.
    pub(crate) holders: Vec<Holder>,
}

impl LockContents {
    /// Its holders, the writer first.
    pub(crate) fn into_holders(self) -> impl Iterator<Item = Holder> {
        self.writer.into_iter().chain(self.holders)
    }
}

/// Asks for the holder of the lock.
#[derive(Debug, Clone)]
pub(crate) struct Inspect {
    pub(crate) name: Arc<str>,
}

impl Call for Inspect {
    type Reply = Option<LockContents>;

    fn script(&self) -> ScriptText<'_> {
        INSPECT.text()
    }

    fn asks_for_a_list(&self) -> bool {
        true
    }

    fn write(&self, to: &mut Words) {
        to.count(1).word(&*self.name);
    }

    fn decode(&self, mut items: Items) -> Result<Option<LockContents>, Malformed> {
        if items.is_empty() {
            return Ok(None);
        }
        let ttl = u64::try_from(items.int()?).ok().map(Duration::from_millis);
        let mut standing = LockContents::default();
        while !items.is_empty() {
            let (field, value) = (items.text()?, items.text()?);
            // Others may count with what is no number.
            let count = value.parse().unwrap_or(0);
            let holder = |id: &str, access| Holder { id: id.into(), count, ttl, access };
            match field.strip_suffix(":write") {
                None if field == "mode" => standing.mode = Some(value),
                None => standing.holders.push(holder(&field, Access::Alone)),
                Some(id) => standing.writer = Some(holder(id, Access::Write)),
            }
        }
        if standing.mode.is_some() {
            standing.holders.iter_mut().for_each(|holder| holder.access = Access::Read);
        }
        Ok(Some(standing))
    }
}
