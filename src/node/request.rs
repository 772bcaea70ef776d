//! How a call becomes a request.

use redis::Cmd;

use crate::wire::{Call, ScriptText};

/// A command by itself.
#[derive(Clone)]
pub(super) struct Question(pub(super) Cmd);

/// Whether a script is sent as its digest or as its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Digest,
    Text,
}

impl Form {
    pub(super) fn eval<C: Call>(self, call: &C) -> Cmd {
        let mut cmd = Cmd::with_capacity(TYPICAL_ARGS, TYPICAL_BYTES);
        self.begin(call.script(), &mut cmd);
        call.write(&mut cmd);
        cmd
    }

    /// The first words of a script call.
    pub(super) fn begin(self, script: ScriptText, to: &mut Cmd) {
        match self {
            Self::Digest => to.arg("EVALSHA").arg(script.sha),
            Self::Text => to.arg("EVAL").arg(script.source),
        };
    }
}

/// What a call for one lock needs: command, digest, number of keys, key, a few arguments.
const TYPICAL_ARGS: usize = 12;
const TYPICAL_BYTES: usize = 320;
