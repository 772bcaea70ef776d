//! The votes of one round, node by node.

use std::{collections::BTreeMap, fmt, time::Duration};

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
    #[non_exhaustive]
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

/// The vote of each node in a round; for a lock on one node, a round of one.
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
#[derive(Clone, Default)]
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

    /// The vote of each node, where `word` has another word than [`Vote`] for what became of a
    /// vote.
    pub(super) fn told(&self, word: impl Fn(&Vote) -> Option<&'static str>) -> String {
        let told = |vote: &Vote| word(vote).map_or_else(|| vote.to_string(), str::to_owned);
        self.grouped(told).join("; ")
    }

    /// What nodes say, once each: those of a lock of thousands of names may be few, and say the same.
    fn grouped(&self, told: impl Fn(&Vote) -> String) -> Vec<String> {
        let mut times = BTreeMap::new();
        let mut groups = Vec::new();
        for (node, vote) in self.iter() {
            let group = (node, told(vote));
            let known = times.entry(group.clone()).or_insert(0_usize);
            *known += 1;
            if *known == 1 {
                groups.push((group, matches!(vote, Vote::Failed(_))));
            }
        }
        let others = groups.len().saturating_sub(MOST_GROUPS);
        if others > 0 {
            // Failures are what can be mended.
            groups.sort_by_key(|(_, is_failure)| !is_failure);
            groups.truncate(MOST_GROUPS);
        }
        let lines = groups.iter().map(|(group, _)| match (group, times.get(group)) {
            ((node, told), Some(times @ 2..)) => format!("{node}: {told} ({times} times)"),
            ((node, told), _) => format!("{node}: {told}"),
        });
        lines.chain((others > 0).then(|| format!("{others} other answers"))).collect()
    }
}

impl<'a> IntoIterator for &'a Ballot {
    type Item = (&'a NodeId, &'a Vote);
    type IntoIter = std::iter::Map<
        std::slice::Iter<'a, (NodeId, Vote)>,
        fn(&'a (NodeId, Vote)) -> (&'a NodeId, &'a Vote),
    >;

    /// Every node with its vote, in the order of the members.
    fn into_iter(self) -> Self::IntoIter {
        self.votes.iter().map(|(node, vote)| (node, vote))
    }
}

impl IntoIterator for Ballot {
    type Item = (NodeId, Vote);
    type IntoIter = std::vec::IntoIter<(NodeId, Vote)>;

    /// Every node with its vote, in the order of the members.
    fn into_iter(self) -> Self::IntoIter {
        self.votes.into_iter()
    }
}

/// So many different answers are told.
const MOST_GROUPS: usize = 16;

impl fmt::Display for Ballot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told(|_| None))
    }
}

impl fmt::Debug for Ballot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ballot").field(&self.grouped(|vote| format!("{vote:?}"))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Phase;

    #[test]
    fn many_names_on_one_server_are_told_once() {
        let node = NodeId::new("127.0.0.1:6379/0");
        let late = Vote::Failed(NodeError::TimedOut { phase: Phase::Answering });
        let mut votes = vec![(node.clone(), Vote::Granted); 1_933];
        votes.push((node.clone(), late));
        let ballot = Ballot::new(votes);
        let text = "127.0.0.1:6379/0: granted (1933 times); \
                    127.0.0.1:6379/0: timed out while waiting for the answer";
        assert_eq!(ballot.to_string(), text);
        assert!(format!("{ballot:?}").len() < 200, "{ballot:?}");
    }

    #[test]
    fn of_very_many_answers_the_failures_are_told() {
        let refused = |i| Vote::Refused { ttl: Some(Duration::from_secs(60 + i)) };
        let votes = (0..100_u64).map(refused).chain([Vote::Failed(NodeError::Loading)]);
        let ballot = Ballot::new(votes.map(|vote| (NodeId::new("a"), vote)).collect());
        let text = ballot.to_string();
        assert!(text.starts_with("a: the server is loading its data; a: held by"), "{text}");
        assert_eq!((&ballot).into_iter().count(), ballot.iter().count());
        assert_eq!(ballot.clone().into_iter().count(), 101);
        assert!(text.ends_with("; 85 other answers") && text.len() < 1_000, "{text}");
        assert!(format!("{ballot:?}").len() < 2_000, "{ballot:?}");
    }

    #[test]
    fn how_long_another_holds_it_is_rounded_up() {
        let refused = |ms| Vote::Refused { ttl: Some(Duration::from_millis(ms)) }.to_string();
        assert_eq!(refused(29_873), "held by another for at most 30 s");
        assert_eq!(refused(1_250), "held by another for at most 1.3 s");
    }
}
