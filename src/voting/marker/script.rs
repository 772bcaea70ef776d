//! What is said about the marker: the only place that knows the order of KEYS and ARGV.

use std::sync::Arc;

use crate::wire::{Call, Items, Malformed, Outcome, Script, ScriptText, key, script};

pub(crate) static LOOK: Script = script!("marker", "look.lua", 1);
pub(crate) static WRITE: Script = script!("marker", "write.lua", 2);

/// Every script about the marker.
#[cfg(feature = "embedded")]
pub(crate) static SCRIPTS: [&Script; 2] = [&LOOK, &WRITE];

/// Asks for the text of the marker.
#[derive(Debug, Clone)]
pub(super) struct Look {
    /// Writes that the server is not to vote for so long, if nothing is written; 0: does not.
    pub(super) wait_ms: i64,
}

impl Call for Look {
    type Reply = Option<String>;

    fn script(&self) -> ScriptText {
        LOOK.text()
    }

    fn write(&self, to: &mut redis::Cmd) {
        to.arg(1).arg(key::MARKER).arg(self.wait_ms);
    }

    fn decode(&self, mut items: Items) -> Result<Self::Reply, Malformed> {
        if items.is_empty() { Ok(None) } else { items.text().map(Some) }
    }
}

/// Puts one text in the place of another; an empty one stands for no key.
#[derive(Debug, Clone)]
pub(super) struct Write {
    pub(super) before: Arc<str>,
    pub(super) after: Arc<str>,
}

impl Call for Write {
    type Reply = Outcome;

    fn script(&self) -> ScriptText {
        WRITE.text()
    }

    fn write(&self, to: &mut redis::Cmd) {
        to.arg(1).arg(key::MARKER).arg(&*self.before).arg(&*self.after);
    }

    fn decode(&self, mut items: Items) -> Result<Outcome, Malformed> {
        Ok(Outcome { code: items.int()?, value: items.int()?, token: 0 })
    }
}
