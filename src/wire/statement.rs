//! One lock's share of a script call.

use std::sync::Arc;

use super::{Call, Items, Malformed, Script};

/// An argument of a script.
#[derive(Debug, Clone)]
pub(crate) enum Arg {
    Text(Arc<str>),
    Int(i64),
}

impl Arg {
    pub(crate) fn write(&self, to: &mut redis::Cmd) {
        match self {
            Self::Text(text) => to.arg(&**text),
            Self::Int(number) => to.arg(*number),
        };
    }
}

/// What is said about one lock: its keys, its arguments and the script that reads them.
///
/// Statements of one script travel together, k in a call.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    pub(crate) script: &'static Script,
    pub(crate) key: Arc<str>,
    /// For scripts of two keys for each lock: it must be in the cluster slot of the first.
    pub(crate) second_key: Option<Arc<str>>,
    pub(crate) args: Vec<Arg>,
}

impl Statement {
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        [Some(&self.key), self.second_key.as_ref()].into_iter().flatten().map(|key| &**key)
    }

    fn decode_one(script: &Script, items: &mut Items) -> Result<Outcome, Malformed> {
        let (code, value) = (items.int()?, items.int()?);
        let token = if script.tells_token { items.int()? } else { 0 };
        Ok(Outcome { code, value, token })
    }
}

/// What a script answered about one lock. Any other
/// code (0, mostly) says no: another holds it, or it is no longer ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) code: i64,
    pub(crate) value: i64,
    /// The fencing token, from scripts that tell one; else 0.
    pub(crate) token: i64,
}

impl Outcome {
    /// Done, for the lock this speaks of.
    pub(crate) const DONE: i64 = 1;
    /// The request came after its not-after stamp and changed nothing.
    pub(crate) const STALE: i64 = -1;
    /// The key is of another type and was not touched.
    pub(crate) const FOREIGN: i64 = -2;
    /// The counter's key holds no counter, or none that can be raised; nothing was changed.
    pub(crate) const FOREIGN_COUNTER: i64 = -3;
    /// The marker says that the server does not vote for so long, in ms; nothing was changed.
    pub(crate) const QUARANTINED: i64 = -4;
    /// The marker's key holds something else; nothing was changed.
    pub(crate) const FOREIGN_MARKER: i64 = -5;

    /// Not done: the lock is held by another, or by nobody.
    pub(crate) const REFUSED: i64 = 0;

    /// Whether a renewal or a count found the lock held by another.
    pub(crate) const fn is_taken(self) -> bool {
        self.code == Self::REFUSED && self.value == 1
    }
}

/// Statements of one and the same script, sent in one call.
#[derive(Debug, Clone)]
pub(crate) struct Batch {
    script: &'static Script,
    statements: Vec<Statement>,
}

impl Batch {
    /// `statements` must not be empty and must all be of `script`.
    pub(crate) fn new(script: &'static Script, statements: Vec<Statement>) -> Self {
        debug_assert!(statements.iter().all(|s| std::ptr::eq(s.script, script)));
        Self { script, statements }
    }

    /// Takes out what comes from `at` on.
    pub(crate) fn split_off(&mut self, at: usize) -> Self {
        Self { script: self.script, statements: self.statements.split_off(at) }
    }

    /// The first of its keys, which stands for all: they travel together.
    pub(crate) fn key(&self) -> &str {
        self.statements.first().map_or("", |statement| &statement.key)
    }

    /// What the script is called in messages.
    pub(crate) fn name(&self) -> &'static str {
        self.script.name
    }
}

impl Call for Batch {
    type Reply = Vec<Outcome>;

    fn script(&self) -> &'static Script {
        self.script
    }

    fn write(&self, to: &mut redis::Cmd) {
        write_all(&self.statements, to);
    }

    fn decode(&self, mut items: Items) -> Result<Vec<Outcome>, Malformed> {
        let outcomes = self.statements.iter();
        outcomes.map(|_| Statement::decode_one(self.script, &mut items)).collect()
    }
}

impl Call for Statement {
    type Reply = Outcome;

    fn script(&self) -> &'static Script {
        self.script
    }

    fn write(&self, to: &mut redis::Cmd) {
        write_all(std::slice::from_ref(self), to);
    }

    fn decode(&self, mut items: Items) -> Result<Outcome, Malformed> {
        Self::decode_one(self.script, &mut items)
    }
}

/// The number of keys, the keys of all, and the arguments of all.
fn write_all(statements: &[Statement], to: &mut redis::Cmd) {
    let keys = || statements.iter().flat_map(Statement::keys);
    to.arg(keys().count());
    for key in keys() {
        to.arg(key);
    }
    statements.iter().flat_map(|s| &s.args).for_each(|arg| arg.write(to));
}
