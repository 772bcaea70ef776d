//! How a `MultiLock` goes on once it lost a round to others: member by member, in one order for all
//! processes.
//!
//! What the members before the first refusal granted is kept for a while. At the next wake-up the
//! one that refused is asked alone: what the others granted meanwhile would be in the way of their
//! next holders, only to be given back. Whoever is not about to ask again keeps nothing: those
//! before it in line would wait for that.
//!
//! Source: ordered resource acquisition, which knows no deadlock.

use std::{ops::Range, time::Duration};

use crate::{
    acquire::servers::common_order,
    claim::{Attempting, InFlight, ask, roll_back, roll_back_all, roll_back_some},
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

/// A claim that is asked for.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) attempting: Attempting,
    /// Until when what was granted may be kept; `None` while nothing is.
    keep_until: Option<Instant>,
}

impl Attempt {
    pub(super) const fn new(attempting: Attempting) -> Self {
        Self { attempting, keep_until: None }
    }
}

/// What a `MultiLock` has and wants of its members between two rounds.
#[derive(Debug, Default)]
pub(super) struct InOrder {
    /// When a round was lost first. Before that a refusal is an answer at once, however long
    /// another member takes.
    lost_at: Option<Instant>,
    /// The member that is asked next, alone until that time: the first that refused.
    waits_for: Option<(usize, Instant)>,
    /// What the members before it granted.
    kept: Option<Attempt>,
    /// Until when nothing is kept, since it was kept in vain.
    keep_from: Option<Instant>,
}

impl InOrder {
    /// How long ago the first round was lost, if a single member is asked next.
    pub(super) fn has_waited(&self, now: Instant) -> Option<Duration> {
        self.waits_for.and(self.lost_at).map(|lost_at| now.saturating_since(lost_at))
    }

    pub(super) const fn take_kept(&mut self) -> Option<Attempt> {
        self.kept.take()
    }

    /// Gives back what was kept too long, and keeps nothing for a while.
    pub(super) async fn give_up(&mut self, now: Instant) {
        let is_over = |kept: &mut Attempt| kept.keep_until.is_some_and(|until| now >= until);
        let Some(kept) = self.kept.take_if(is_over) else { return };
        self.keep_from = Some(now + LET_GO);
        roll_back_all(kept.attempting.claim()).await;
    }

    /// The next round asks all, whoever is waited for.
    pub(super) const fn ask_all(&mut self) {
        self.waits_for = None;
    }

    /// Gives back what is kept, whoever is waited for: the next round asks all again.
    pub(super) async fn give_back(&mut self) {
        self.ask_all();
        if let Some(kept) = self.kept.take() {
            roll_back_all(kept.attempting.claim()).await;
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
        votes: &mut [Vote],
    ) -> Result<Attempt, Refusals> {
        let claim = attempt.attempting.claim();
        let now = claim.now();
        let is_time = |(_, until): &(usize, Instant)| now < *until;
        let Some((member, until)) = self.waits_for.take().filter(is_time) else {
            return Ok(attempt);
        };
        let (_, vote) = ask(claim.clone(), member).await;
        if let Vote::Refused { ttl } = vote {
            self.waits_for = Some((member, until));
            return Err(self.wait(attempt, member, ttl));
        }
        if let (Vote::Granted, Some(slot)) = (&vote, votes.get_mut(member)) {
            *slot = vote;
        }
        Ok(attempt)
    }

    /// Takes votes until it is known which of the first members were granted.
    ///
    /// A refusal by a near member decides a round of all before a far one has answered; what that
    /// one grants is to be kept, or whoever is far from it would never have anything.
    pub(super) async fn hear_prefix(
        &self,
        asked: &mut InFlight<impl Future<Output = (usize, Vote)>>,
        order: &[usize],
        votes: &mut [Vote],
    ) {
        let is_open = |votes: &[Vote]| {
            let mut in_order = order.iter().filter_map(|i| votes.get(*i));
            let first_other = in_order.find(|vote| !matches!(vote, Vote::Granted));
            self.lost_at.is_some() && matches!(first_other, Some(Vote::Pending))
        };
        while is_open(votes)
            && let Some((member, vote)) = asked.next().await
        {
            if let Some(slot) = votes.get_mut(member) {
                *slot = vote;
            }
        }
    }

    /// Keeps the members before the first that did not grant, and takes back what others granted. If
    /// that is not sure to be gone nothing is kept: the same claim may not ask there again. Nor is
    /// anything kept for a member that fails: it is not waited for, so nothing would end that.
    pub(super) async fn lost(
        &mut self,
        mut attempt: Attempt,
        votes: &[Vote],
        random: &Random,
    ) -> Refusals {
        let claim = attempt.attempting.claim();
        let now = claim.now();
        self.lost_at.get_or_insert(now);
        let order = common_order(claim.members());
        let is_granted = |i: &usize| matches!(votes.get(*i), Some(Vote::Granted));
        let (keep, give_back) = order.split_at(order.iter().take_while(|i| is_granted(i)).count());
        let next = give_back.first().and_then(|i| votes.get(*i));
        let may_keep = !keep.is_empty()
            && !matches!(next, Some(Vote::Failed(_)))
            && self.keep_from.is_none_or(|from| now >= from);
        if may_keep && roll_back_some(claim, give_back).await {
            let keep_for = random.within(KEEP).min(claim.term().length() / 2);
            attempt.keep_until.get_or_insert(now + keep_for);
        } else {
            attempt.keep_until = None;
            roll_back(claim, &order.iter().copied().filter(is_granted).collect::<Vec<_>>()).await;
        }
        let refusal = give_back.iter().find_map(|i| match votes.get(*i) {
            Some(Vote::Refused { ttl }) => Some((*i, *ttl)),
            _ => None,
        });
        let Some((member, ttl)) = refusal else {
            // Rounds that nobody refused are not lost to others.
            return Refusals { by: Vec::new(), enough: 0 };
        };
        // One before it may not have answered yet: then all are asked again.
        let is_first = give_back.first() == Some(&member);
        self.waits_for = is_first.then_some((member, now + ALONE));
        self.wait(attempt, member, ttl)
    }

    /// Keeps `attempt` if something of it is to be kept, else it ends here; and waits for `member`,
    /// but no longer than the next step may wait.
    fn wait(&mut self, attempt: Attempt, member: usize, ttl: Option<Duration>) -> Refusals {
        let now = attempt.attempting.claim().now();
        let steps = [attempt.keep_until, self.waits_for.map(|(_, until)| until)];
        let left = steps.into_iter().flatten().map(|until| until.saturating_since(now));
        let ttl = ttl.into_iter().chain(left).min();
        self.kept = attempt.keep_until.is_some().then_some(attempt);
        Refusals { by: vec![(member, ttl)], enough: 1 }
    }
}
