//! What is said about the permits of both kinds of semaphores: the only place that knows the order of KEYS
//! and ARGV.

use std::sync::Arc;

use crate::{
    kind::AcquireRequest,
    kinds::once::Change,
    wire::{Arg, Script, key, script},
};

static SET: Script = script!(
    "permits/set",
    0,
    "../once/once.lua",
    "../counter/count.lua",
    "announce.lua",
    "set.lua"
);
static ADD: Script = script!(
    "permits/add",
    0,
    "../once/once.lua",
    "../counter/count.lua",
    "announce.lua",
    "add.lua"
);
static DELETE: Script =
    script!("permits/delete", 0, "../once/once.lua", "../counter/count.lua", "delete.lua");

/// Every script of this folder.
pub(crate) static SCRIPTS: [&Script; 3] = [&SET, &ADD, &DELETE];

/// A semaphore, as Redisson stores one: how many permits are left, and their holders.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    /// A number.
    pub(crate) name: Arc<str>,
    /// What it is depends on the kind.
    pub(crate) holders: Arc<str>,
    /// Where permits are announced.
    pub(crate) channel: Arc<str>,
    /// Where a holder says that it waits for several.
    pub(crate) wish: Arc<str>,
}

impl Store {
    pub(crate) fn new(name: &Arc<str>, holders: Arc<str>) -> Self {
        let (channel, wish) = (key::permits_channel(name), key::permits_wish(name));
        Self { name: name.clone(), holders, channel, wish }
    }

    /// Those that a holder is concerned with.
    pub(crate) fn keys(&self) -> [&Arc<str>; 3] {
        [&self.name, &self.holders, &self.wish]
    }

    pub(in crate::kinds) fn set(&self, permits: u32) -> Change {
        let args = [Arg::text(&self.channel), Arg::Int(permits.into())];
        Change::new(&SET, &self.name, args).with_key(&self.holders)
    }

    pub(in crate::kinds) fn add(&self, permits: i64, only_if_there: bool) -> Change {
        let args = [Arg::text(&self.channel), Arg::Int(permits), Arg::Int(only_if_there.into())];
        Change::new(&ADD, &self.name, args)
    }

    /// `script` is the one of its kind.
    pub(in crate::kinds) fn resize(&self, script: &'static Script, permits: u32) -> Change {
        let args = [Arg::text(&self.channel), Arg::Int(permits.into())];
        Change::new(script, &self.name, args).with_key(&self.holders)
    }

    pub(in crate::kinds) fn delete(&self) -> Change {
        Change::new(&DELETE, &self.name, []).with_key(&self.holders)
    }
}

/// Whether waiters for few are to let it pass before them.
pub(crate) fn may_wish(request: &AcquireRequest<'_>, permits: u32) -> bool {
    request.waits && permits > 1
}
