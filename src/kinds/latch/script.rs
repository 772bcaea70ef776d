//! What is said about a latch: the only place that knows the order of KEYS and ARGV.

use std::sync::Arc;

use crate::{
    kinds::once::Change,
    wire::{Arg, Script, key, script},
};

static COUNT_DOWN: Script =
    script!("latch/count_down", 0, "../once/once.lua", "../counter/count.lua", "count_down.lua");
static SET: Script = script!("latch/set", 0, "../once/once.lua", "../counter/count.lua", "set.lua");
static DELETE: Script =
    script!("latch/delete", 0, "../once/once.lua", "../counter/count.lua", "delete.lua");

/// Every script of this kind.
pub(crate) static SCRIPTS: [&Script; 3] = [&COUNT_DOWN, &SET, &DELETE];

/// The latch, as Redisson stores its `RCountDownLatch`.
#[derive(Debug)]
pub(crate) struct Latch {
    name: Arc<str>,
    channel: Arc<str>,
}

impl Latch {
    pub(crate) fn new(name: &Arc<str>) -> Self {
        Self { name: name.clone(), channel: key::latch_channel(name) }
    }

    /// Where it is announced that the count is another.
    pub(super) fn channel(&self) -> Arc<str> {
        self.channel.clone()
    }

    pub(super) fn set(&self, count: i64) -> Change {
        self.change(&SET, [Arg::text(&self.channel), Arg::Int(count)])
    }

    pub(crate) fn count_down(&self) -> Change {
        self.change(&COUNT_DOWN, [Arg::text(&self.channel)])
    }

    pub(super) fn delete(&self) -> Change {
        self.change(&DELETE, [Arg::text(&self.channel)])
    }

    fn change<const A: usize>(&self, script: &'static Script, args: [Arg; A]) -> Change {
        Change::new(script, &self.name, args)
    }
}
