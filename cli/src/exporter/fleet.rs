//! How one of the servers was, as numbers. Pure.

use std::time::Duration;

use palisade::{error::NodeError, inspect::ServerHealth};

use crate::examine::Examined;

/// One of the servers that were named: a vote. Of a cluster it is the master that is worst off.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ServerLook {
    /// As it was named, without its password.
    pub(super) server: String,
    /// `None` if it did not answer.
    pub(super) told: Option<Told>,
}

/// What it told. `None` is unknown.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Told {
    pub(super) votes: bool,
    /// For how long its vote does not count yet. `None` if waiting does not help.
    pub(super) quarantine: Option<Duration>,
    /// In µs.
    pub(super) clock_ahead: i64,
    pub(super) round_trip: Duration,
    /// Of its memory, the part that is used. `None` where there is no limit.
    pub(super) memory_used: Option<f64>,
    /// Whether locks may be thrown away when memory is full.
    pub(super) evicts: Option<bool>,
}

impl ServerLook {
    /// Where it grants by itself, whatever its age, its vote always counts.
    pub(super) fn of(examined: &Examined, has_votes: bool) -> Self {
        let told = examined.answer.as_ref().ok().and_then(|masters| {
            let all = masters.iter().map(|(ahead, health)| Told::of(health, has_votes, *ahead));
            all.reduce(Told::worse)
        });
        Self { server: examined.server.clone(), told }
    }
}

impl Told {
    fn of(health: &ServerHealth, has_votes: bool, clock_ahead: i64) -> Self {
        let vote = if has_votes { health.vote.as_ref().err() } else { None };
        let quarantine = match vote {
            None => Some(Duration::ZERO),
            Some(NodeError::Quarantined { counts_in, .. }) => Some(*counts_in),
            Some(_) => None,
        };
        Self {
            votes: vote.is_none(),
            quarantine,
            clock_ahead,
            round_trip: health.round_trip,
            memory_used: part(health.memory_used, health.memory_limit),
            evicts: health.eviction.as_deref().map(|policy| policy != "noeviction"),
        }
    }

    fn worse(self, other: Self) -> Self {
        let is_further = other.clock_ahead.unsigned_abs() > self.clock_ahead.unsigned_abs();
        Self {
            votes: self.votes && other.votes,
            quarantine: self.quarantine.zip(other.quarantine).map(|(one, two)| one.max(two)),
            clock_ahead: if is_further { other.clock_ahead } else { self.clock_ahead },
            round_trip: self.round_trip.max(other.round_trip),
            memory_used: [self.memory_used, other.memory_used]
                .into_iter()
                .flatten()
                .reduce(f64::max),
            evicts: self.evicts.max(other.evicts),
        }
    }
}

fn part(used: Option<u64>, limit: Option<u64>) -> Option<f64> {
    let (used, limit) = (used?, limit.filter(|limit| *limit > 0)?);
    Some(used as f64 / limit as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(clock_ahead: i64) -> Told {
        Told {
            votes: true,
            quarantine: Some(Duration::ZERO),
            clock_ahead,
            round_trip: Duration::from_millis(1),
            memory_used: None,
            evicts: None,
        }
    }

    #[test]
    fn cluster_is_as_its_worst_master() {
        let secs = Duration::from_secs;
        let one = Told { votes: false, quarantine: Some(secs(9)), evicts: Some(false), ..told(3) };
        let two = Told { memory_used: Some(0.5), evicts: Some(true), ..told(-7) };
        let expected = Told {
            votes: false,
            quarantine: Some(secs(9)),
            memory_used: Some(0.5),
            evicts: Some(true),
            ..told(-7)
        };
        assert_eq!(one.clone().worse(two.clone()), expected);
        assert_eq!(two.worse(one), expected);
        let hopeless = Told { votes: false, quarantine: None, ..told(0) };
        assert_eq!(hopeless.worse(told(0)).quarantine, None);
    }

    #[test]
    fn memory_without_a_limit_has_no_part_that_is_used() {
        assert_eq!(part(Some(3), Some(4)), Some(0.75));
        for unknown in [(Some(3), Some(0)), (Some(3), None), (None, Some(4))] {
            assert_eq!(part(unknown.0, unknown.1), None);
        }
    }
}
