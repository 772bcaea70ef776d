//! What servers answered to a release, and what that comes to.

use super::{
    absence::{Absence, cause_of_loss},
    heard::Heard,
    record::Claim,
};
use crate::{
    by_member::{ByMember, MemberId},
    error::{NodeError, ReleaseError, Vote},
    voting::ballot,
    watchdog::Release,
    wire::Outcome,
};

/// What a server answered to a release.
pub(super) struct Confirmation {
    pub(super) member: MemberId,
    pub(super) outcome: Result<Outcome, NodeError>,
    /// Whether an earlier request, of which no answer came, may have done it.
    pub(super) may_be_done: bool,
}

/// The confirmations of a release.
pub(super) struct Confirmations<'a> {
    claim: &'a Claim,
    votes: ByMember<Vote>,
    pub(super) confirmed: usize,
    /// Who else heard of it, if somebody wants to know.
    heard: Option<Heard>,
    /// Members that do not know the claim: they said so now, or there was nothing to release.
    absent: ByMember<Option<Absence>>,
}

impl<'a> Confirmations<'a> {
    pub(super) fn new(
        claim: &'a Claim,
        asked: &[(MemberId, Box<Release>)],
        heard: Option<Heard>,
    ) -> Self {
        let votes = claim.members().map(|_| Vote::Pending);
        let mut absent = claim.members().map(|_| Some(Absence::Gone));
        asked.iter().for_each(|(member, _)| absent[*member] = None);
        Self { claim, votes, confirmed: 0, heard, absent }
    }

    pub(super) fn record(&mut self, confirmation: Confirmation) {
        let vote = match confirmation.outcome {
            // Gone after a release that was not answered: then that one has done it. Nobody else
            // knows that the hold is over, so what waited for it may stand there already.
            Ok(outcome) if outcome.code == Outcome::DONE || confirmation.may_be_done => {
                self.confirmed += 1;
                if let Some(heard) = &mut self.heard {
                    heard.note(self.claim, confirmation.member, outcome);
                }
                Vote::Granted
            }
            Ok(outcome) => {
                self.absent[confirmation.member] = Some(Absence::of(outcome));
                Vote::Refused { ttl: None }
            }
            Err(error) => Vote::Failed(error),
        };
        self.votes[confirmation.member] = vote;
    }

    /// How many others heard of the release, if that was asked for and is known.
    pub(super) fn result(self, need: usize) -> Result<Option<u32>, ReleaseError> {
        if self.confirmed >= need {
            return Ok(self.heard.and_then(|heard| heard.by(need)));
        }
        // Too few members knew the claim: it ended before it was released.
        if self.absent.values().flatten().count() > self.votes.len() - need {
            let cause = cause_of_loss(self.claim.members(), need, &self.absent);
            return Err(self.claim.loss(cause).into());
        }
        Err(ReleaseError::Unconfirmed {
            lock: self.claim.lock_name(),
            holder: self.claim.holder().clone(),
            ballot: ballot(self.claim.members(), self.votes),
        })
    }
}
