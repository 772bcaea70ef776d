//! Acquires: what is said of one lock, and how several share a call.

use std::sync::Arc;

use redis::{ServerError, Value};

use super::{Items, Malformed, Outcome, ScriptText, Statement, Words};

/// What is said to a server to acquire one lock: behind a look at a mark, or by itself. Without its
/// stamp, which it gets when it is sent.
#[derive(Debug)]
pub(crate) struct Acquire {
    pub(crate) statement: Statement,
    pub(crate) check: Option<Check>,
}

/// What is to be as the client knows it, or nothing is acquired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Check {
    /// The script that compares it.
    pub(crate) prologue: &'static str,
    /// The key in which the text is to stand, if it is on that server.
    pub(crate) key: Option<Arc<str>>,
    pub(crate) text: Arc<str>,
    /// Stands before the text, and tells what is compared.
    pub(crate) sign: &'static str,
}

impl Acquire {
    /// The lock's name.
    pub(crate) fn key(&self) -> &str {
        self.statement.key()
    }

    /// Whether both are for one name.
    pub(crate) fn has_key_of(&self, other: &Self) -> bool {
        self.statement.key_bytes() == other.statement.key_bytes()
    }

    /// Whether two for one name may be said in one call.
    pub(crate) fn may_meet(&self) -> bool {
        self.statement.script.in_turns
    }

    /// The same for equal names, and another for most that differ.
    pub(crate) fn print(&self) -> u64 {
        let key = self.statement.key_bytes();
        let end = key.iter().rev().take(8);
        end.fold(key.len() as u64, |print, byte| print.rotate_left(8) ^ u64::from(*byte))
    }

    /// Whether both may be said in one call. Scripts that give all locks of a call one lease take many.
    pub(crate) fn may_share_with(&self, other: &Self) -> bool {
        let (one, two) = (&self.statement, &other.statement);
        std::ptr::eq(one.script, two.script)
            && one.lease_ms().is_some()
            && one.shared_args().eq(two.shared_args())
            && self.check == other.check
    }

    /// How much of a request it takes, roughly.
    pub(crate) fn size(&self) -> usize {
        self.statement.size()
    }

    pub(crate) fn script(&self) -> ScriptText<'_> {
        match &self.check {
            Some(check) => self.statement.script.behind(check.prologue),
            None => self.statement.script.text(),
        }
    }

    /// Appends the number of keys, the keys and the arguments of one call for several locks. This one is
    /// the first of them.
    pub(crate) fn write_call<'a>(
        &self,
        all: impl Iterator<Item = &'a Self> + Clone,
        not_after: i64,
        to: &mut Words,
    ) {
        let statements = || all.clone().map(|one| &one.statement);
        let keys: usize = statements().map(|statement| statement.keys().len()).sum();
        let mark = self.check.as_ref().and_then(|check| check.key.as_deref());
        to.count(keys + usize::from(mark.is_some()));
        statements().flat_map(Statement::keys).for_each(|key| key.write(to));
        // Key and text come last, where the check takes them away.
        if let Some(key) = mark {
            to.word(key);
        }
        self.statement.shared_args().for_each(|arg| arg.write_stamped(not_after, to));
        statements().flat_map(Statement::own_args).for_each(|arg| arg.write_stamped(not_after, to));
        if let Some(check) = &self.check {
            match check.sign {
                "" => to.word(&*check.text),
                sign => to.word(&*[sign, &check.text].concat()),
            };
        }
    }

    /// Reads the answer to a call for several locks, of which this is the first.
    pub(crate) fn answers(&self, answer: Value, locks: usize) -> Result<Answers, Malformed> {
        let of_all = |code, value| AnswerLayout::OfAll(Outcome { code, value, token: 0 });
        let tells_token = self.statement.script.tells_token;
        let said = match (&answer, self.statement.lease_ms()) {
            (Value::Int(_), Some(lease_ms)) if !tells_token => of_all(Outcome::DONE, lease_ms),
            (Value::Array(items), _) if is_of_another_mark(items) => of_all(Outcome::OTHER_MARK, 0),
            (Value::Array(items), _)
                if items.len() == 1 + locks * (2 + usize::from(tells_token)) =>
            {
                AnswerLayout::OfEach { tells_token }
            }
            _ => return Err(Malformed::new("an outcome for each lock", Some(&answer))),
        };
        let mut items = Items::of(answer)?;
        Ok(Answers { server_time: items.int()?, items, said })
    }
}

/// The answer to a call for several locks.
#[derive(Debug)]
pub(crate) struct Answers {
    /// In µs.
    pub(crate) server_time: i64,
    items: Items,
    said: AnswerLayout,
}

#[derive(Debug)]
enum AnswerLayout {
    OfAll(Outcome),
    OfEach { tells_token: bool },
}

/// A check that fails answers once for all locks, and as the longest script does.
fn is_of_another_mark(items: &[Value]) -> bool {
    items.get(1) == Some(&Value::Int(Outcome::OTHER_MARK))
}

impl Answers {
    /// What is said of the next lock: what was done, or why it could not be done there.
    pub(crate) fn next(&mut self) -> Result<Result<Outcome, ServerError>, Malformed> {
        let tells_token = match self.said {
            AnswerLayout::OfAll(outcome) => return Ok(Ok(outcome)),
            AnswerLayout::OfEach { tells_token } => tells_token,
        };
        let (code, value) = (self.items.int_or_error()?, self.items.int()?);
        let token = if tells_token { self.items.int()? } else { 0 };
        Ok(code.map(|code| Outcome { code, value, token }))
    }
}

#[cfg(test)]
mod tests {
    use redis::Value::{Array, Int};

    use super::*;
    use crate::wire::{Arg, Script};

    static SCRIPT: Script = Script::new("acquire", "text", 1, || "a".repeat(40));
    static OTHER: Script = Script::new("other", "text", 1, || "b".repeat(40));

    fn acquire(script: &'static Script, name: &str, lease_ms: i64, mark: Option<&str>) -> Acquire {
        let holder = [Arg::text(&format!("holder of {name}").into())];
        let statement =
            Statement::leasing(script, [&name.into()], lease_ms, [Arg::NotAfter], holder);
        let check = mark.map(|mark| {
            let (key, text) = (Some("mark".into()), mark.into());
            Check { prologue: "check", key, text, sign: "" }
        });
        Acquire { statement, check }
    }

    fn said(all: &[Acquire]) -> String {
        let (mut words, mut bytes) = (Words::default(), Vec::new());
        all[0].write_call(all.iter(), 77, &mut words);
        words.write_to(&mut bytes);
        let lines = String::from_utf8(bytes).unwrap();
        lines.split("\r\n").skip(2).step_by(2).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn one_call_names_all_keys_then_what_is_shared_then_all_holders() {
        for (mark, locks, expected) in [
            (None, &["x"][..], "1 x 9 77 holder of x"),
            (None, &["x", "y"], "2 x y 9 77 holder of x holder of y"),
            (Some("m"), &["x"], "2 x mark 9 77 holder of x m"),
            (Some("m"), &["x", "y"], "3 x y mark 9 77 holder of x holder of y m"),
        ] {
            let all: Vec<_> = locks.iter().map(|name| acquire(&SCRIPT, name, 9, mark)).collect();
            assert_eq!(said(&all), expected);
        }
    }

    #[test]
    fn calls_are_shared_by_those_who_say_the_same_of_everybody() {
        let one = acquire(&SCRIPT, "x", 9, Some("m"));
        assert!(one.may_share_with(&acquire(&SCRIPT, "y", 9, Some("m"))));
        for other in [
            acquire(&OTHER, "y", 9, Some("m")),
            acquire(&SCRIPT, "y", 8, Some("m")),
            acquire(&SCRIPT, "y", 9, Some("n")),
            acquire(&SCRIPT, "y", 9, None),
        ] {
            assert!(!one.may_share_with(&other), "{other:?}");
        }
        let by_itself = |name: &str| {
            let statement = Statement::new(&SCRIPT, [&name.into()], [Arg::Int(0)]);
            Acquire { statement, check: None }
        };
        assert!(!by_itself("x").may_share_with(&by_itself("y")), "it may read one lock only");
    }

    fn answers(value: Value, locks: usize) -> Result<Vec<Option<(i64, i64)>>, Malformed> {
        let mut answers = acquire(&SCRIPT, "x", 9, None).answers(value, locks)?;
        (0..locks)
            .map(|_| Ok(answers.next()?.ok().map(|outcome| (outcome.code, outcome.value))))
            .collect()
    }

    #[test]
    fn answers_are_those_of_each_lock_in_order_or_refused() {
        let ints = |all: &[i64]| Array(all.iter().copied().map(Int).collect());
        assert_eq!(answers(Int(7), 2), Ok(vec![Some((1, 9)); 2]));
        assert_eq!(answers(ints(&[7, 1, 9, 0, 5]), 2), Ok(vec![Some((1, 9)), Some((0, 5))]));
        // A check that fails answers once, as the longest script does.
        for locks in [1, 2, 3] {
            assert_eq!(answers(ints(&[7, -4, 0, 0]), locks), Ok(vec![Some((-4, 0)); locks]));
        }
        for wrong in [&[7, 1, 9][..], &[7, 1, 9, 0], &[7, 1, 9, 0, 5, 1], &[7], &[]] {
            assert!(answers(ints(wrong), 2).is_err(), "{wrong:?}");
        }
        let error = redis::parse_redis_value(b"*5\r\n:7\r\n-NOPERM no\r\n:0\r\n:1\r\n:9\r\n");
        assert_eq!(answers(error.unwrap(), 2), Ok(vec![None, Some((1, 9))]));
    }
}
