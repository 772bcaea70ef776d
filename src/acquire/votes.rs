//! The votes of a round, taken until they decide it.

use std::time::Duration;

use super::tally::{Rule, Tally, Verdict};
use crate::{
    by_member::{ByMember, MemberId},
    claim::{Claim, InFlight},
    clock::SharedClock,
    error::{NodeError, Vote},
    reach::before,
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
        self.decide(asked).await
    }

    /// The same, but a member that is late does not decide between those that disagree: what they granted would stand
    /// unused meanwhile, and keep another from a majority.
    pub(super) async fn collect_unless_split(
        &mut self,
        asked: &mut InFlight<impl Future<Output = (MemberId, Vote)>>,
        clock: &SharedClock,
    ) -> Verdict {
        let began = clock.now();
        while self.tally(true).verdict() == Verdict::Pending {
            let (now, next) = (clock.now(), asked.next());
            let patience = (now.saturating_since(began) * 4).max(PATIENCE);
            let Some(voted) = (if self.is_split() {
                before(clock, now + patience, next).await
            } else {
                Some(next.await)
            }) else {
                return self.tally(false).verdict();
            };
            let Some((member, vote)) = voted else { break };
            self.record(member, vote);
        }
        self.decide(asked).await
    }

    /// Takes the votes of a lost round that come soon. What was not answered is taken back whatever the answer, and by a
    /// call that is not needed after a refusal.
    pub(super) async fn collect_soon(
        &mut self,
        asked: &mut InFlight<impl Future<Output = (MemberId, Vote)>>,
        clock: &SharedClock,
    ) {
        let until = clock.now() + SOON;
        while self.pending().next().is_some()
            && let Some(Some((member, vote))) = before(clock, until, asked.next()).await
        {
            self.record(member, vote);
        }
    }

    /// Whether others have a part of it, and it is they that would be waited for.
    fn is_split(&self) -> bool {
        let has_some = self.by.values().any(|vote| matches!(vote, Vote::Granted));
        has_some && self.tally(false).verdict() == Verdict::LostToOthers
    }

    /// Whether it was given up before all that could decide it had voted.
    pub(super) fn are_undecided(&self) -> bool {
        self.tally(true).verdict() == Verdict::Pending
    }

    /// What the votes come to, which all are in that are waited for.
    async fn decide(
        &mut self,
        asked: &mut InFlight<impl Future<Output = (MemberId, Vote)>>,
    ) -> Verdict {
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

/// A member that takes longer than this, and four times as long as the others, is late.
const PATIENCE: Duration = Duration::from_millis(10);

/// Members that are equally far answer within less.
const SOON: Duration = Duration::from_millis(1);

/// How long a member that refused says that the lock is held; `Some(None)` if for ever.
pub(super) const fn ttl_of_refusal(vote: &Vote) -> Option<Option<Duration>> {
    match vote {
        Vote::Refused { ttl } => Some(*ttl),
        _ => None,
    }
}
