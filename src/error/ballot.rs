//! The votes of one round, node by node.

use std::{fmt, time::Duration};

use super::{NodeError, NodeId, rounded::at_most};

/// One node's answer to an attempt to acquire.
///
/// # Examples
/// ```
/// use palisade::error::{Ballot, Vote};
///
/// /// On how many servers another holds the lock.
/// fn held_by_others(ballot: &Ballot) -> usize {
///     ballot.iter().filter(|(_, vote)| matches!(vote, Vote::Refused { .. })).count()
/// }
/// assert_eq!(held_by_others(&Ballot::default()), 0);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Vote {
    /// The node granted the lock. After a lost round this was taken back.
    Granted,
    /// Another holds the lock there.
    Refused {
        /// How much longer at most, unless its holder renews it; `None` if for ever.
        ttl: Option<Duration>,
    },
    /// The node gave no answer, or an error.
    Failed(NodeError),
    /// The round was decided before the node answered.
    Pending,
}

impl Vote {
    /// Whether the node was not asked since it may have forgotten something.
    pub(crate) const fn is_quarantined(&self) -> bool {
        matches!(self, Self::Failed(NodeError::Quarantined { .. }))
    }
}

impl fmt::Display for Vote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Granted => f.write_str("granted"),
            Self::Refused { ttl: Some(ttl) } => {
                write!(f, "held by another for at most {}", at_most(*ttl))
            }
            Self::Refused { ttl: None } => f.write_str("held by another without a ttl"),
            Self::Failed(cause) => write!(f, "{cause}"),
            Self::Pending => f.write_str("not answered yet"),
        }
    }
}

/// Who voted how in a round; for a lock on one node, a round of one.
///
/// # Examples
/// ```
/// use palisade::{AcquireError, error::Ballot};
///
/// fn report(error: &AcquireError) {
///     for (node, cause) in error.ballot().into_iter().flat_map(Ballot::failures) {
///         eprintln!("{node}: {cause}");
///     }
/// }
/// report(&AcquireError::Shutdown);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Ballot {
    votes: Vec<(NodeId, Vote)>,
}

impl Ballot {
    pub(crate) fn new(votes: Vec<(NodeId, Vote)>) -> Self {
        Self { votes }
    }

    /// Every node with its vote, in the order of the members.
    pub fn iter(&self) -> impl Iterator<Item = (&NodeId, &Vote)> {
        self.votes.iter().map(|(node, vote)| (node, vote))
    }

    /// Why nodes failed to vote.
    pub fn failures(&self) -> impl Iterator<Item = (&NodeId, &NodeError)> {
        self.iter().filter_map(|(node, vote)| match vote {
            Vote::Failed(cause) => Some((node, cause)),
            Vote::Granted | Vote::Refused { .. } | Vote::Pending => None,
        })
    }

    /// Who voted how, where `word` has another word than [`Vote`] for what became of a vote.
    pub(super) fn told(&self, word: impl Fn(&Vote) -> Option<&'static str>) -> String {
        let told = |(node, vote): (_, &Vote)| match word(vote) {
            Some(word) => format!("{node}: {word}"),
            None => format!("{node}: {vote}"),
        };
        self.iter().map(told).collect::<Vec<_>>().join("; ")
    }
}

impl fmt::Display for Ballot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told(|_| None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_another_holds_it_is_rounded_up() {
        let refused = |ms| Vote::Refused { ttl: Some(Duration::from_millis(ms)) }.to_string();
        assert_eq!(refused(29_873), "held by another for at most 30 s");
        assert_eq!(refused(1_250), "held by another for at most 1.3 s");
    }
}
