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

use super::servers::common_order;
use crate::{
    clock::Instant,
    error::Vote,
    lock::{
        ask::ask,
        giving_back::{Attempting, roll_back, roll_back_some},
        volley::Volley,
    },
    random::Random,
    wait::Refusals,
};

/// How long members are kept while another one is waited for, but for no longer than half a lease.
/// At random, so that two get apart whose order differs since a server was restarted between.
const KEEP: Range<Duration> = Duration::from_millis(2_000)..Duration::from_millis(2_500);

/// A hold that is asked for.
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
    /// Whether a round was lost: before that a refusal is an answer at once, however long another
    /// member takes.
    has_lost: bool,
    /// What the members before the one that is waited for granted.
    kept: Option<Attempt>,
    waits_for: Option<Refused>,
    /// How often something was kept in vain.
    given_up: u32,
}

/// The first member that refused. It alone is asked next, but not for ever: what happens to the
/// others is to be noticed too, and whoever never keeps anything never has all.
#[derive(Debug)]
struct Refused {
    member: usize,
    /// From then on nothing is kept for it; if nothing is, all are asked again.
    until: Instant,
}

impl InOrder {
    /// Whether a single member is asked next: that round collides with nobody's elsewhere.
    pub(super) const fn waits_for_one(&self) -> bool {
        self.waits_for.is_some()
    }

    pub(super) const fn take_kept(&mut self) -> Option<Attempt> {
        self.kept.take()
    }

    /// Gives back what was kept too long, to wait for the same member without it, longer each time.
    /// Once that is over too, all are asked next.
    pub(super) async fn give_up(&mut self, now: Instant) {
        let Some(refused) = self.waits_for.as_mut().filter(|refused| now >= refused.until) else {
            return;
        };
        if self.kept.is_none() {
            self.waits_for = None;
            return;
        }
        refused.until = now + KEEP.end * (2 << self.given_up.min(3));
        self.given_up += 1;
        self.give_back_kept().await;
    }

    /// Gives back what is kept, whoever is waited for: the next round asks all again.
    pub(super) async fn give_back(&mut self) {
        self.waits_for = None;
        self.give_back_kept().await;
    }

    async fn give_back_kept(&mut self) {
        if let Some(kept) = self.kept.take() {
            let hold = kept.attempting.hold();
            roll_back(hold, &(0..hold.members().len()).collect::<Vec<_>>()).await;
        }
    }

    /// Asks the member that is waited for, if one is, and enters its grant into `votes`. If it fails
    /// it is asked again with the others: what a failure comes to is said there.
    ///
    /// # Errors
    /// It still refuses. What was kept is kept.
    pub(super) async fn knock(
        &mut self,
        attempt: Attempt,
        votes: &mut [Vote],
    ) -> Result<Attempt, Refusals> {
        let Some(refused) = self.waits_for.take() else { return Ok(attempt) };
        let (member, vote) = ask(attempt.attempting.hold().clone(), refused.member).await;
        if let Vote::Refused { ttl } = vote {
            self.waits_for = Some(refused);
            return Err(self.keep(attempt, member, ttl));
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
        asked: &mut Volley<impl Future<Output = (usize, Vote)>>,
        order: &[usize],
        votes: &mut [Vote],
    ) {
        let is_open = |votes: &[Vote]| {
            let mut in_order = order.iter().filter_map(|i| votes.get(*i));
            let first_other = in_order.find(|vote| !matches!(vote, Vote::Granted));
            self.has_lost && matches!(first_other, Some(Vote::Pending))
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
    /// that is not sure to be gone nothing is kept: the same hold may not ask there again. Nor is
    /// anything kept for a member that fails: it is not waited for, so nothing would end that.
    pub(super) async fn lost(
        &mut self,
        mut attempt: Attempt,
        votes: &[Vote],
        random: &Random,
    ) -> Refusals {
        self.has_lost = true;
        let hold = attempt.attempting.hold();
        let order = common_order(hold.members());
        let is_granted = |i: &usize| matches!(votes.get(*i), Some(Vote::Granted));
        let (keep, give_back) = order.split_at(order.iter().take_while(|i| is_granted(i)).count());
        let until = hold.now() + random.within(KEEP).min(hold.term().length() / 2);
        let next = give_back.first().and_then(|i| votes.get(*i));
        let may_keep = !keep.is_empty() && !matches!(next, Some(Vote::Failed(_)));
        if may_keep && roll_back_some(hold, give_back).await {
            attempt.keep_until.get_or_insert(until);
        } else {
            attempt.keep_until = None;
            roll_back(hold, &order.iter().copied().filter(is_granted).collect::<Vec<_>>()).await;
        }
        let until = attempt.keep_until.unwrap_or(until);
        let refusal = give_back.iter().find_map(|i| match votes.get(*i) {
            Some(Vote::Refused { ttl }) => Some((*i, *ttl)),
            _ => None,
        });
        let Some((member, ttl)) = refusal else {
            // Not of a round that was lost to others.
            return Refusals { by: Vec::new(), enough: 0 };
        };
        // Who has not answered may be one before it: then all are asked again.
        let is_first = give_back.first() == Some(&member);
        self.waits_for = is_first.then_some(Refused { member, until });
        self.keep(attempt, member, ttl)
    }

    /// Keeps `attempt` if something of it is to be kept, else it ends here; and waits for `member`.
    fn keep(&mut self, attempt: Attempt, member: usize, mut ttl: Option<Duration>) -> Refusals {
        if let Some(until) = attempt.keep_until {
            let left = until.saturating_since(attempt.attempting.hold().now());
            ttl = Some(ttl.map_or(left, |ttl| ttl.min(left)));
            self.kept = Some(attempt);
        }
        Refusals { by: vec![(member, ttl)], enough: 1 }
    }
}
