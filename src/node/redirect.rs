//! What a server of a cluster says instead of doing what it was asked to. Pure.
//!
//! Each of these words says that nothing was executed, and only therefore may a call be made again.

use crate::error::NodeError;
use crate::reach::{HostPort, OF_CLUSTERS, shown};

/// Where a call is to be made that was not executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Redirect {
    /// There, and all others of the slot, too. Without a host, that of the server that says so.
    Moved(HostPort),
    /// There, behind ASKING, this once: the slot is on its way.
    Ask(HostPort),
    /// Where it was, in a moment: of its keys some have moved already.
    TryAgain,
    /// The same: the slot has no server.
    Down,
}

impl Redirect {
    /// What an error says about it, if it does.
    pub(crate) fn of(error: &NodeError) -> Option<Self> {
        if planted!(MovedSentBlindly) && matches!(error, NodeError::Disconnected { .. }) {
            return Some(Self::Down);
        }
        let NodeError::Server { code, message } = error else { return None };
        match &**code {
            "MOVED" => read_place(message).map(Self::Moved),
            "ASK" => read_place(message).map(Self::Ask),
            "TRYAGAIN" => Some(Self::TryAgain),
            "CLUSTERDOWN" => Some(Self::Down),
            _ => None,
        }
    }

    /// What `error`, which says this, is to a client that knows of one server, and of no cluster.
    pub(super) fn of_one_server(self, error: NodeError) -> NodeError {
        match self {
            Self::Moved(place) | Self::Ask(place) => {
                let place = shown(&place);
                let what = format!(
                    "one of a cluster, and the key is at {place}; name the cluster, {OF_CLUSTERS}"
                );
                NodeError::Unsupported { what: what.into() }
            }
            Self::TryAgain | Self::Down => error,
        }
    }
}

/// Of `MOVED 3999 127.0.0.1:6381`.
fn read_place(message: &str) -> Option<HostPort> {
    let (host, port) = message.split_ascii_whitespace().nth(2)?.rsplit_once(':')?;
    // Those that do not know what they are called say `?`.
    let host = if host == "?" { "" } else { host };
    Some((host.into(), port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_cluster_are_read_and_others_are_not() {
        let place = |host: &str, port| (host.into(), port);
        for (code, rest, redirect) in [
            ("MOVED", "3999 127.0.0.1:6381", Some(Redirect::Moved(place("127.0.0.1", 6381)))),
            ("MOVED", "3999 fd00::7:6381", Some(Redirect::Moved(place("fd00::7", 6381)))),
            ("MOVED", "3999 :6381", Some(Redirect::Moved(place("", 6381)))),
            ("MOVED", "3999 ?:6381", Some(Redirect::Moved(place("", 6381)))),
            ("MOVED", "3999", None),
            ("MOVED", "3999 host:port", None),
            ("ASK", "3999 redis-2:6381", Some(Redirect::Ask(place("redis-2", 6381)))),
            ("TRYAGAIN", "Multiple keys request during rehashing", Some(Redirect::TryAgain)),
            ("CLUSTERDOWN", "Hash slot not served", Some(Redirect::Down)),
            ("ERR", "MOVED 3999 127.0.0.1:6381", None),
        ] {
            let message = format!("{code} {rest}").into();
            let error = NodeError::Server { code: code.into(), message };
            assert_eq!(Redirect::of(&error), redirect, "{code} {rest}");
        }
        assert_eq!(Redirect::of(&NodeError::Loading), None);
    }
}
