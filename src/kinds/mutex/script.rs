//! What is said about a mutex: the only place that knows the order of KEYS and ARGV.

use std::{sync::Arc, time::Duration};

use crate::{
    kind::{Holder, Kind, Request},
    wire::{Arg, Call, Items, Malformed, Script, Statement, key, script},
};

pub(crate) static ACQUIRE: Script = script!("acquire.lua", 4, after "grant.lua");
/// The acquire behind a check of the marker.
pub(crate) static STRICT: Script =
    script!("acquire.lua", 4, after "../../voting/marker/check.lua", "grant.lua");
pub(crate) static RENEW: Script = script!("renew.lua", 2);
pub(crate) static COUNT: Script = script!("count.lua", 3);
pub(crate) static FORCE: Script = script!("force.lua", 1);
pub(crate) static INSPECT: Script = script!("inspect.lua", 0);

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
        self.statement(&FORCE, vec![Arg::Text(self.channel.clone())])
    }

    pub(crate) fn inspect(&self) -> Inspect {
        Inspect { name: self.name.clone() }
    }

    fn statement(&self, script: &'static Script, args: Vec<Arg>) -> Statement {
        debug_assert_eq!(args.len(), script.args_per_lock);
        Statement { script, key: self.name.clone(), second_key: None, args }
    }
}

impl Kind for Mutex {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn channel(&self, _holder: &Arc<str>) -> Arc<str> {
        self.channel.clone()
    }

    fn acquire(&self, request: Request<'_>) -> Statement {
        let holder = Arg::Text(request.holder.clone());
        let args =
            vec![holder, Arg::Int(1), Arg::Int(request.term.ms()), Arg::Int(request.not_after)];
        self.statement(&ACQUIRE, args)
    }

    fn strict_acquire(&self) -> &'static Script {
        &STRICT
    }

    fn renew(&self, holder: &Arc<str>, lease_ms: i64) -> Statement {
        self.statement(&RENEW, vec![Arg::Text(holder.clone()), Arg::Int(lease_ms)])
    }

    fn count(&self, holder: &Arc<str>, count: u32) -> Statement {
        let channel = Arg::Text(self.channel.clone());
        let args = vec![Arg::Text(holder.clone()), Arg::Int(count.into()), channel];
        self.statement(&COUNT, args)
    }
}

/// Asks who holds the lock.
#[derive(Debug, Clone)]
pub(crate) struct Inspect {
    name: Arc<str>,
}

impl Call for Inspect {
    type Reply = Option<Holder>;

    fn script(&self) -> &'static Script {
        &INSPECT
    }

    fn write(&self, to: &mut redis::Cmd) {
        to.arg(1).arg(&*self.name);
    }

    fn decode(&self, mut items: Items) -> Result<Option<Holder>, Malformed> {
        if items.is_empty() {
            return Ok(None);
        }
        let ttl = u64::try_from(items.int()?).ok().map(Duration::from_millis);
        let id = items.text()?;
        // Other kinds of locks have further fields, and counts that are no numbers.
        let count = items.text()?.parse().unwrap_or(0);
        Ok(Some(Holder { id, count, ttl }))
    }
}
