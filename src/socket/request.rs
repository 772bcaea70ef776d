//! How a call becomes a request.

use redis::Cmd;

use crate::wire::{Call, PlainRelease, Publishing, ScriptText, Words};

/// A command by itself.
#[derive(Clone)]
pub(crate) struct Question(pub(crate) Cmd);

/// Commands that leave in one piece, packed.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) bytes: Vec<u8>,
    pub(super) answers: AnswerCount,
    /// Whether an answer tells of many.
    pub(super) is_list: bool,
    /// Whether ASKING is said before it.
    pub(super) is_asking: bool,
}

/// How many answers there will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerCount {
    One,
    Two,
}

impl Request {
    pub(super) fn one(command: &Cmd) -> Self {
        Self::of(command.get_packed_command(), AnswerCount::One)
    }

    pub(super) fn release(release: &PlainRelease, publishing: Publishing) -> Self {
        let mut bytes = Vec::with_capacity(TYPICAL_BYTES);
        release.write_removal(&mut bytes);
        release.write_announcement(publishing, &mut bytes);
        Self::of(bytes, AnswerCount::Two)
    }

    pub(super) fn eval<C: Call>(form: Form, call: &C, publishing: Publishing) -> Self {
        let mut words = Words::with_capacity(TYPICAL_BYTES);
        form.begin(call.script().publishing(publishing), &mut words);
        call.write(&mut words);
        let mut bytes = Vec::new();
        words.write_to(&mut bytes);
        Self { is_list: call.asks_for_a_list(), ..Self::of(bytes, AnswerCount::One) }
    }

    fn of(bytes: Vec<u8>, answers: AnswerCount) -> Self {
        Self { bytes, answers, is_list: false, is_asking: false }
    }
}

/// Whether a script is sent as its digest or as its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Digest,
    Text,
}

impl Form {
    /// The first words of a script call.
    pub(super) fn begin(self, script: ScriptText<'_>, to: &mut Words) {
        match self {
            Self::Digest => to.word("EVALSHA").word(script.sha),
            Self::Text => to.word("EVAL").word(script.source),
        };
    }
}

/// Has a server of a cluster take the command behind it for a slot that it does not have yet.
pub(super) const ASKING: &[u8] = b"*1\r\n$6\r\nASKING\r\n";

/// What is said of one lock.
const TYPICAL_BYTES: usize = 320;
