//! The votes of a round, taken until they decide it.

use std::time::Duration;

use super::tally::{Rule, Tally, Verdict};
use crate::{
    by_member::{ByMember, MemberId},
    claim::{Claim, InFlight},
    error::{NodeError, Vote},
    wait::Refusals,
};

/// The vote of each member in a round, and what that comes to.
#[derive(Debug)]
pub(super) struct Votes {
    pub(super) by: ByMember<Vote>,
    tally: Tally,
}

impl Votes {
    pub(super) fn new(rule: Rule, by: ByMember<Vote>) -> Self {
        let tally = Tally::of(rule, by.values());
        Self { by, tally }
    }

    pub(super) fn record(&mut self, member: MemberId, vote: Vote) {
        self.tally.voted(&self.by[member], &vote);
        self.by[member] = vote;
    }

    /// Those that have not voted.
    pub(super) fn pending(&self) -> impl Iterator<Item = MemberId> {
        self.by.iter().filter(|(_, vote)| matches!(vote, Vote::Pending)).map(|(id, _)| id)
    }

    /// Where something of the round stands for sure: it was granted, counted or not.
    pub(super) fn standing(&self) -> Vec<MemberId> {
        let stands = |vote: &Vote| {
            matches!(vote, Vote::Granted | Vote::Failed(NodeError::NotReplicated { .. }))
        };
        self.by.iter().filter(|(_, vote)| stands(vote)).map(|(id, _)| id).collect()
    }

    /// Takes votes until they decide the round.
    pub(super) async fn collect(
        &mut self,
        asked: &mut InFlight<impl Future<Output = (MemberId, Vote)>>,
    ) -> Verdict {
        while self.tally(true).verdict() == Verdict::Pending
            && let Some((member, vote)) = asked.next().await
        {
            self.record(member, vote);
        }
        let verdict = match self.tally(true).verdict() {
            // All have answered, or never will.
            Verdict::Pending => self.tally(false).verdict(),
            verdict => verdict,
        };
        // Members in quarantine fail faster than any other. The caller that is told of them wants to
        // know of all, and is to wait anyway.
        while verdict == Verdict::LostToOutage
            && self.by.values().any(Vote::is_quarantined)
            && let Some((member, vote)) = asked.next().await
        {
            self.record(member, vote);
        }
        verdict
    }

    /// What the votes so far come to, if others `may_still_vote`.
    pub(super) const fn tally(&self, may_still_vote: bool) -> Tally {
        if may_still_vote { self.tally } else { self.tally.closed() }
    }

    /// Which members refused `claim`, and how many of them must change their mind, if others
    /// `may_still_vote`.
    pub(super) fn refusals(&self, claim: &Claim, may_still_vote: bool) -> Refusals {
        let by = self.by.iter().filter_map(|(id, vote)| {
            let ttl = ttl_of_refusal(vote)?.into_iter();
            Some((id, ttl.chain(claim.look_again_in(id)).min()))
        });
        Refusals { by: by.collect(), enough: self.tally(may_still_vote).short_of(), until: None }
    }
}

/// How long a member that refused says that the lock is held; `Some(None)` if for ever.
pub(super) const fn ttl_of_refusal(vote: &Vote) -> Option<Option<Duration>> {
    match vote {
        Vote::Refused { ttl } => Some(*ttl),
        _ => None,
    }
}
