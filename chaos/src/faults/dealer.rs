//! Deals the faults of one track, one after the other, from a shuffled deck of all of them. Pure.

use std::{collections::VecDeque, time::Duration};

use super::{
    FLUSH, Fault, Whom,
    planned::Planned,
    stretches::{Pace, QUARANTINE},
};
use crate::random::Random;

/// The source of the draws of one track.
#[derive(Debug)]
pub(super) struct Dealer {
    random: Random,
    pace: Pace,
    /// Dealt again and again: each fault that does not take long.
    deck: Vec<&'static Fault>,
    /// What is left to be dealt before the deck is shuffled again.
    left: VecDeque<&'static Fault>,
    /// How many may fall victim.
    population: usize,
    /// What another track does to them.
    beside: Vec<Planned>,
}

impl Dealer {
    /// Of the faults in `deck`, to some of so many masters or workers.
    pub(super) fn new(
        random: Random,
        pace: Pace,
        deck: Vec<&'static Fault>,
        population: usize,
    ) -> Self {
        // What takes long comes once, first, while every vote counts. So does a first loss of data:
        // later most of those that lose theirs have no vote anyway. Among sparse faults every vote
        // counts always, and all lose their data one at a time.
        let is_long = |fault: &Fault| fault.to == Whom::EachAtLeisure;
        let is_first = |fault: &Fault| is_long(fault) || fault.does == FLUSH;
        let left = deck.iter().copied().filter(|fault| pace == Pace::Dense && is_first(fault));
        Self {
            random,
            pace,
            left: left.collect(),
            deck: deck.into_iter().filter(|fault| !is_long(fault)).collect(),
            population,
            beside: Vec::new(),
        }
    }

    /// What `other` faults strike is spared meanwhile, if possible.
    pub(super) fn beside(self, other: &[Planned]) -> Self {
        Self { beside: other.to_vec(), ..self }
    }

    /// What comes between `begin` and `end`. Goes on with the deck where it ended before.
    pub(super) fn deal(&mut self, begin: Duration, end: Duration) -> Vec<Planned> {
        let mut plan = Vec::new();
        let mut now = begin;
        loop {
            let fault = self.next();
            let planned = self.planned(now, fault);
            now = planned.ends() + self.random.within(&self.pace.gap(fault));
            if planned.ends() <= end {
                plan.push(planned);
            } else if fault.to != Whom::EachAtLeisure {
                self.left.push_front(fault);
                return plan;
            }
        }
    }

    fn next(&mut self) -> &'static Fault {
        if self.left.is_empty() {
            let mut deck = self.deck.clone();
            self.random.shuffle(&mut deck);
            self.left = deck.into();
        }
        self.left.pop_front().expect("invariant: no deck is empty")
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
        let majority = self.population / 2 + 1;
        let minority = self.population - majority;
        all.truncate(match whom {
            Whom::EachInTurn | Whom::EachAtLeisure => {
                return all.into_iter().map(|one| vec![one]).collect();
            }
            Whom::Worker => 1,
            Whom::Quorum => minority + 1,
            Whom::Some => 1 + self.random.below(self.population as u64) as usize,
            Whom::Minority => 1 + self.random.below(minority as u64) as usize,
        });
        vec![all]
    }
}
