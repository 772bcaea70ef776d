//! What an error of redis-rs or of a server means to us.
//!
//! Servers tell a refusal by its first word. Inside a script they do not always: Redis 7 reports
//! a missing permission there without a code, and 6.2 and 7.0 wrap the text of an inner error.
//! So the texts are looked at too.

#[cfg(feature = "tls")]
use std::error::Error;
use std::io;
use std::sync::Arc;

use redis::{ErrorKind, RedisError, ServerError};

use crate::{
    error::{NodeError, OF_SERVER, Text},
    wire::Malformed,
};

/// The meaning of an error that a server answered with.
pub(crate) fn of_server(error: &ServerError) -> NodeError {
    of_text(error.code(), error.details().unwrap_or_default())
}

/// The meaning of an error on a connection that was already made.
pub(crate) fn of_redis(error: RedisError) -> NodeError {
    match error.kind() {
        ErrorKind::Parse | ErrorKind::UnexpectedReturnType => malformed(&error),
        ErrorKind::AuthenticationFailed => {
            NodeError::Authentication { message: error.to_string().into() }
        }
        ErrorKind::RESP3NotSupported => no_resp3(),
        ErrorKind::Server(_) | ErrorKind::Extension => {
            // An error among the replies to several commands has no text of its own.
            let first = error.clone().into_server_errors().and_then(|all| all.first().cloned());
            first.map_or_else(
                || of_text(error.code().unwrap_or_default(), error.detail().unwrap_or_default()),
                |(_, error)| of_server(&error),
            )
        }
        _ => broken(&error),
    }
}

/// The meaning of an error while a connection is being made: nothing was sent.
pub(crate) fn of_connecting(error: RedisError) -> NodeError {
    // A server says no to our certificate when it is spoken to, and not before.
    #[cfg(feature = "tls")]
    if let Some(refusal) = io_error(&error).and_then(super::tls::refusal) {
        return refusal;
    }
    match of_redis(error) {
        NodeError::Disconnected { source } => unreachable(&source),
        NodeError::Malformed { .. } => unreachable(&NO_REDIS),
        other => other,
    }
}

/// The error of the stream, which redis-rs keeps in an `Arc`.
#[cfg(feature = "tls")]
fn io_error(error: &RedisError) -> Option<&std::io::Error> {
    error.source()?.downcast_ref::<Arc<dyn Error + Send + Sync>>()?.downcast_ref()
}

pub(crate) const NO_REDIS: &str =
    "what answers there does not speak Redis' protocol; is it the right port?";

pub(crate) fn unreachable(reason: &impl ToString) -> NodeError {
    NodeError::Unreachable { reason: reason.to_string().into() }
}

/// Why no sentinel has told where the master is. One that is none stays so.
pub(crate) fn of_telling(error: io::Error) -> NodeError {
    match error.kind() {
        io::ErrorKind::Unsupported => NodeError::Unsupported { what: error.to_string().into() },
        _ => unreachable(&error),
    }
}

/// The text alone: it is shown as any other of a peer.
pub(crate) fn broken(error: &impl ToString) -> NodeError {
    NodeError::Disconnected { source: Arc::new(Text::from(error.to_string())) }
}

pub(crate) fn malformed(what: &impl ToString) -> NodeError {
    NodeError::Malformed { what: what.to_string().into() }
}

impl From<Malformed> for NodeError {
    fn from(what: Malformed) -> Self {
        malformed(&what)
    }
}

fn no_resp3() -> NodeError {
    let message = "pub/sub needs RESP3, which the server does not speak";
    NodeError::Server { code: "NOPROTO".into(), message: message.into() }
}

fn of_text(code: &str, text: &str) -> NodeError {
    // Where a script answers with the error that it met, Redis 6.2 has the line of the script before it.
    if code.starts_with("@user_script")
        && let Some((_, inner)) = text.split_once(": -")
    {
        let (code, text) = inner.split_once(' ').unwrap_or((inner, ""));
        return of_text(code, text);
    }
    let message = Text::from(format!("{code} {text}").trim());
    // An inner error that a script met comes first: then its outer code says nothing.
    let known =
        CODES.iter().find(|(known, _)| code == *known || (code == "ERR" && wraps(text, known)));
    if let Some((_, meaning)) = known {
        return meaning(message);
    }
    if PERMISSION_TEXTS.iter().any(|known| text.contains(known)) {
        NodeError::Permission { message }
    } else if is_unknown_command(text, "eval") {
        NodeError::ScriptsRefused { message }
    } else if is_unknown_command(text, "hello") {
        no_resp3()
    } else if text.contains("AUTH") && text.contains("without any password") {
        NodeError::Authentication { message }
    } else {
        let inner = OF_SERVER.into_iter().find(|known| code == "ERR" && wraps(text, known));
        NodeError::Server { code: inner.unwrap_or(code).into(), message }
    }
}

/// Whether the server does not know a command that begins so. Redis 6.2 quotes its name by backticks.
fn is_unknown_command(text: &str, name: &str) -> bool {
    let quoted = text.strip_prefix("unknown command ").and_then(|rest| rest.get(1..));
    quoted.and_then(|rest| rest.get(..name.len())).is_some_and(|it| it.eq_ignore_ascii_case(name))
}

/// Whether a script's error text carries the code of an inner error. Whole words only: the text
/// may also name a command, a key or a channel.
fn wraps(text: &str, code: &str) -> bool {
    text.split_ascii_whitespace().any(|word| word.trim_start_matches('-') == code)
}

type Meaning = fn(Text) -> NodeError;

const CODES: [(&str, Meaning); 9] = [
    ("WRONGTYPE", |_| NodeError::ForeignKey),
    ("OOM", |_| NodeError::OutOfMemory),
    ("READONLY", |_| NodeError::Replica),
    ("MASTERDOWN", |_| NodeError::MasterDown),
    ("LOADING", |_| NodeError::Loading),
    ("NOAUTH", |message| NodeError::Authentication { message }),
    ("WRONGPASS", |message| NodeError::Authentication { message }),
    ("NOPERM", |message| NodeError::Permission { message }),
    ("NOPROTO", |_| no_resp3()),
];

/// How Redis 7.0 words a missing permission inside a script, and how 7.2, 8 and Valkey do.
const PERMISSION_TEXTS: [&str; 5] = [
    "ACL failure in script",
    "The user executing the script can't",
    "can't run this command or subcommand",
    "can't access at least one of the keys",
    "can't publish to the channel",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn name(error: &NodeError) -> String {
        let text = format!("{error:?}");
        text.split([' ', '{', '(']).next().unwrap_or_default().to_owned()
    }

    #[test]
    fn answers_of_servers_have_a_type() {
        for (code, text, expected) in [
            ("NOAUTH", "Authentication required.", "Authentication"),
            ("WRONGPASS", "invalid username-password pair or user is disabled.", "Authentication"),
            (
                "ERR",
                "AUTH <password> called without any password configured for the default user. Are \
                 you sure your configuration is correct?",
                "Authentication",
            ),
            ("NOPERM", "this user has no permissions to run the 'evalsha' command", "Permission"),
            (
                "ERR",
                "The user executing the script can't run this command or subcommand script: f_ab, \
                 on @user_script:1.",
                "Permission",
            ),
            (
                "ERR",
                "The user executing the script can't access at least one of the keys mentioned in \
                 the command arguments script: f_ab",
                "Permission",
            ),
            (
                "ERR",
                "ACL failure in script: User app has no permissions to run the 'hset' command \
                 script: ab, on @user_script:18.",
                "Permission",
            ),
            ("READONLY", "You can't write against a read only replica.", "Replica"),
            (
                "ERR",
                "Error running script (call to f_ab): @user_script:1: -READONLY You can't write \
                 against a read only replica.",
                "Replica",
            ),
            ("LOADING", "Redis is loading the dataset in memory", "Loading"),
            ("MASTERDOWN", "Link with MASTER is down", "MasterDown"),
            ("OOM", "command not allowed when used memory > 'maxmemory'.", "OutOfMemory"),
            (
                "ERR",
                "Error running script (call to f_ab): @user_script:1: -OOM command not allowed",
                "OutOfMemory",
            ),
            ("WRONGTYPE", "Operation against a key holding the wrong kind", "ForeignKey"),
            ("ERR", "user_script:1: WRONGTYPE Operation against a key", "ForeignKey"),
            ("ERR", "unknown command 'EVALSHA', with args beginning with: 'ab'", "ScriptsRefused"),
            ("ERR", "unknown command 'eval', with args beginning with:", "ScriptsRefused"),
            ("ERR", "unknown command `EVALSHA`, with args beginning with: `ab`", "ScriptsRefused"),
            ("ERR", "unknown command", "Server"),
            (
                "@user_script:",
                "94: -OOM command not allowed when used memory > 'max'.",
                "OutOfMemory",
            ),
            ("@user_script:", "94: -READONLY You can't write against a read only", "Replica"),
            ("@user_script:", "7: -MISCONF Redis is configured to save RDB snapshots", "Server"),
            ("ERR", "unknown command 'HELLO', with args beginning with: '3'", "Server"),
            ("ERR", "max number of clients reached", "Server"),
            ("MISCONF", "Redis is configured to save RDB snapshots", "Server"),
            ("NOREPLICAS", "Not enough good replicas to write.", "Server"),
            ("NOPERM", "this user may not write to BEDROOM nor LOADING", "Permission"),
            ("BUSY", "Redis is busy running a script.", "Server"),
        ] {
            assert_eq!(name(&of_text(code, text)), expected, "{code} {text}");
        }
    }

    /// What speaks for the server is not taken for one key's error.
    #[test]
    fn errors_of_the_server_inside_a_script_keep_their_code() {
        let text = "Error running script (call to f_ab): @user_script:1: -MISCONF Redis is";
        for error in [of_text("ERR", text), of_text("@user_script:", "1: -MISCONF Redis is")] {
            assert!(!error.may_concern_one_key(), "{error:?}");
        }
        for code in ["ERR", "CROSSSLOT", "TRYAGAIN", "WRONGTYPE", "NOPERM"] {
            assert!(of_text(code, "BUSYBODY").may_concern_one_key(), "{code}");
        }
        for code in [
            "BUSY",
            "LOADING",
            "READONLY",
            "MASTERDOWN",
            "NOAUTH",
            "NOREPLICAS",
            "OOM",
            "MOVED",
            "ASK",
        ] {
            assert!(!of_text(code, "a text").may_concern_one_key(), "{code}");
        }
    }

    #[test]
    fn a_lost_socket_is_unknown_when_it_was_connected_and_harmless_before() {
        let lost = || RedisError::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        assert_eq!(name(&of_redis(lost())), "Disconnected");
        assert_eq!(name(&of_connecting(lost())), "Unreachable");
    }

    #[test]
    fn answers_that_are_no_resp_are_malformed() {
        let garbage = redis::parse_redis_value(b"http/1.1 400 Bad Request\r\n").unwrap_err();
        assert_eq!(name(&of_redis(garbage)), "Malformed");
    }
}
