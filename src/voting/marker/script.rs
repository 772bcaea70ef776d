//! What is said about the mark: the only place that knows the order of KEYS and ARGV.

use std::sync::Arc;

use crate::wire::{Call, Items, Malformed, Outcome, Script, ScriptText, Words, script};

pub(crate) static WRITE: Script = script!("marker/write", 3, "write.lua");

/// Every script about the mark.
pub(crate) static SCRIPTS: [&Script; 1] = [&WRITE];

/// Puts one text in the place of another; an empty one stands for no key.
#[derive(Debug, Clone)]
pub(super) struct Write {
    pub(super) key: Arc<str>,
    pub(super) before: Arc<str>,
    pub(super) after: Arc<str>,
    /// How far ahead the time is that is added to the text, in ms; 0 adds none.
    pub(super) wait_ms: i64,
}

impl Call for Write {
    type Reply = Outcome;

    fn script(&self) -> ScriptText<'_> {
        WRITE.text()
    }

    fn write(&self, to: &mut Words) {
        to.count(1).word(&*self.key).word(&*self.before).word(&*self.after).int(self.wait_ms);
    }

    fn decode(&self, mut items: Items) -> Result<Outcome, Malformed> {
        Ok(Outcome { code: items.int()?, value: items.int()?, token: 0 })
    }
}
