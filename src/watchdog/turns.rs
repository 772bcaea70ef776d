//! What is released next. However many guards are dropped, others are to reach the node too, and a
//! release that waits is smaller than one that is under way. Pure.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

/// By node. What stands for a job is whatever is to begin.
#[derive(Debug)]
pub(super) struct Turns<N, J>(BTreeMap<N, LimitedQueue<J>>);

#[derive(Debug)]
struct LimitedQueue<J> {
    under_way: usize,
    /// How many may be.
    most: usize,
    waiting: VecDeque<J>,
}

impl<N, J> Default for Turns<N, J> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<N: Ord, J> Turns<N, J> {
    /// The job, if it may begin. An answer of that node takes a `round_trip` at least, if that is known.
    pub(super) fn admit(&mut self, node: N, round_trip: Option<Duration>, job: J) -> Option<J> {
        let most = || round_trip.map_or(MOST_UNKNOWN, at_once);
        let new = || LimitedQueue { under_way: 0, most: most(), waiting: VecDeque::new() };
        let turn = self.0.entry(node).or_insert_with(new);
        if turn.under_way >= turn.most {
            turn.waiting.push_back(job);
            return None;
        }
        turn.under_way += 1;
        Some(job)
    }

    /// What may begin once a job on this node is done, which `took` so long if it was answered.
    pub(super) fn next(&mut self, node: &N, took: Option<Duration>) -> Vec<J> {
        let Some(turn) = self.0.get_mut(node) else { return Vec::new() };
        turn.most = took.map_or(turn.most, at_once);
        turn.under_way -= 1;
        let free = turn.most.saturating_sub(turn.under_way).min(turn.waiting.len());
        turn.under_way += free;
        let next = turn.waiting.drain(..free).collect();
        if turn.under_way == 0 && turn.waiting.is_empty() {
            self.0.remove(node);
        }
        next
    }
}

/// How many releases a node is sent at a time whose answers take so long. So few that one near by is free for
/// others at any time; one that is far away, or has very much else to answer, gets more, or those of a whole
/// process would take it minutes.
fn at_once(answer: Duration) -> usize {
    let more = usize::try_from(answer.as_micros() / ONE_MORE.as_micros()).unwrap_or(MOST);
    more.saturating_add(FEWEST).min(MOST)
}

const FEWEST: usize = 16;
/// For each of these that an answer takes, one more.
const ONE_MORE: Duration = Duration::from_micros(200);
const MOST: usize = 512;
/// While it is not known how long an answer takes.
const MOST_UNKNOWN: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    /// Which of a thousand begin at once.
    fn begun(turns: &mut Turns<&str, i32>, round_trip: Option<Duration>) -> Vec<i32> {
        (0..1_000).filter_map(|job| turns.admit("a", round_trip, job)).collect()
    }

    #[test]
    fn so_many_are_under_way_on_a_node_and_the_others_follow_in_order() {
        let mut turns = Turns::default();
        assert_eq!(begun(&mut turns, None), (0..64).collect::<Vec<_>>());
        assert_eq!(turns.admit("b", None, 0), Some(0), "another node");
        let next: Vec<_> = (0..936).flat_map(|_| turns.next(&"a", None)).collect();
        assert_eq!(next, (64..1_000).collect::<Vec<_>>());
        (0..64).for_each(|_| assert_eq!(turns.next(&"a", None), [0; 0]));
        assert_eq!(turns.next(&"b", None), [0; 0]);
        assert!(turns.0.is_empty(), "nothing is left");
    }

    #[test]
    fn node_far_away_is_sent_more_at_once() {
        for (round_trip_us, at_once) in
            [(0, 16), (199, 16), (1_000, 21), (10_000, 66), (u64::MAX, 512)]
        {
            let begun = begun(&mut Turns::default(), Some(us(round_trip_us)));
            assert_eq!(begun.len(), at_once, "{round_trip_us}");
        }
    }

    /// As behind very many calls of others.
    #[test]
    fn node_whose_answers_take_long_is_sent_more_until_they_are_faster() {
        let mut turns = Turns::default();
        assert_eq!(begun(&mut turns, Some(us(100))).len(), 16);
        assert_eq!(turns.next(&"a", Some(us(2_000))).len(), 11);
        assert_eq!(turns.next(&"a", Some(us(2_000))).len(), 1);
        for _ in 0..10 {
            assert_eq!(turns.next(&"a", Some(us(100))).len(), 0, "fewer are to be under way");
        }
        assert_eq!(turns.next(&"a", Some(us(100))), [28]);
    }
}
