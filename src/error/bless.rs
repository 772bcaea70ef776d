//! Why masters were not blessed.

use std::time::Duration;

use super::{ConfigError, NodeError, NodeId, Text, rounded::at_least};

/// Why masters were not blessed.
///
/// Nothing was written, except where a variant says so.
///
/// # Examples
/// ```
/// use palisade::{Masters, error::BlessError};
///
/// async fn introduce(masters: &Masters) -> Result<(), BlessError> {
///     match masters.bless().await {
///         // Their votes count already.
///         Err(BlessError::Old { .. }) => Ok(()),
///         done => done,
///     }
/// }
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum BlessError {
    /// Two of the masters are one server.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A master gave no answer, or refused to show its marker.
    #[error("cannot ask {node}: {source}")]
    #[non_exhaustive]
    Node {
        /// The master.
        node: NodeId,
        /// The cause.
        source: NodeError,
    },
    /// A master does not tell which run it is, so a marker could not name it: its user may not ask
    /// `INFO server`. The ACL rule `+info|server` allows it.
    #[error("the user may not ask {node} who it is; add the ACL rule +info|server")]
    #[non_exhaustive]
    Unidentified {
        /// The master.
        node: NodeId,
    },
    /// The marker's key holds something else. It is not touched, not even by force.
    #[error("{node} has a key palisade:marker that is not a marker")]
    #[non_exhaustive]
    ForeignMarker {
        /// The master.
        node: NodeId,
    },
    /// A master was blessed before, in this life or in an earlier one: it is not new.
    #[error("{node} was blessed before, as one of the fleet {fleet} with max_lease {max_lease:?}")]
    #[non_exhaustive]
    BlessedBefore {
        /// The master.
        node: NodeId,
        /// What the masters that were blessed together have in common.
        fleet: Text,
        /// The longest lease that it was blessed for.
        max_lease: Duration,
    },
    /// A master has voted before, in this life or in an earlier one: its data has a mark that says so.
    #[error("{node} has voted before: its data is marked")]
    #[non_exhaustive]
    MarkedBefore {
        /// The master.
        node: NodeId,
    },
    /// A master has lost its data, although it has been running for long: it may have forgotten locks.
    /// Its votes count by themselves after a while.
    #[error("{node} has lost its data while it was running and may have forgotten locks")]
    #[non_exhaustive]
    DataLost {
        /// The master.
        node: NodeId,
    },
    /// All masters have been running for so long that their votes count: there is nothing to do.
    #[error(
        "the masters have been running for {} and more: their votes count already",
        at_least(*.uptime)
    )]
    #[non_exhaustive]
    Old {
        /// The least uptime.
        uptime: Duration,
    },
    /// Some masters are young, the others are not: the young ones have come back, and may have
    /// forgotten locks. Their votes count by themselves after a while.
    #[error(
        "only {} of the masters are young: they have come back and may have forgotten locks", list(.young)
    )]
    #[non_exhaustive]
    HalfYoung {
        /// Those that were started lately.
        young: Vec<NodeId>,
        /// Those that were not.
        old: Vec<NodeId>,
    },
    /// A marker could not be written. Those that were written have been taken back, except on the
    /// masters in `left`, which gave no answer: these may vote at once. In the eyes of clients that
    /// looked in between, the others may vote too.
    #[error("the marker could not be written on {node}{}: {source}", left_on(.left))]
    #[non_exhaustive]
    NotWritten {
        /// The first master that failed.
        node: NodeId,
        /// The cause.
        source: NodeError,
        /// Where a marker may have been left.
        left: Vec<NodeId>,
    },
    /// Another client has written a marker at the same time. Ours have been taken back, except on
    /// the masters in `left`, which gave no answer.
    #[error("somebody else has marked {node} meanwhile{}", left_on(.left))]
    #[non_exhaustive]
    Overtaken {
        /// The first master where that was seen.
        node: NodeId,
        /// Where a marker of ours may have been left.
        left: Vec<NodeId>,
    },
}

fn list(nodes: &[NodeId]) -> String {
    nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn left_on(nodes: &[NodeId]) -> String {
    if nodes.is_empty() {
        "; those that were written have been taken back".to_owned()
    } else {
        format!("; markers may be left on {}", list(nodes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_fleet_is_told_its_age_without_nanoseconds() {
        let old = BlessError::Old { uptime: Duration::from_nanos(72_000_065_708) };
        let says = "the masters have been running for 72 s and more: their votes count already";
        assert_eq!(old.to_string(), says);
    }
}
