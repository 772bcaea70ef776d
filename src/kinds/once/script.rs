//! What is said at most once: the only place that knows the order of KEYS and ARGV.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::wire::{Arg, Call, Items, Malformed, Outcome, Script, ScriptText, Words, script};

pub(crate) static FORGET: Script = script!("once/forget", 0, "forget.lua");

/// Every script of this folder that stands by itself.
#[cfg(any(test, feature = "embedded"))]
pub(crate) static SCRIPTS: [&Script; 1] = [&FORGET];

/// A change that, executed twice, would be made twice: its script stands behind `once.lua`.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    script: &'static Script,
    name: Arc<str>,
    args: SmallVec<[Arg; 2]>,
}

impl Change {
    pub(crate) fn new<const A: usize>(
        script: &'static Script,
        name: &Arc<str>,
        args: [Arg; A],
    ) -> Self {
        Self { script, name: name.clone(), args: args.into_iter().collect() }
    }
}

/// One of the requests for a change. Of all that name the same key at most one makes it.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    pub(super) change: Change,
    pub(super) once: Arc<str>,
    /// The server's time in µs after which it changes nothing.
    pub(super) not_after: i64,
}

impl Call for Attempt {
    type Reply = Outcome;

    fn script(&self) -> ScriptText {
        self.change.script.text()
    }

    fn write(&self, to: &mut Words) {
        to.count(2).word(&*self.change.name).word(&*self.once).int(self.not_after);
        self.change.args.iter().for_each(|arg| arg.write(to));
    }

    fn decode(&self, mut items: Items) -> Result<Outcome, Malformed> {
        Ok(Outcome { code: items.int()?, value: items.int()?, token: 0 })
    }
}

/// Deletes what is kept of a change.
#[derive(Debug, Clone)]
pub(super) struct Forget {
    pub(super) name: Arc<str>,
    pub(super) once: Arc<str>,
}

impl Call for Forget {
    type Reply = ();

    fn script(&self) -> ScriptText {
        FORGET.text()
    }

    fn write(&self, to: &mut Words) {
        to.count(2).word(&*self.name).word(&*self.once);
    }

    fn decode(&self, _nothing: Items) -> Result<(), Malformed> {
        Ok(())
    }
}
