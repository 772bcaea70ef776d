//! Whose turn it is to be released: however many guards are dropped, others are to reach the node too,
//! and a release that waits is smaller than one that is under way. Pure.

use std::collections::{BTreeMap, VecDeque};

/// By node. What stands for a job is whatever is to begin.
#[derive(Debug)]
pub(super) struct Turns<N, J>(BTreeMap<N, Turn<J>>);

#[derive(Debug)]
struct Turn<J> {
    under_way: usize,
    waiting: VecDeque<J>,
}

impl<N, J> Default for Turns<N, J> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<N: Ord, J> Turns<N, J> {
    /// The job, if it may begin.
    pub(super) fn admit(&mut self, node: N, job: J) -> Option<J> {
        let new = || Turn { under_way: 0, waiting: VecDeque::new() };
        let turn = self.0.entry(node).or_insert_with(new);
        if turn.under_way == AT_ONCE {
            turn.waiting.push_back(job);
            return None;
        }
        turn.under_way += 1;
        Some(job)
    }

    /// What may begin once a release on this node is done.
    pub(super) fn next(&mut self, node: &N) -> Option<J> {
        let turn = self.0.get_mut(node)?;
        if let Some(next) = turn.waiting.pop_front() {
            return Some(next);
        }
        turn.under_way -= 1;
        if turn.under_way == 0 {
            self.0.remove(node);
        }
        None
    }
}

/// Releases that one node is sent at a time.
const AT_ONCE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_are_under_way_on_a_node_and_the_others_follow_in_order() {
        let mut turns = Turns::default();
        let begun: Vec<_> = (0..100).filter_map(|job| turns.admit("a", job)).collect();
        assert_eq!(begun, (0..64).collect::<Vec<_>>());
        assert_eq!(turns.admit("b", 0), Some(0), "another node");
        let next: Vec<_> = std::iter::from_fn(|| turns.next(&"a")).collect();
        assert_eq!(next, (64..100).collect::<Vec<_>>());
        (0..64).for_each(|_| assert_eq!(turns.next(&"a"), None));
        assert_eq!(turns.next(&"b"), None);
        assert!(turns.0.is_empty(), "nothing is left");
    }
}
