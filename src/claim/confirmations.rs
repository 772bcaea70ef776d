//! What servers answered to a release, and what that comes to.

use smallvec::SmallVec;

use super::{
    absence::{Absence, cause_of_loss},
    record::Claim,
};
use crate::{
    by_member::{ByMember, MemberId},
    error::{NodeError, ReleaseError, Vote},
    voting::{Voter, ballot},
    watchdog::Release,
    wire::Outcome,
};

/// What a server answered to a release.
pub(super) struct Confirmation {
    pub(super) member: MemberId,
    pub(super) outcome: Result<Outcome, NodeError>,
    /// Whether an earlier request, of which no answer came, may have done it.
    pub(super) may_be_done: bool,
    /// Whether nothing that was sent earlier can bring the key back.
    pub(super) is_final: bool,
}

/// The confirmations of a release.
pub(super) struct Confirmations<'a> {
    claim: &'a Claim,
    votes: ByMember<Vote>,
    pub(super) confirmed: usize,
    /// Whether this client hears of it, too: known before it was sent.
    hears: ByMember<bool>,
    /// How many others heard of it on each member that confirmed.
    heard: SmallVec<[Option<u32>; 1]>,
    /// Members that do not know the claim: they said so now, or there was nothing to release.
    absent: ByMember<Option<Absence>>,
}

impl<'a> Confirmations<'a> {
    pub(super) fn new(claim: &'a Claim, asked: &[(MemberId, Release)]) -> Self {
        let votes = claim.members().map(|_| Vote::Pending);
        let mut absent = claim.members().map(|_| Some(Absence::Gone));
        asked.iter().for_each(|(member, _)| absent[*member] = None);
        let hears = |of: &Voter| of.services.notifier.hears(&of.kind.channel(claim.holder()));
        let hears = claim.members().map(hears);
        Self { claim, votes, confirmed: 0, hears, heard: SmallVec::new(), absent }
    }

    pub(super) fn record(&mut self, confirmation: Confirmation) {
        let vote = match confirmation.outcome {
            // Gone after a release that was not answered: then that one has done it. Nobody else
            // knows that the hold is over, so what waited for it may stand there already.
            Ok(outcome) if outcome.code == Outcome::DONE || confirmation.may_be_done => {
                self.confirmed += 1;
                self.heard.push(self.others_heard(confirmation.member, outcome));
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

    /// How many others heard of the release on a member; `None` if nobody knows.
    fn others_heard(&self, member: MemberId, outcome: Outcome) -> Option<u32> {
        let of = &self.claim.members()[member];
        // A server of a cluster counts its own listeners alone.
        let is_in_cluster = of.services.node.standing()?.is_in_cluster();
        let is_told = outcome.code == Outcome::DONE && outcome.value >= 0 && !is_in_cluster;
        let ours = self.hears[member].into();
        let others = u32::try_from(outcome.value).ok()?.saturating_sub(ours);
        is_told.then_some(others)
    }

    /// How many others heard of the release, as far as `need` members count: whoever waits for a majority
    /// listens on one of each.
    pub(super) fn result(mut self, need: usize) -> Result<Option<u32>, ReleaseError> {
        if self.confirmed >= need {
            // Nobody knows counts as more than any number.
            self.heard.sort_unstable_by_key(|others| others.map_or(u64::MAX, u64::from));
            return Ok(need
                .checked_sub(1)
                .and_then(|last| self.heard.get(last).copied().flatten()));
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
