//! How a majority goes on after a lost round: all of it again. A lock by itself is a majority of one.

use std::sync::Arc;

use super::{attempt::Attempt, votes::Votes};
use crate::{
    claim::{Claim, roll_back, roll_back_all},
    wait::Refusals,
};

/// What a majority has between two rounds.
#[derive(Debug, Default)]
pub(super) struct Quorum {
    pub(super) lost_rounds: u32,
    /// What the only member refused.
    refused: Option<Refused>,
}

#[derive(Debug)]
enum Refused {
    /// Nothing of it is there, so it may ask again.
    Plainly(Arc<Claim>),
    /// It has left something there, a place in a queue, for as long as it asks.
    Queued(Attempt),
}

impl Quorum {
    pub(super) fn take_kept(&mut self) -> Option<Attempt> {
        Some(match self.refused.take()? {
            Refused::Plainly(claim) => Attempt::new(claim),
            Refused::Queued(attempt) => attempt,
        })
    }

    pub(super) fn kept(&self) -> Option<&Arc<Claim>> {
        Some(match self.refused.as_ref()? {
            Refused::Plainly(claim) => claim,
            Refused::Queued(attempt) => attempt.claim(),
        })
    }

    pub(super) async fn lost(&mut self, attempt: Attempt, votes: &Votes) -> Refusals {
        let claim = attempt.claim();
        if !claim.members().is_one() {
            roll_back(claim, &votes.granted()).await;
        } else if claim.is_clean() {
            self.refused = Some(Refused::Plainly(attempt.hand_on()));
        } else {
            self.refused = Some(Refused::Queued(attempt));
        }
        votes.refusals(true)
    }

    pub(super) async fn give_back(&mut self) {
        if let Some(Refused::Queued(attempt)) = &self.refused {
            roll_back_all(attempt.claim()).await;
            self.refused = None;
        }
    }
}
