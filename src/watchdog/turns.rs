//! Whose turn it is to be released: however many guards are dropped, others are to reach the node too,
//! and a release that waits is smaller than one that is under way. Pure.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

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
    /// The job, if it may begin. An answer of that node usually takes a `round_trip`, if that is known.
    pub(super) fn admit(&mut self, node: N, round_trip: Option<Duration>, job: J) -> Option<J> {
        let new = || Turn { under_way: 0, waiting: VecDeque::new() };
        let turn = self.0.entry(node).or_insert_with(new);
        if turn.under_way >= at_once(round_trip) {
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

/// How many releases a node is sent at a time. So few that one near by is free for others at any time; one
/// that is far away gets more, or those of a whole process would take it minutes.
fn at_once(round_trip: Option<Duration>) -> usize {
    let far =
        round_trip.map_or(u128::MAX, |round_trip| round_trip.as_micros() / ONE_MORE.as_micros());
    usize::try_from(far).unwrap_or(MOST).saturating_add(FEWEST).min(MOST)
}

const FEWEST: usize = 16;
/// For each of these that an answer takes, one more.
const ONE_MORE: Duration = Duration::from_micros(200);
const MOST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of a hundred begin at once.
    fn begun(turns: &mut Turns<&str, i32>, round_trip: Option<Duration>) -> Vec<i32> {
        (0..100).filter_map(|job| turns.admit("a", round_trip, job)).collect()
    }

    #[test]
    fn so_many_are_under_way_on_a_node_and_the_others_follow_in_order() {
        let mut turns = Turns::default();
        assert_eq!(begun(&mut turns, None), (0..64).collect::<Vec<_>>());
        assert_eq!(turns.admit("b", None, 0), Some(0), "another node");
        let next: Vec<_> = std::iter::from_fn(|| turns.next(&"a")).collect();
        assert_eq!(next, (64..100).collect::<Vec<_>>());
        (0..64).for_each(|_| assert_eq!(turns.next(&"a"), None));
        assert_eq!(turns.next(&"b"), None);
        assert!(turns.0.is_empty(), "nothing is left");
    }

    #[test]
    fn node_far_away_is_sent_more_at_once() {
        for (round_trip_us, at_once) in
            [(0, 16), (199, 16), (1_000, 21), (10_000, 64), (u64::MAX, 64)]
        {
            let round_trip = Some(Duration::from_micros(round_trip_us));
            assert_eq!(begun(&mut Turns::default(), round_trip).len(), at_once, "{round_trip_us}");
        }
    }
}
