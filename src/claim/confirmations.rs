//! What servers answered to a release, what that comes to, and how many others heard of it: waiters for the lock
//! elsewhere listen to that.

use smallvec::SmallVec;

use super::{
    absence::{Absence, cause_of_loss},
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
    /// Which others heard of it, if the caller wants to know.
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
            // Gone after a release that was not answered: then that one has done it. No other knows
            // that the hold is over, so what waited for it may stand there already.
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

/// What the servers told of the listeners.
pub(super) struct Heard {
    /// Whether this client hears of it, too: known before the release was sent.
    ours: ByMember<bool>,
    /// How many others, on each member that confirmed; `None` if that is unknown.
    others: SmallVec<[Option<u32>; 1]>,
}

impl Heard {
    /// Before the release is sent.
    pub(super) fn of(claim: &Claim) -> Self {
        let mut ours = claim.members().map(|_| false);
        for (member, of) in claim.members().iter() {
            let channel = of.kind.channel_of(&claim.holder_at(member));
            ours[member] = of.services.notifier.hears(&channel);
        }
        Self { ours, others: SmallVec::new() }
    }

    /// A member has confirmed.
    pub(super) fn note(&mut self, claim: &Claim, member: MemberId, outcome: Outcome) {
        let ours = self.ours[member].into();
        let node = &claim.members()[member].services.node;
        // A server of a cluster counts its own listeners alone.
        let counts_all = node.standing().is_some_and(|standing| !standing.is_in_cluster());
        let listeners = u32::try_from(outcome.value).ok();
        let is_told = outcome.code == Outcome::DONE && counts_all;
        self.others.push(listeners.filter(|_| is_told).map(|all| all.saturating_sub(ours)));
    }

    /// How many others, as far as `need` members count: a waiter for a majority listens on one of any
    /// such. `None` if that is unknown.
    pub(super) fn by(mut self, need: usize) -> Option<u32> {
        // Unknown counts as more than any number.
        self.others.sort_unstable_by_key(|others| others.map_or(u64::MAX, u64::from));
        let last = need.checked_sub(1)?;
        self.others.get(last).copied().flatten()
    }
}
