//! A round that was lost because servers may have forgotten locks, in one sentence.

use std::{collections::BTreeSet, fmt, time::Duration};

use super::{Ballot, Forgotten, NodeError, NodeId, rounded::whole_seconds};

impl Ballot {
    /// When enough votes count, in a round that needed `need` grants and lost them to the
    /// quarantine. `None` if the other failures would have been too many by themselves.
    pub(crate) fn quarantined(&self, need: usize) -> Option<Duration> {
        let mut waits: Vec<_> = self.young().map(|(_, young)| young.counts_in).collect();
        waits.sort_unstable();
        let able = self.iter().count() - self.failures().count();
        waits.get(need.checked_sub(able + 1)?).copied()
    }

    fn young(&self) -> impl Iterator<Item = (&NodeId, Young)> {
        self.failures().filter_map(|(node, cause)| match cause {
            NodeError::Quarantined { uptime, counts_in, forgotten } => {
                let (uptime, counts_in, forgotten) = (*uptime, *counts_in, *forgotten);
                Some((node, Young { uptime, counts_in, forgotten }))
            }
            _ => None,
        })
    }
}

/// One master in quarantine.
struct Young {
    uptime: Duration,
    counts_in: Duration,
    forgotten: Forgotten,
}

/// Which masters have forgotten what, for how long still, and what to do.
pub(super) struct Sentence<'a> {
    ballot: &'a Ballot,
    /// When enough of them count.
    counts_in: Duration,
}

impl<'a> Sentence<'a> {
    pub(super) const fn new(ballot: &'a Ballot, counts_in: Duration) -> Self {
        Self { ballot, counts_in }
    }
}

impl fmt::Display for Sentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waits = || self.ballot.young().map(|(_, young)| whole_seconds(young.counts_in));
        let young = masters(self.ballot.young().map(|(node, _)| node));
        let all = masters(self.ballot.iter().map(|(node, _)| node));
        let (started, flushed) = (self.who_lost(Forgotten::Run), self.who_lost(Forgotten::Data));
        match (started, flushed) {
            (0, _) => write!(f, "{flushed} of {all} masters {}", lost(flushed))?,
            (_, 0) => write!(f, "{started} of {all} masters started {} s ago", self.uptimes())?,
            _ => write!(
                f,
                "{started} of {all} masters started {} s ago, {flushed} {}",
                self.uptimes(),
                lost(flushed)
            )?,
        }
        let counts_in = whole_seconds(self.counts_in);
        let votes = match young {
            1 => "its vote counts",
            _ if waits().all(|wait| wait == counts_in) => "their votes count",
            _ => "enough of their votes count",
        };
        write!(f, " and may have forgotten locks; {votes} in {counts_in} s")?;
        // Where some count already, others have come back: to bless them would be to lie.
        if started == all {
            f.write_str("; if they never held a lock, bless them")?;
        }
        Ok(())
    }
}

impl Sentence<'_> {
    /// How many masters have lost this.
    fn who_lost(&self, what: Forgotten) -> usize {
        let they = self.ballot.young().filter(|(_, young)| young.forgotten == what);
        masters(they.map(|(node, _)| node))
    }

    /// Of those that were started lately, in seconds.
    fn uptimes(&self) -> String {
        let started = self.ballot.young().filter(|(_, young)| young.forgotten == Forgotten::Run);
        let uptimes: BTreeSet<_> = started.map(|(_, young)| young.uptime.as_secs()).collect();
        match (uptimes.first(), uptimes.last()) {
            (Some(least), Some(most)) if least != most => format!("{least} to {most}"),
            (least, _) => least.copied().unwrap_or(0).to_string(),
        }
    }
}

const fn lost(masters: usize) -> &'static str {
    if masters == 1 { "has lost its data" } else { "have lost their data" }
}

/// How many there are: two names on one master are two members of a `MultiLock`.
fn masters<'a>(nodes: impl Iterator<Item = &'a NodeId>) -> usize {
    nodes.collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Phase, Vote};

    fn young(uptime: u64, counts_in_ms: u64) -> Vote {
        Vote::Failed(NodeError::Quarantined {
            uptime: Duration::from_secs(uptime),
            counts_in: Duration::from_millis(counts_in_ms),
            forgotten: Forgotten::Run,
        })
    }

    fn flushed(counts_in_ms: u64) -> Vote {
        Vote::Failed(NodeError::Quarantined {
            uptime: Duration::from_secs(86_400),
            counts_in: Duration::from_millis(counts_in_ms),
            forgotten: Forgotten::Data,
        })
    }

    fn late() -> Vote {
        Vote::Failed(NodeError::TimedOut { phase: Phase::Answering })
    }

    fn ballot(votes: impl IntoIterator<Item = Vote>) -> Ballot {
        let name = |i: usize| NodeId::new(&i.to_string());
        Ballot::new(votes.into_iter().enumerate().map(|(i, vote)| (name(i), vote)).collect())
    }

    #[test]
    fn enough_votes_count_when_the_last_one_that_is_needed_does() {
        let three = || [young(1, 3_000), young(2, 1_000), young(3, 2_000)];
        let is = |votes: Vec<Vote>, need, ms: Option<u64>| {
            assert_eq!(ballot(votes).quarantined(need), ms.map(Duration::from_millis));
        };
        is(three().into(), 2, Some(2_000));
        is(three().into(), 3, Some(3_000));
        is(vec![young(1, 3_000), young(2, 1_000), Vote::Granted], 2, Some(1_000));
        is(vec![young(1, 3_000), young(2, 1_000), Vote::Pending], 3, Some(3_000));
        is(vec![young(1, 3_000), Vote::Refused { ttl: None }, late()], 2, Some(3_000));
        // An outage by itself.
        is(vec![young(1, 3_000), late(), late()], 2, None);
        is(vec![young(1, 3_000), late(), Vote::Granted], 3, None);
        // Not lost to failures at all.
        is(vec![young(1, 3_000), Vote::Granted, Vote::Granted], 2, None);
    }

    #[test]
    fn the_sentence_says_who_is_young_for_how_long_and_what_to_do() {
        let says = |votes: Vec<Vote>, need, expected: &str| {
            let ballot = ballot(votes);
            let counts_in = ballot.quarantined(need).unwrap();
            assert_eq!(Sentence::new(&ballot, counts_in).to_string(), expected);
        };
        says(
            vec![young(5, 60_600), young(5, 60_900), young(5, 60_700)],
            2,
            "3 of 3 masters started 5 s ago and may have forgotten locks; their votes count in 61 s; \
             if they never held a lock, bless them",
        );
        says(
            vec![young(5, 61_000), young(40, 26_000), young(41, 25_000)],
            2,
            "3 of 3 masters started 5 to 41 s ago and may have forgotten locks; enough of their \
             votes count in 26 s; if they never held a lock, bless them",
        );
        says(
            vec![young(5, 61_000), late(), Vote::Granted],
            2,
            "1 of 3 masters started 5 s ago and may have forgotten locks; its vote counts in 61 s",
        );
        says(
            vec![flushed(61_000), flushed(61_000), flushed(61_000)],
            2,
            "3 of 3 masters have lost their data and may have forgotten locks; their votes count in \
             61 s",
        );
        says(
            vec![flushed(61_000), young(5, 30_000), Vote::Granted],
            3,
            "1 of 3 masters started 5 s ago, 1 has lost its data and may have forgotten locks; \
             enough of their votes count in 61 s",
        );
    }
}
