//! What is said about a latch: the only place that knows the order of KEYS and ARGV.

use std::sync::Arc;

use crate::{
    kinds::once::Change,
    wire::{Arg, Call, Items, Malformed, Script, ScriptText, Words, key, script},
};

static COUNT_DOWN: Script = script!(
    "latch/count_down",
    0,
    "../once/once.lua",
    "../counter/count.lua",
    "generation.lua",
    "raise.lua",
    "count_down.lua"
);
static SET: Script = script!("latch/set", 0, "../once/once.lua", "../counter/count.lua", "set.lua");
static DELETE: Script = script!(
    "latch/delete",
    0,
    "../once/once.lua",
    "../counter/count.lua",
    "generation.lua",
    "raise.lua",
    "delete.lua"
);
static LOOK: Script =
    script!("latch/look", 0, "../counter/count.lua", "generation.lua", "look.lua");

/// Every script of this kind.
pub(crate) static SCRIPTS: [&Script; 4] = [&COUNT_DOWN, &SET, &DELETE, &LOOK];

/// What is announced at zero.
pub(super) const ZERO: &str = "0";

/// The latch, as Redisson stores its `RCountDownLatch`.
#[derive(Debug)]
pub(crate) struct Latch {
    name: Arc<str>,
    channel: Arc<str>,
    generation: Arc<str>,
}

impl Latch {
    pub(crate) fn new(name: &Arc<str>) -> Self {
        let (channel, generation) = (key::latch_channel(name), key::latch_generation(name));
        Self { name: name.clone(), channel, generation }
    }

    /// Where it is announced that the count is another.
    pub(super) fn channel(&self) -> Arc<str> {
        self.channel.clone()
    }

    pub(super) fn set(&self, count: i64) -> Change {
        self.change(&SET, [Arg::text(&self.channel), Arg::Int(count)])
    }

    pub(crate) fn count_down(&self) -> Change {
        self.change(&COUNT_DOWN, self.zero())
    }

    pub(super) fn delete(&self) -> Change {
        self.change(&DELETE, self.zero())
    }

    pub(crate) fn look(&self) -> LookAtLatch {
        LookAtLatch { name: self.name.clone(), generation: self.generation.clone() }
    }

    /// Where a zero is told.
    fn zero(&self) -> [Arg; 2] {
        [Arg::text(&self.channel), Arg::text(&self.generation)]
    }

    fn change<const A: usize>(&self, script: &'static Script, args: [Arg; A]) -> Change {
        Change::new(script, &self.name, args)
    }
}

/// Asks how far a latch is.
#[derive(Debug, Clone)]
pub(crate) struct LookAtLatch {
    name: Arc<str>,
    generation: Arc<str>,
}

/// How far a latch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LatchState {
    /// 0 if it is not set.
    pub(super) count: i64,
    /// Its last zero that we brought, in µs of the server's clock; 0 if none is known.
    pub(super) generation: i64,
}

impl LatchState {
    /// Less than none is none: only an operator writes that.
    pub(super) fn is_at_zero(self) -> bool {
        self.count <= 0
    }
}

impl Call for LookAtLatch {
    type Reply = LatchState;

    fn script(&self) -> ScriptText<'_> {
        LOOK.text()
    }

    fn write(&self, to: &mut Words) {
        to.count(1).word(&*self.name).word(&*self.generation);
    }

    fn decode(&self, mut items: Items) -> Result<LatchState, Malformed> {
        let generation = items.int()?;
        // The script tells nothing that is no number.
        let count = if items.is_empty() { 0 } else { items.text()?.parse().unwrap_or(0) };
        Ok(LatchState { count, generation })
    }
}
