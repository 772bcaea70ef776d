//! An acquire that compares the mark in the same script, where its server is vetted.

use std::sync::Arc;

use crate::wire::{Call, Items, Malformed, Outcome, ScriptText, Statement};

/// Stands before an acquire in one text.
pub(crate) const CHECK: &str = include_str!("check.lua");

/// What is said to a server about one lock: behind a look at the mark, or by itself.
#[derive(Debug, Clone)]
pub(crate) struct Checked {
    pub(crate) statement: Statement,
    /// The mark that is to stand there, if one is.
    pub(crate) mark: Option<Arc<str>>,
    /// The key of the mark.
    pub(crate) key: Arc<str>,
}

impl Call for Checked {
    type Reply = Outcome;

    fn script(&self) -> ScriptText {
        match self.mark {
            Some(_) => self.statement.script.behind(CHECK),
            None => self.statement.script.text(),
        }
    }

    fn write(&self, to: &mut redis::Cmd) {
        let Some(mark) = &self.mark else { return self.statement.write(to) };
        // Key and text come last, where the check takes them away.
        to.arg(self.statement.keys().len() + 1);
        self.statement.keys().for_each(|key| key.write(to));
        to.arg(&*self.key);
        self.statement.all_args().for_each(|arg| arg.write(to));
        to.arg(&**mark);
    }

    /// A check that fails answers as the longest script does; what is too much is not read.
    fn decode(&self, items: Items) -> Result<Outcome, Malformed> {
        self.statement.decode(items)
    }
}
