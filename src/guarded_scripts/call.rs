//! One call of a guarded script, and what its answer means.

use std::{fmt, sync::Arc};

use super::{Argument, ScriptReply, script::GuardedScript};
use crate::wire::{Call, Composed, HoldCheck, Items, Malformed, ScriptText, Words};

/// What a user says to a script: its keys and its arguments, as bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct GuardedWords {
    pub(super) keys: Vec<Vec<u8>>,
    args: Vec<Vec<u8>>,
}

/// A script with all that it is told.
#[derive(Debug, Clone)]
pub(crate) struct GuardedCall {
    text: Arc<Composed>,
    words: Arc<GuardedWords>,
    check: Arc<HoldCheck>,
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum GuardedAnswer {
    /// Nothing of the user's was executed. `taken` is what the prologue says beside it.
    Refused {
        taken: ScriptReply,
    },
    Done(ScriptReply),
    /// It was executed until this error, and what it wrote before stands.
    Failed(String),
}

impl GuardedWords {
    pub(crate) fn add_key(&mut self, key: impl Argument) {
        self.keys.push(key.into_bytes());
    }

    pub(crate) fn add_arg(&mut self, arg: impl Argument) {
        self.args.push(arg.into_bytes());
    }

    /// Ends what `Debug` shows of a call: how much is said, and not what.
    pub(crate) fn show(
        &self,
        script: &GuardedScript,
        shown: &mut fmt::DebugStruct<'_, '_>,
    ) -> fmt::Result {
        shown.field("script", script);
        shown.field("keys", &self.keys.len()).field("args", &self.args.len());
        shown.finish_non_exhaustive()
    }

    /// In bytes.
    fn size(&self) -> usize {
        self.keys.iter().chain(&self.args).map(Vec::len).sum()
    }
}

impl GuardedCall {
    /// Whether locks would wait noticeably long behind it on one socket.
    pub(super) fn is_large(&self) -> bool {
        self.words.size() > LARGE
    }

    pub(crate) fn new(script: &GuardedScript, words: GuardedWords, check: HoldCheck) -> Self {
        let text = script.behind(check.prologue);
        Self { text, words: Arc::new(words), check: Arc::new(check) }
    }
}

impl Call for GuardedCall {
    type Reply = GuardedAnswer;

    fn script(&self) -> ScriptText<'_> {
        self.text.text()
    }

    fn write(&self, to: &mut Words) {
        let (words, check) = (&*self.words, &*self.check);
        to.count(words.keys.len() + check.keys.len());
        for key in &words.keys {
            to.word(key);
        }
        for key in &check.keys {
            to.word(&**key);
        }
        for arg in &words.args {
            to.word(arg);
        }
        check.args.iter().for_each(|arg| arg.write(to));
    }

    /// It may be of any length.
    fn asks_for_a_list(&self) -> bool {
        true
    }

    /// The user's script may not pay for what it does not want.
    fn leaves_out_time(&self, _items: &Items) -> bool {
        true
    }

    fn decode(&self, mut items: Items) -> Result<GuardedAnswer, Malformed> {
        let code = items.int()?;
        Ok(match code {
            0 => GuardedAnswer::Refused {
                taken: ScriptReply::of(items.value())?.unwrap_or(ScriptReply::Nil),
            },
            1 => match ScriptReply::of(items.value())? {
                Ok(reply) => GuardedAnswer::Done(reply),
                Err(error) => GuardedAnswer::Failed(error),
            },
            _ => GuardedAnswer::Failed(items.text()?),
        })
    }
}

/// In bytes, beside the script itself.
const LARGE: usize = 64 * 1024;
