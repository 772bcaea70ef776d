//! Which code says why servers refused: whether it passes by itself, and if not, what has to be changed.

use palisade::{
    AcquireError,
    error::{Ballot, BlessError, ChangeError, GuardedError, InspectError, NodeError},
};

use crate::exit::{
    CONFIGURATION, Failure, LOST, NO_RIGHTS, NOT_NEW, NOT_YET, SYSTEM, UNAVAILABLE, USAGE,
};

/// The lock was not acquired. `all`: every server was to grant it.
pub(crate) fn of_acquire(error: &AcquireError, all: bool) -> Failure {
    let code = match error {
        AcquireError::Config(_) => USAGE,
        AcquireError::Quarantined { .. } => NOT_YET,
        AcquireError::Unavailable { ballot, .. } | AcquireError::Denied { ballot, .. } => {
            of_ballot(ballot, all)
        }
        _ => UNAVAILABLE,
    };
    Failure::new(code, error)
}

/// A lasting cause counts if the servers without one are too few, however well they answer.
fn of_ballot(ballot: &Ballot, all: bool) -> u8 {
    let asked = ballot.iter().count();
    let need = if all { asked } else { asked / 2 + 1 };
    let lasting: Vec<u8> = ballot
        .failures()
        .map(|(_, cause)| of_node(cause))
        .filter(|it| *it != UNAVAILABLE)
        .collect();
    match lasting.first() {
        Some(first) if asked - lasting.len() < need => *first,
        _ => UNAVAILABLE,
    }
}

/// A server was not asked successfully for the holders of a lock.
pub(crate) fn of_inspect(error: &InspectError) -> u8 {
    match error {
        InspectError::Config(_) => USAGE,
        InspectError::Node { source, .. } => of_node(source),
        _ => UNAVAILABLE,
    }
}

/// It is not known under the lock whether the command is due.
pub(crate) fn of_guarded(error: &GuardedError) -> Failure {
    let code = match error {
        GuardedError::Config(_) => USAGE,
        GuardedError::Lost(_) | GuardedError::NotHeld { .. } => LOST,
        GuardedError::NotDone { source, .. } | GuardedError::Unknown { source, .. } => {
            of_node(source)
        }
        GuardedError::Script { error, .. } if error.contains("WRONGTYPE") => CONFIGURATION,
        GuardedError::Script { .. } => NO_RIGHTS,
        _ => UNAVAILABLE,
    };
    Failure::new(code, error)
}

/// Permits could not be set or counted.
pub(crate) fn of_change(error: &ChangeError) -> u8 {
    match error {
        ChangeError::Config(_) => USAGE,
        ChangeError::NotMade { source, .. } | ChangeError::Unknown { source, .. } => {
            of_node(source)
        }
        _ => UNAVAILABLE,
    }
}

/// Too few servers answered; the others have failed with these. What does not pass by itself comes first.
pub(crate) fn of_too_few(mut codes: impl Iterator<Item = u8>) -> u8 {
    codes.find(|code| *code != UNAVAILABLE).unwrap_or(UNAVAILABLE)
}

/// Servers were not blessed.
pub(crate) fn of_bless(error: &BlessError) -> u8 {
    match error {
        BlessError::Config(_) => USAGE,
        BlessError::Node { source, .. } | BlessError::NotWritten { source, .. } => of_node(source),
        BlessError::Unidentified { .. } => NO_RIGHTS,
        BlessError::ForeignMarker { .. } => CONFIGURATION,
        _ => NOT_NEW,
    }
}

/// One server's cause.
pub(crate) fn of_node(cause: &NodeError) -> u8 {
    match cause {
        NodeError::Permission { .. } | NodeError::Unidentified => NO_RIGHTS,
        NodeError::Tls { .. }
        | NodeError::Authentication { .. }
        | NodeError::Unsupported { .. }
        | NodeError::ScriptsRefused { .. }
        | NodeError::ForeignKey
        | NodeError::OtherKind
        | NodeError::ForeignCounter
        | NodeError::ForeignMarker => CONFIGURATION,
        // What SELECT says to a number that is too great.
        NodeError::Server { message, .. } if message.contains("DB index") => CONFIGURATION,
        // What a server, or a script there, says of a command that its configuration has renamed.
        NodeError::Server { message, .. } if is_unknown_command(message) => CONFIGURATION,
        // It is another kind of server.
        NodeError::Unreachable { reason, .. }
            if reason.contains("does not speak Redis' protocol") =>
        {
            CONFIGURATION
        }
        // As std words EMFILE: no descriptor was left for the socket.
        NodeError::Unreachable { reason, .. } if reason.contains("os error 24") => SYSTEM,
        _ => UNAVAILABLE,
    }
}

fn is_unknown_command(message: &str) -> bool {
    ["unknown command", "Unknown Redis command"].iter().any(|words| message.contains(words))
}
