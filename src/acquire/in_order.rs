//! How a `MultiLock` goes on once it lost a round to others: member by member, in one order for all
//! processes.
//!
//! What the members before the first refusal granted is kept for a while. At the next wake-up the
//! one that refused is asked alone: what the others granted meanwhile would be in the way of their
//! next holders, only to be given back. Whoever is not about to ask again keeps nothing: those
//! before it in line would wait for that.
//!
//! Source: ordered resource acquisition, which knows no deadlock.

use std::{ops::Range, sync::Arc, time::Duration};

use super::{
    attempt::Attempt,
    servers::common_order,
    votes::{Votes, ttl_of_refusal},
};
use crate::{
    by_member::MemberId,
    claim::{Claim, InFlight, ask, roll_back, roll_back_all, roll_back_some},
    clock::Instant,
    error::Vote,
    random::Random,
    wait::Refusals,
};

/// How long members are kept while another one is waited for, but for no longer than half a lease.
/// At random, so that two get apart whose order differs since a server was restarted between.
const KEEP: Range<Duration> = Duration::from_millis(2_000)..Duration::from_millis(2_500);
/// How long nothing is kept after something was kept in vain: others are to have their turns while
/// the member that is waited for is held for long.
const LET_GO: Duration = Duration::from_secs(10);
/// How long one member is asked alone: then all are, to notice what became of the others.
const ALONE: Duration = Duration::from_secs(5);

/// What a `MultiLock` has and wants of its members between two rounds.
#[derive(Debug, Default)]
pub(super) struct InOrder {
    /// When a round was lost first. Before that a refusal is an answer at once, however long
    /// another member takes.
    lost_at: Option<Instant>,
    /// The member that is asked next, alone until that time: the first that refused.
    waits_for: Option<(MemberId, Instant)>,
    /// What the members before it granted.
    kept: Option<Attempt>,
    /// Until when that may be kept; `None` while nothing is.
    keep_until: Option<Instant>,
    /// Until when nothing is kept, since it was kept in vain.
    keep_from: Option<Instant>,
}

impl InOrder {
    /// How long ago the first round was lost, if a single member is asked next.
    pub(super) fn has_waited(&self, now: Instant) -> Option<Duration> {
        self.waits_for.and(self.lost_at).map(|lost_at| now.saturating_since(lost_at))
    }

    pub(super) fn take_kept(&mut self) -> Option<Attempt> {
        let kept = self.kept.take();
        if kept.is_none() {
            self.keep_until = None;
        }
        kept
    }

    pub(super) fn kept(&self) -> Option<&Arc<Claim>> {
        self.kept.as_ref().map(Attempt::claim)
    }

    /// Gives back what was kept too long, and keeps nothing for a while.
    pub(super) async fn let_go(&mut self, now: Instant) {
        if self.keep_until.is_none_or(|until| now < until) {
            return;
        }
        if let Some(kept) = self.kept.take() {
            self.keep_until = None;
            self.keep_from = Some(now + LET_GO);
            roll_back_all(kept.claim()).await;
        }
    }

    /// The next round asks all, whoever is waited for.
    pub(super) const fn ask_all(&mut self) {
        self.waits_for = None;
    }

    /// Gives back what is kept, whoever is waited for: the next round asks all again.
    pub(super) async fn give_back(&mut self) {
        self.ask_all();
        self.keep_until = None;
        if let Some(kept) = self.kept.take() {
            roll_back_all(kept.claim()).await;
        }
    }

    /// Asks the member that is waited for, if one is, and enters its grant into `votes`. If it fails
    /// it is asked again with the others: what a failure comes to is said there.
    ///
    /// # Errors
    /// It still refuses. What was kept is kept.
    pub(super) async fn retry_blocker(
        &mut self,
        attempt: Attempt,
        votes: &mut Votes,
    ) -> Result<Attempt, Refusals> {
        let claim = attempt.claim();
        let now = claim.now();
        let is_time = |(_, until): &(MemberId, Instant)| now < *until;
        let Some((member, until)) = self.waits_for.take().filter(is_time) else {
            return Ok(attempt);
        };
        let (_, vote) = ask(claim.clone(), member).await;
        if let Vote::Refused { ttl } = vote {
            self.waits_for = Some((member, until));
            return Err(self.wait(attempt, member, ttl));
        }
        if let Vote::Granted = vote {
            votes.record(member, vote);
        }
        Ok(attempt)
    }

    /// Keeps the members before the first that did not grant, and takes back what others granted. If
    /// that is not sure to be gone nothing is kept: the same claim may not ask there again. Nor is
    /// anything kept for a member that fails: it is not waited for, so nothing would end that.
    pub(super) async fn lost(
        &mut self,
        attempt: Attempt,
        mut asked: InFlight<impl Future<Output = (MemberId, Vote)>>,
        mut votes: Votes,
        random: &Random,
    ) -> Refusals {
        let claim = attempt.claim();
        let order = common_order(claim.members());
        self.hear_prefix(&mut asked, &order, &mut votes).await;
        // Whoever has not answered is asked no further; the rollback comes behind on its socket.
        drop(asked);
        let now = claim.now();
        self.lost_at.get_or_insert(now);
        let is_granted = |id: &MemberId| matches!(votes.by[*id], Vote::Granted);
        let (keep, give_back) = order.split_at(order.iter().take_while(|i| is_granted(i)).count());
        let next = give_back.first().map(|id| &votes.by[*id]);
        let may_keep = !keep.is_empty()
            && !matches!(next, Some(Vote::Failed(_)))
            && self.keep_from.is_none_or(|from| now >= from);
        if may_keep && roll_back_some(claim, give_back).await {
            let keep_for = random.within(KEEP).min(claim.term().length() / 2);
            self.keep_until.get_or_insert(now + keep_for);
        } else {
            self.keep_until = None;
            roll_back(claim, &order.iter().copied().filter(is_granted).collect::<Vec<_>>()).await;
        }
        let mut refusals = give_back.iter().map(|id| (*id, ttl_of_refusal(&votes.by[*id])));
        let Some((member, ttl)) = refusals.find_map(|(id, ttl)| Some((id, ttl?))) else {
            // Rounds that nobody refused are not lost to others.
            return Refusals { by: Vec::new(), enough: 0 };
        };
        // One before it may not have answered yet: then all are asked again.
        let is_first = give_back.first() == Some(&member);
        self.waits_for = is_first.then_some((member, now + ALONE));
        self.wait(attempt, member, ttl)
    }

    /// Takes votes until it is known which of the first members were granted.
    ///
    /// A refusal by a near member decides a round of all before a far one has answered; what that
    /// one grants is to be kept, or whoever is far from it would never have anything.
    async fn hear_prefix(
        &self,
        asked: &mut InFlight<impl Future<Output = (MemberId, Vote)>>,
        order: &[MemberId],
        votes: &mut Votes,
    ) {
        let is_open = |votes: &Votes| {
            let mut in_order = order.iter().map(|id| &votes.by[*id]);
            let first_other = in_order.find(|vote| !matches!(vote, Vote::Granted));
            self.lost_at.is_some() && matches!(first_other, Some(Vote::Pending))
        };
        while is_open(votes)
            && let Some((member, vote)) = asked.next().await
        {
            votes.record(member, vote);
        }
    }

    /// Keeps `attempt` if something of it is to be kept, else it ends here; and waits for `member`,
    /// but no longer than the next step may wait.
    fn wait(&mut self, attempt: Attempt, member: MemberId, ttl: Option<Duration>) -> Refusals {
        let now = attempt.claim().now();
        let steps = [self.keep_until, self.waits_for.map(|(_, until)| until)];
        let left = steps.into_iter().flatten().map(|until| until.saturating_since(now));
        let ttl = ttl.into_iter().chain(left).min();
        self.kept = self.keep_until.is_some().then_some(attempt);
        Refusals { by: vec![(member, ttl)], enough: 1 }
    }
}
