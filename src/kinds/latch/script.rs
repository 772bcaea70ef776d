//! What is said about a latch: the only place that knows the order of KEYS and ARGV.

use std::sync::Arc;

use crate::{
    kinds::once::Change,
    wire::{Arg, Call, Items, Malformed, Script, ScriptText, Words, key, script},
};

static COUNT_DOWN: Script =
    script!("latch/count_down", 0, "../once/once.lua", "count.lua", "count_down.lua");
static SET: Script = script!("latch/set", 0, "../once/once.lua", "count.lua", "set.lua");
static DELETE: Script = script!("latch/delete", 0, "../once/once.lua", "count.lua", "delete.lua");
static READ: Script = script!("latch/read", 0, "count.lua", "read.lua");

/// Every script of this kind.
#[cfg(any(test, feature = "embedded"))]
pub(crate) static SCRIPTS: [&Script; 4] = [&COUNT_DOWN, &SET, &DELETE, &READ];

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

    pub(super) fn count_down(&self) -> Change {
        self.change(&COUNT_DOWN, [Arg::text(&self.channel)])
    }

    pub(super) fn delete(&self) -> Change {
        self.change(&DELETE, [Arg::text(&self.channel)])
    }

    pub(crate) fn read(&self) -> Read {
        Read { name: self.name.clone() }
    }

    fn change<const A: usize>(&self, script: &'static Script, args: [Arg; A]) -> Change {
        Change::new(script, &self.name, args)
    }
}

/// Asks for the count: 0 of one that is not set.
#[derive(Debug, Clone)]
pub(crate) struct Read {
    name: Arc<str>,
}

impl Call for Read {
    type Reply = u64;

    fn script(&self) -> ScriptText {
        READ.text()
    }

    fn write(&self, to: &mut Words) {
        to.count(1).word(&*self.name);
    }

    fn decode(&self, mut items: Items) -> Result<u64, Malformed> {
        if items.is_empty() {
            return Ok(0);
        }
        // Less than none is none: nobody but an operator writes that.
        Ok(items.text()?.parse().unwrap_or(0))
    }
}
