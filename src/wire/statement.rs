//! One lock's share of a script call.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Call, Items, Malformed, Script, ScriptText, Words};

/// A key or an argument of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Arg {
    Bytes(Arc<[u8]>),
    Int(i64),
    /// The server's time in µs after which an acquire is to change nothing: known when it is sent.
    NotAfter,
}

impl Arg {
    pub(crate) fn text(text: &Arc<str>) -> Self {
        Self::Bytes(text.clone().into())
    }

    pub(crate) fn write(&self, to: &mut Words) {
        match self {
            Self::Bytes(bytes) => to.word(bytes),
            Self::Int(number) => to.int(*number),
            // The sender of an acquire has put its stamp here.
            Self::NotAfter => to.int(i64::MIN),
        };
    }

    /// The same where a stamp is to stand.
    pub(super) fn write_stamped(&self, not_after: i64, to: &mut Words) {
        match self {
            Self::NotAfter => Self::Int(not_after).write(to),
            other => other.write(to),
        }
    }

    /// How much of a request it takes, roughly.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len() + 8,
            Self::Int(_) | Self::NotAfter => 24,
        }
    }
}

/// What is said about one lock: its keys, its arguments and the script that reads them.
///
/// Statements of one script travel together, k in a call. All keys of a lock are in one slot of a
/// cluster.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    pub(crate) script: &'static Script,
    /// How many of the words are keys.
    keys: usize,
    /// How many of those behind the keys are said once in a call, for all its locks.
    shared: usize,
    /// The lease that is asked for, in ms: what is told by an answer without a word about each lock.
    lease_ms: Option<i64>,
    /// Whether the call does not ask for the server's time.
    is_brief: bool,
    words: SmallVec<[Arg; 7]>,
}

impl Statement {
    pub(crate) fn new<const K: usize, const A: usize>(
        script: &'static Script,
        keys: [&Arc<str>; K],
        args: [Arg; A],
    ) -> Self {
        Self::of(script, keys, None, [], args)
    }

    /// The same of a script that gives all locks of a call one lease, behind which they share a few
    /// more arguments.
    pub(crate) fn leasing<const K: usize, const S: usize, const A: usize>(
        script: &'static Script,
        keys: [&Arc<str>; K],
        lease_ms: i64,
        shared: [Arg; S],
        args: [Arg; A],
    ) -> Self {
        Self::of(script, keys, Some(lease_ms), shared, args)
    }

    fn of<const K: usize, const S: usize, const A: usize>(
        script: &'static Script,
        keys: [&Arc<str>; K],
        lease_ms: Option<i64>,
        shared: [Arg; S],
        args: [Arg; A],
    ) -> Self {
        debug_assert_eq!(A, script.args_per_lock, "{}", script.name);
        // One by one: with `extend` this takes twice as many instructions.
        let mut words = SmallVec::with_capacity(K + usize::from(lease_ms.is_some()) + S + A);
        keys.into_iter().for_each(|key| words.push(Arg::text(key)));
        lease_ms.into_iter().for_each(|lease| words.push(Arg::Int(lease)));
        shared.into_iter().chain(args).for_each(|arg| words.push(arg));
        let shared = words.len() - K - A;
        Self { script, keys: K, shared, lease_ms, is_brief: false, words }
    }

    /// The same without a question for the server's time, which a script can leave out then. The time and an
    /// answer that has it cost as much as three commands. Not for one of several in a call.
    pub(crate) fn set_brief(&mut self, is_brief: bool) {
        self.is_brief = is_brief && self.script.can_be_brief;
    }

    /// The first key, which is the lock's name and stands for all.
    pub(crate) fn key(&self) -> &str {
        std::str::from_utf8(self.key_bytes()).unwrap_or_default()
    }

    /// The same, unread.
    pub(super) fn key_bytes(&self) -> &[u8] {
        match self.words.first() {
            Some(Arg::Bytes(key)) => key,
            Some(Arg::Int(_) | Arg::NotAfter) | None => &[],
        }
    }

    pub(crate) fn keys(&self) -> impl ExactSizeIterator<Item = &Arg> {
        self.words.iter().take(self.keys)
    }

    /// The lease that it asks for, in ms, if it does: one call asks for one.
    pub(crate) fn lease_ms(&self) -> Option<i64> {
        self.lease_ms
    }

    /// Everything behind the keys.
    fn all_args(&self) -> impl Iterator<Item = &Arg> {
        self.words.iter().skip(self.keys)
    }

    pub(super) fn shared_args(&self) -> impl Iterator<Item = &Arg> {
        self.all_args().take(self.shared)
    }

    pub(super) fn own_args(&self) -> impl Iterator<Item = &Arg> {
        self.all_args().skip(self.shared)
    }

    /// How much of a request it takes, roughly.
    pub(crate) fn size(&self) -> usize {
        self.words.iter().map(Arg::size).sum()
    }

    fn decode_one(&self, items: &mut Items) -> Result<Outcome, Malformed> {
        let (code, value) = (items.int()?, items.int()?);
        let token = if self.script.tells_token { items.int()? } else { 0 };
        Ok(Outcome { code, value, token })
    }

    /// What is told of each lock by an answer that says nothing of any: it is held for the lease now.
    fn all_done(&self, items: &Items) -> Option<Outcome> {
        let lease_ms = self.lease_ms.filter(|_| items.is_empty() && !self.script.tells_token)?;
        Some(Outcome { code: Outcome::DONE, value: lease_ms, token: 0 })
    }
}

/// What a script answered about one lock: a code that says what was done, and a number with it.
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
    /// The key is of another type, or a hash that is no lock, and was not touched.
    pub(crate) const FOREIGN: i64 = -2;
    /// The counter's key holds no counter, or none that can be raised; nothing was changed.
    pub(crate) const FOREIGN_COUNTER: i64 = -3;
    /// Another mark stands in the data than the one that was named, or none; nothing was changed.
    pub(crate) const OTHER_MARK: i64 = -4;

    /// The key is a lock of another kind, and was not touched.
    pub(crate) const OTHER_KIND: i64 = -5;

    /// Not done: the lock is held by another, or not held at all.
    pub(crate) const REFUSED: i64 = 0;
    /// Not done, and something was left behind that is to be [taken back](crate::kind::Statements::release).
    pub(crate) const QUEUED: i64 = -6;
    /// The same, and what was left is a place at the end of a queue: there was none before.
    pub(crate) const LINED_UP: i64 = -7;

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
    /// `statements` must not be empty and must all be of `script`, with one lease.
    pub(crate) fn new(script: &'static Script, statements: Vec<Statement>) -> Self {
        debug_assert!(statements.iter().all(|s| std::ptr::eq(s.script, script)));
        Self { script, statements }
    }

    /// One more of the same script and lease.
    pub(crate) fn push(&mut self, statement: Statement) {
        debug_assert!(std::ptr::eq(statement.script, self.script));
        self.statements.push(statement);
    }

    /// The script of all of them.
    pub(crate) fn shared_script(&self) -> &'static Script {
        self.script
    }

    /// Takes out what comes from `at` on.
    pub(crate) fn split_off(&mut self, at: usize) -> Self {
        Self { script: self.script, statements: self.statements.split_off(at) }
    }

    pub(crate) fn into_statements(self) -> Vec<Statement> {
        self.statements
    }

    /// The lease that all of them ask for, in ms, if they do.
    pub(crate) fn lease_ms(&self) -> Option<i64> {
        self.statements.first()?.lease_ms()
    }

    /// The first of its keys, which stands for all: they travel together.
    pub(crate) fn key(&self) -> &str {
        self.statements.first().map_or("", Statement::key)
    }
}

impl Call for Batch {
    type Reply = Vec<Outcome>;

    fn script(&self) -> ScriptText<'_> {
        self.script.text()
    }

    fn write(&self, to: &mut Words) {
        write_all(&self.statements, to);
    }

    fn decode(&self, mut items: Items) -> Result<Vec<Outcome>, Malformed> {
        let all_done = self.statements.first().and_then(|first| first.all_done(&items));
        let outcome = |statement: &Statement| match all_done {
            Some(outcome) => Ok(outcome),
            None => statement.decode_one(&mut items),
        };
        self.statements.iter().map(outcome).collect()
    }
}

impl Call for Statement {
    type Reply = Outcome;

    fn script(&self) -> ScriptText<'_> {
        self.script.text()
    }

    fn write(&self, to: &mut Words) {
        write_all(std::slice::from_ref(self), to);
        if self.is_brief {
            to.int(1);
        }
    }

    fn leaves_out_time(&self, items: &Items) -> bool {
        self.is_brief && items.is_one()
    }

    fn decode(&self, mut items: Items) -> Result<Outcome, Malformed> {
        if self.leaves_out_time(&items) {
            return Ok(Outcome { code: Outcome::DONE, value: items.int()?, token: 0 });
        }
        self.all_done(&items).map_or_else(|| self.decode_one(&mut items), Ok)
    }
}

/// The number of keys, the keys of all, the arguments that they share, and those of each.
fn write_all(statements: &[Statement], to: &mut Words) {
    to.count(statements.iter().map(|statement| statement.keys).sum());
    statements.iter().flat_map(Statement::keys).for_each(|key| key.write(to));
    statements.iter().take(1).flat_map(Statement::shared_args).for_each(|arg| arg.write(to));
    statements.iter().flat_map(Statement::own_args).for_each(|arg| arg.write(to));
}

#[cfg(test)]
mod tests {
    use redis::Value;

    use super::*;
    use crate::wire::test_answers::for_any_answer;

    static PLAIN: Script = Script::new("plain", "text", 1, || "a".repeat(40));
    static BRIEF: Script = Script::new("brief", "text", 1, || "b".repeat(40)).brief_if_asked();

    fn of(script: &'static Script, is_brief: bool) -> Statement {
        let mut statement = Statement::new(script, [&"x".into()], [Arg::Int(7)]);
        statement.set_brief(is_brief);
        statement
    }

    fn said(statement: &Statement) -> String {
        let (mut words, mut bytes) = (Words::default(), Vec::new());
        statement.write(&mut words);
        words.write_to(&mut bytes);
        let lines = String::from_utf8(bytes).unwrap();
        lines.split("\r\n").skip(2).step_by(2).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn scripts_are_told_that_nobody_asks_for_the_time_if_they_can_leave_it_out() {
        assert_eq!(said(&of(&BRIEF, true)), "1 x 7 1");
        for statement in [of(&BRIEF, false), of(&PLAIN, true)] {
            assert_eq!(said(&statement), "1 x 7");
        }
        let mut again = of(&BRIEF, true);
        again.set_brief(false);
        assert_eq!(said(&again), "1 x 7");
    }

    #[test]
    fn number_alone_is_no_time_where_nobody_asked_for_it() {
        let leaves_out = |statement: Statement, answer: &Value| {
            statement.leaves_out_time(&Items::of(answer.clone()).unwrap())
        };
        let alone = Value::Int(3);
        assert!(leaves_out(of(&BRIEF, true), &alone));
        assert!(!leaves_out(of(&BRIEF, false), &alone));
        assert!(!leaves_out(of(&PLAIN, true), &alone));
        let all = Value::Array([9, 0, 1].map(Value::Int).into());
        assert!(!leaves_out(of(&BRIEF, true), &all));
        let done = of(&BRIEF, true).decode(Items::of(alone).unwrap());
        assert_eq!(done, Ok(Outcome { code: Outcome::DONE, value: 3, token: 0 }));
        for_any_answer(|answer| {
            drop(Items::of(answer).map(|items| of(&BRIEF, true).decode(items)));
        });
    }
}
