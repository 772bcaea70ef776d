//! Deals the faults of one track, one after the other, from a shuffled deck of all of them.

use std::{ops::Range, time::Duration};

use super::{FLUSH, Fault, Whom, planned::Planned};
use crate::{random::Random, traffic::QUARANTINE_MS};

/// Whoever draws one track.
#[derive(Debug)]
pub(super) struct Dealer {
    pub(super) random: Random,
    pub(super) deck: Vec<&'static Fault>,
    pub(super) masters: usize,
    /// How many may fall victim.
    pub(super) population: usize,
    /// What another track does to them.
    pub(super) beside: Vec<Planned>,
}

impl Dealer {
    pub(super) fn deal(mut self, begin: Duration, end: Duration) -> Vec<Planned> {
        let mut plan = Vec::new();
        let mut now = begin;
        // What takes long comes once, first, while every vote counts. So does a first loss of data:
        // later most of those that lose theirs have no vote anyway.
        let is_long = |fault: &&Fault| fault.to == Whom::EachAtLeisure;
        let is_first = |fault: &&Fault| is_long(fault) || fault.does == FLUSH;
        let mut deck: Vec<_> = self.deck.iter().copied().filter(is_first).collect();
        let again: Vec<_> = self.deck.iter().copied().filter(|fault| !is_long(fault)).collect();
        loop {
            for fault in deck {
                let planned = self.planned(now, fault);
                now = planned.ends() + self.random.within(&GAP);
                if planned.ends() <= end {
                    plan.push(planned);
                } else if fault.to != Whom::EachAtLeisure {
                    return plan;
                }
            }
            deck = again.clone();
            self.random.shuffle(&mut deck);
        }
    }

    fn planned(&mut self, begins: Duration, fault: &'static Fault) -> Planned {
        let lasts = self.random.within(&fault.lasts);
        let victims = self.victims(fault.to, begins, begins + lasts);
        let pause = if fault.to == Whom::EachAtLeisure { QUARANTINE } else { Duration::ZERO };
        Planned { begins, fault, victims, lasts, pause }
    }

    fn victims(&mut self, whom: Whom, from: Duration, to: Duration) -> Vec<Vec<usize>> {
        let mut all: Vec<_> = (0..self.population).collect();
        self.random.shuffle(&mut all);
        all.sort_by_key(|victim| self.beside.iter().any(|other| other.strikes(*victim, from, to)));
        let majority = self.masters / 2 + 1;
        let minority = self.masters - majority;
        all.truncate(match whom {
            Whom::EachInTurn | Whom::EachAtLeisure => {
                return all.into_iter().map(|one| vec![one]).collect();
            }
            Whom::Worker => 1,
            Whom::Quorum => minority + 1,
            Whom::Some => 1 + self.random.below(self.masters as u64) as usize,
            Whom::Minority => 1 + self.random.below(minority as u64) as usize,
        });
        vec![all]
    }
}

/// From the start of a master until its vote counts: its uptime comes in whole seconds, and a
/// client takes it for one less.
const QUARANTINE: Duration =
    Duration::from_millis(QUARANTINE_MS).saturating_add(Duration::from_secs(2));
/// Between the end of a fault and the beginning of the next.
const GAP: Range<Duration> = Duration::from_millis(200)..Duration::from_millis(500);
