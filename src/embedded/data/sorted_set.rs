//! Sorted sets: members by name, and in order of score, then name.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// A score. Never NaN; both zeros are equal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Score(pub(crate) f64);

impl Ord for Score {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.partial_cmp(&other.0).unwrap_or(Ordering::Equal)
    }
}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Score {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Score {}

#[derive(Clone, Debug, Default)]
pub(crate) struct SortedSet {
    scores: BTreeMap<Vec<u8>, Score>,
    order: BTreeSet<(Score, Vec<u8>)>,
}

impl SortedSet {
    pub(crate) fn len(&self) -> usize {
        self.scores.len()
    }

    pub(crate) fn score(&self, member: &[u8]) -> Option<f64> {
        self.scores.get(member).map(|score| score.0)
    }

    pub(crate) fn set(&mut self, member: &[u8], score: f64) {
        // There is no negative zero here: Redis keeps small sets' scores as integers if it can.
        let score = Score(score + 0.0);
        if let Some(known) = self.scores.get_mut(member) {
            let before = std::mem::replace(known, score);
            self.order.remove(&(before, member.to_vec()));
        } else {
            self.scores.insert(member.to_vec(), score);
        }
        self.order.insert((score, member.to_vec()));
    }

    pub(crate) fn remove(&mut self, member: &[u8]) -> bool {
        let Some((member, score)) = self.scores.remove_entry(member) else { return false };
        self.order.remove(&(score, member))
    }

    /// How many members come before this one.
    pub(crate) fn rank(&self, member: &[u8]) -> Option<usize> {
        let entry = (*self.scores.get(member)?, member.to_vec());
        Some(self.order.range(..entry).count())
    }

    /// Members and scores in order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (&Vec<u8>, f64)> {
        self.order.iter().map(|(score, member)| (member, score.0))
    }

    /// Members from this score on, in order.
    pub(crate) fn iter_from(&self, score: f64) -> impl Iterator<Item = (&Vec<u8>, f64)> {
        self.order.range((Score(score), Vec::new())..).map(|(score, member)| (member, score.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_ordered_by_score_then_name() {
        let mut set = SortedSet::default();
        for (member, score) in [("b", 1.0), ("a", 1.0), ("c", 0.5), ("d", f64::INFINITY)] {
            set.set(member.as_bytes(), score);
        }
        set.set(b"d", -0.0);
        let members: Vec<_> = set.iter().map(|(member, _)| member.as_slice()).collect();
        assert_eq!(members, [b"d", b"c", b"a", b"b"]);
        assert_eq!(set.rank(b"a"), Some(2));
        assert_eq!(set.iter().next(), Some((&b"d".to_vec(), 0.0)));
        assert!(set.remove(b"c") && !set.remove(b"c"));
        assert_eq!(set.len(), 3);
    }
}
