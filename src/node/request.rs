//! How a call becomes a request: the command for redis-rs, and its length in bytes.

use redis::{Arg, Cmd};

use crate::wire::Call;

/// A call without the type of its answer, so that calls of all types can wait in one queue.
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

/// How many bytes a command has on the wire: `*<args>`, then `$<length>` and the text of each.
pub(super) fn packed_len(cmd: &Cmd) -> u64 {
    let (mut args, mut bytes) = (0, 0);
    for arg in cmd.args_iter() {
        // The other variant is the cursor of a scan, and we send no scans.
        let len = if let Arg::Simple(text) = arg { text.len() as u64 } else { 0 };
        args += 1;
        bytes += header_len(len) + len + 2;
    }
    header_len(args) + bytes
}

/// The length of `*<number>` or `$<number>` with CR and LF.
fn header_len(number: u64) -> u64 {
    u64::from(number.checked_ilog10().unwrap_or(0)) + 1 + 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_as_redis_rs_packs_them() {
        for lengths in [
            vec![0],
            vec![1, 9, 10, 11],
            vec![99, 100, 101, 999, 1000, 1001],
            vec![7; 9],
            vec![7; 10],
            vec![3; 1234],
        ] {
            let mut cmd = Cmd::new();
            for length in &lengths {
                cmd.arg("x".repeat(*length));
            }
            cmd.arg(i64::MIN).arg(0).arg("snow ☃");
            assert_eq!(packed_len(&cmd), cmd.get_packed_command().len() as u64, "{lengths:?}");
        }
    }
}
