//! How a majority goes on after a lost round: all of it again. A lock by itself is a majority of one.

use std::sync::Arc;

use super::{attempt::Attempt, votes::Votes};
use crate::{
    claim::{Claim, roll_back},
    wait::Refusals,
};

/// What a majority has between two rounds.
#[derive(Debug, Default)]
pub(super) struct Quorum {
    pub(super) lost_rounds: u32,
    /// What was refused by the only member: nothing of it is there, so it may ask again.
    refused: Option<Arc<Claim>>,
}

impl Quorum {
    pub(super) fn take_kept(&mut self) -> Option<Attempt> {
        self.refused.take().map(Attempt::new)
    }

    pub(super) const fn kept(&self) -> Option<&Arc<Claim>> {
        self.refused.as_ref()
    }

    pub(super) async fn lost(&mut self, attempt: Attempt, votes: &Votes) -> Refusals {
        let refusals = votes.refusals(true);
        if attempt.claim().members().is_one() {
            self.refused = Some(attempt.hand_on());
        } else {
            roll_back(attempt.claim(), &votes.granted()).await;
        }
        refusals
    }
}
