//! Which caller has the turn with what stands on the servers for one holder: what is seen there of locks
//! that pass on without a word to them.

use std::collections::BTreeMap;

use checkers::history::SectionId;

use super::Network;

/// The last turn of each holder.
#[derive(Debug, Default)]
pub(super) struct Turns {
    by_holder: BTreeMap<Vec<u8>, Turn>,
    holders: BTreeMap<SectionId, Vec<u8>>,
}

#[derive(Debug)]
struct Turn {
    section: SectionId,
    ended_us: Option<u64>,
    /// Whether its user was told that another has it, and none has come.
    is_offered: bool,
}

impl Turns {
    pub(super) fn section(&self, holder: &[u8]) -> Option<SectionId> {
        self.by_holder.get(holder).map(|turn| turn.section)
    }

    fn begins(&mut self, holder: &[u8], section: SectionId) -> Option<Turn> {
        self.holders.insert(section, holder.to_vec());
        let turn = Turn { section, ended_us: None, is_offered: false };
        self.by_holder.insert(holder.to_vec(), turn)
    }

    fn of(&mut self, section: SectionId) -> Option<&mut Turn> {
        self.by_holder.get_mut(self.holders.get(&section)?)
    }

    /// Its release leaves. Since when it was offered to others, if it was and was not taken.
    fn is_given_back(&mut self, holder: &[u8]) -> Option<u64> {
        let turn = self.by_holder.get_mut(holder)?;
        std::mem::take(&mut turn.is_offered).then_some(turn.ended_us).flatten()
    }
}

impl Network {
    /// A guard was made for this holder.
    pub(crate) fn granted(&self, holder: &str, section: SectionId) {
        let mut inner = self.inner();
        let Some(before) = inner.turns.begins(holder.as_bytes(), section) else { return };
        if before.ended_us.is_some() && !before.is_offered {
            self.log.saw("passed on at a drop");
        }
    }

    /// The guard of a section is about to be given up.
    pub(crate) fn turn_ends(&self, section: SectionId) {
        let now_us = self.world.now_us();
        self.inner().turns.of(section).into_iter().for_each(|turn| turn.ended_us = Some(now_us));
    }

    /// Another of the process has it, or is offered it.
    pub(crate) fn passed_on(&self, section: SectionId) {
        self.inner().turns.of(section).into_iter().for_each(|turn| turn.is_offered = true);
    }

    /// The release of a holder leaves.
    pub(super) fn watch_return(&self, turns: &mut Turns, holder: &[u8]) {
        if let Some(ended_us) = turns.is_given_back(holder) {
            self.log.saw(if self.is_overdue(ended_us) {
                "offer withdrawn, and given back"
            } else {
                "offer given back"
            });
        }
    }

    /// Whether an offer that was made then was withdrawn, if it was not taken.
    fn is_overdue(&self, made_us: u64) -> bool {
        self.world.now_us() >= made_us + self.offered_for_us
    }
}
