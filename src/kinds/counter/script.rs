//! What is asked of a number: the only place that knows the order of KEYS.

use std::sync::Arc;

use crate::wire::{Call, Items, Malformed, Script, ScriptText, Words, script};

pub(crate) static READ: Script = script!("counter/read", 0, "count.lua", "read.lua");

/// Every script of this folder that stands by itself.
pub(crate) static SCRIPTS: [&Script; 1] = [&READ];

/// Asks for the number.
#[derive(Debug, Clone)]
pub(crate) struct Read {
    pub(crate) name: Arc<str>,
}

impl Call for Read {
    type Reply = Option<i64>;

    fn script(&self) -> ScriptText<'_> {
        READ.text()
    }

    fn write(&self, to: &mut Words) {
        to.count(1).word(&*self.name);
    }

    fn decode(&self, mut items: Items) -> Result<Option<i64>, Malformed> {
        // The script tells nothing that is no number.
        if items.is_empty() { Ok(None) } else { Ok(items.text()?.parse().ok()) }
    }
}
