//! How a call becomes a request.

use redis::Cmd;

use crate::wire::Call;

/// What can be put in an outbox: a script call, or a command.
pub(super) trait AnyCall: Send + Sync {
    fn pack(&self, form: Form) -> Cmd;
}

impl<C: Call> AnyCall for C {
    fn pack(&self, form: Form) -> Cmd {
        form.eval(self)
    }
}

/// A command by itself.
#[derive(Clone)]
pub(super) struct Question(pub(super) Cmd);

impl AnyCall for Question {
    fn pack(&self, _form: Form) -> Cmd {
        self.0.clone()
    }
}

/// Whether a script is sent as its digest or as its text.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    Digest,
    Text,
}

impl Form {
    fn eval<C: Call>(self, call: &C) -> Cmd {
        let (command, script) = match self {
            Self::Digest => ("EVALSHA", call.script().sha),
            Self::Text => ("EVAL", call.script().source),
        };
        let mut cmd = Cmd::with_capacity(TYPICAL_ARGS, script.len() + TYPICAL_BYTES);
        cmd.arg(command).arg(script);
        call.write(&mut cmd);
        cmd
    }
}

/// What a call for one lock needs: command, digest, number of keys, key, a few arguments.
const TYPICAL_ARGS: usize = 12;
const TYPICAL_BYTES: usize = 256;
