//! An acquire that looks at the marker in the same script, if its client is that strict.

use std::time::Duration;

use crate::wire::{Call, Items, Malformed, Outcome, ScriptText, Statement, key};

/// Stands before an acquire in one text.
pub(crate) const CHECK: &str = include_str!("check.lua");

/// What is said to a server about one lock: behind a check of the marker, or by itself.
#[derive(Debug, Clone)]
pub(crate) struct Checked {
    pub(crate) statement: Statement,
    pub(crate) check: Option<Check>,
}

/// A look at the marker before anything else is done.
#[derive(Debug, Clone)]
pub(crate) struct Check {
    /// For how long a server without a marker does not vote.
    pub(crate) wait: Duration,
}

impl Call for Checked {
    type Reply = Outcome;

    fn script(&self) -> ScriptText {
        match self.check {
            Some(_) => self.statement.script.behind(CHECK),
            None => self.statement.script.text(),
        }
    }

    fn write(&self, to: &mut redis::Cmd) {
        let Some(check) = &self.check else { return self.statement.write(to) };
        // Marker and time come last, where the check takes them away.
        to.arg(self.statement.keys().len() + 1);
        self.statement.keys().for_each(|key| key.write(to));
        to.arg(key::MARKER);
        self.statement.args().for_each(|arg| arg.write(to));
        to.arg(milliseconds(check.wait));
    }

    /// A check that fails answers as the longest script does; what is too much is not read.
    fn decode(&self, items: Items) -> Result<Outcome, Malformed> {
        self.statement.decode(items)
    }
}

/// Rounded up: nobody may vote too soon.
pub(super) fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_micros().div_ceil(1_000)).unwrap_or(i64::MAX)
}
