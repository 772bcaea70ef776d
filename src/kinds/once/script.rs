//! What is said at most once: the only place that knows the order of KEYS and ARGV.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::wire::{Arg, Call, Items, Malformed, Outcome, Script, ScriptText, Words, script};

pub(crate) static FORGET: Script = script!("once/forget", 0, "forget.lua");

/// Every script of this folder that stands by itself.
pub(crate) static SCRIPTS: [&Script; 1] = [&FORGET];

/// A change that, executed twice, would be made twice: its script stands behind `once.lua`.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    script: &'static Script,
    name: Arc<str>,
    /// Besides the name and what is kept.
    keys: SmallVec<[Arc<str>; 1]>,
    args: SmallVec<[Arg; 2]>,
}

impl Change {
    pub(crate) fn new<const A: usize>(
        script: &'static Script,
        name: &Arc<str>,
        args: [Arg; A],
    ) -> Self {
        let (name, args) = (name.clone(), args.into_iter().collect());
        Self { script, name, keys: SmallVec::new(), args }
    }

    /// The same where one more key is touched.
    pub(crate) fn with_key(mut self, key: &Arc<str>) -> Self {
        self.keys.push(key.clone());
        self
    }
}

/// One of the requests for a change. Of all that name the same key at most one makes it.
#[derive(Debug, Clone)]
pub(crate) struct ChangeRequest {
    pub(crate) change: Change,
    pub(crate) once: Arc<str>,
    /// The server's time in µs after which it changes nothing.
    pub(crate) not_after: i64,
}

impl Call for ChangeRequest {
    type Reply = Outcome;

    fn script(&self) -> ScriptText<'_> {
        self.change.script.text()
    }

    fn write(&self, to: &mut Words) {
        let Change { name, keys, args, .. } = &self.change;
        to.count(2 + keys.len()).word(&**name).word(&*self.once);
        for key in keys {
            to.word(&**key);
        }
        to.int(self.not_after);
        args.iter().for_each(|arg| arg.write(to));
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

    fn script(&self) -> ScriptText<'_> {
        FORGET.text()
    }

    fn write(&self, to: &mut Words) {
        to.count(2).word(&*self.name).word(&*self.once);
    }

    fn decode(&self, _nothing: Items) -> Result<(), Malformed> {
        Ok(())
    }
}
