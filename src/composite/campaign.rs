//! One acquisition over several nodes, round after round.
//!
//! A round asks all members at once and ends as soon as the votes decide it; of a fenced lock, once
//! enough members agree on the token. The slow rest of a won round goes on and joins the hold: every
//! further grant is one more member that may forget it. A lost round is taken back wherever the
//! answer was not a plain refusal.
//!
//! Sources: the Redlock algorithm as published by Redis (distributed locks); the ordered second
//! phase of a `MultiLock` is ordered resource acquisition, which knows no deadlock.

use std::{sync::Arc, time::Duration};

use super::{
    agreeing::agree,
    fanout::Fanout,
    servers,
    tally::{Rule, Said, Tally, Verdict},
};
use crate::{
    clock::Instant,
    error::{AcquireError, Ballot, NodeError, Phase, Vote},
    lease::Term,
    lock::{
        LockGuard, Member,
        ask::ask,
        giving_back::{Attempting, roll_back, roll_back_some},
        hold::Hold,
        volley::Volley,
    },
    notifier::Listener,
    wait::{Contender, Refusals, Round},
};

/// How long a `MultiLock` keeps the members it has while it waits for the next one.
const KEEP: Duration = Duration::from_secs(2);

/// Somebody who wants a composite.
#[derive(Debug)]
pub(crate) struct Campaign {
    fanout: Fanout,
    term: Term,
    lost_rounds: u32,
    kept: Option<Kept>,
}

/// The first members, in the common order, that a `MultiLock` was granted and keeps.
#[derive(Debug)]
struct Kept {
    attempt: Attempting,
    until: Instant,
}

/// The votes of a round that is decided.
struct Decided {
    verdict: Verdict,
    tally: Tally,
    votes: Vec<Vote>,
}

impl Campaign {
    pub(crate) fn new(fanout: Fanout, term: Term) -> Self {
        Self { fanout, term, lost_rounds: 0, kept: None }
    }

    fn members(&self) -> &Arc<[Member]> {
        &self.fanout.members
    }

    /// The hold to ask for, and until when what was kept may be kept.
    fn attempt(&mut self, now: Instant) -> (Attempting, Instant) {
        if let Some(kept) = self.kept.take() {
            return (kept.attempt, kept.until);
        }
        let need = self.fanout.rule.need(self.members().len());
        let process =
            &self.members().first().expect("invariant: a fanout has members").site.process;
        let hold = Hold::new(process, self.members(), need, self.term);
        let keep = process.random.within(KEEP..KEEP + Duration::from_millis(500));
        (Attempting::new(hold), now + keep)
    }

    fn check(&self) -> Result<(), AcquireError> {
        if self.members().iter().any(|member| member.site.is_closed()) {
            return Err(AcquireError::Shutdown);
        }
        servers::check_processes(self.fanout.rule, self.members())?;
        Ok(servers::check_fleets(self.members())?)
    }

    /// Once a `MultiLock` got in others' way: before that a refusal is an answer at once, however
    /// long another member takes.
    fn takes_members_in_order(&self) -> bool {
        self.fanout.rule == Rule::All && self.lost_rounds > 0
    }

    /// Gives up what was kept too long, so that two who wait for each other's keys get apart.
    async fn give_up_kept(&mut self, now: Instant) -> bool {
        match self.kept.take_if(|kept| now >= kept.until) {
            Some(kept) => {
                roll_back(kept.attempt.hold(), &everybody(self.members())).await;
                true
            }
            None => false,
        }
    }

    /// Takes a lost round back; a `MultiLock` keeps its first members and waits for the next.
    async fn lost_to_others(
        &mut self,
        attempt: Attempting,
        until: Instant,
        decided: Decided,
    ) -> Round<LockGuard> {
        self.lost_rounds += 1;
        let granted = granted(&decided.votes);
        if self.fanout.rule == Rule::Majority {
            roll_back(attempt.hold(), &granted).await;
            let refusals = refusals(&decided.votes);
            return Round::Refused(Refusals { by: refusals, enough: decided.tally.short_of() });
        }
        let order = servers::common_order(self.members());
        let is_granted = |i: &usize| matches!(decided.votes.get(*i), Some(Vote::Granted));
        let keep = order.iter().take_while(|i| is_granted(i)).count();
        let (_, give_back) = order.split_at(keep);
        let clean = keep > 0 && roll_back_some(attempt.hold(), give_back).await;
        let now = attempt.hold().now();
        let mut wait_for: Vec<_> = refusals_in(&order, &decided.votes).take(1).collect();
        if clean {
            let left = until.saturating_since(now);
            for (_, ttl) in &mut wait_for {
                *ttl = Some(ttl.map_or(left, |ttl| ttl.min(left)));
            }
            self.kept = Some(Kept { attempt, until });
        } else {
            roll_back(attempt.hold(), &granted).await;
        }
        let enough = wait_for.len();
        Round::Refused(Refusals { by: wait_for, enough })
    }

    /// Takes back, everywhere, a round that had enough grants: the answers came so late that too
    /// little of the lease is left, or its token was not written by enough members.
    async fn not_won(&mut self, hold: &Hold, mut votes: Vec<Vote>) -> Round<LockGuard> {
        roll_back(hold, &everybody(self.members())).await;
        if hold.is_shut_down() {
            return Round::Failed(AcquireError::Shutdown);
        }
        let mut tally = Tally::new(self.fanout.rule, votes.len());
        votes.iter().for_each(|vote| tally.record(said(vote)));
        if tally.verdict() == Verdict::LostToOthers {
            self.lost_rounds += 1;
            let by = refusals(&votes);
            return Round::Refused(Refusals { by, enough: tally.short_of() });
        }
        for vote in votes.iter_mut().filter(|vote| matches!(vote, Vote::Granted)) {
            *vote = Vote::Failed(NodeError::TimedOut { phase: Phase::Answering });
        }
        self.unavailable(votes)
    }

    fn ballot(&self, votes: Vec<Vote>) -> Ballot {
        let nodes = self.members().iter().map(|member| member.site.node_id().clone());
        Ballot::new(nodes.zip(votes).collect())
    }

    fn unavailable(&self, votes: Vec<Vote>) -> Round<LockGuard> {
        let ballot = self.ballot(votes);
        let need = self.fanout.rule.need(self.members().len());
        if let Some(counts_in) = ballot.quarantined(need) {
            let error = AcquireError::Quarantined { ballot, counts_in };
            return Round::NotYet { error, counts_in };
        }
        let pointless = ballot.failures().filter(|(_, cause)| cause.is_permanent()).count()
            > self.members().len() - need;
        let error = AcquireError::Unavailable { ballot };
        if pointless { Round::Failed(error) } else { Round::Outage(error) }
    }
}

impl Contender for Campaign {
    type Grant = LockGuard;

    async fn round(&mut self) -> Round<LockGuard> {
        if let Err(error) = self.check() {
            return Round::Failed(error);
        }
        let now = self.fanout.now();
        if self.give_up_kept(now).await {
            return Round::Refused(Refusals { by: Vec::new(), enough: 0 });
        }
        let (attempt, until) = self.attempt(now);
        let hold = attempt.hold().clone();
        let mut asked = Volley::send((0..self.members().len()).map(|i| ask(hold.clone(), i)));
        let mut decided = collect(&mut asked, self.fanout.rule, self.members().len()).await;
        // By now the servers have said who they are.
        if let Err(error) = self.check() {
            drop(asked);
            roll_back(&hold, &granted(&decided.votes)).await;
            return Round::Failed(error);
        }
        if decided.verdict == Verdict::Won {
            let token = agree(&hold, &mut asked, &mut decided.votes).await;
            if hold.win(token) {
                attempt.hand_on();
                asked.finish_in_background();
                return Round::Granted(LockGuard::new(hold));
            }
            drop(asked);
            return self.not_won(&hold, decided.votes).await;
        }
        if decided.verdict == Verdict::LostToOthers && self.takes_members_in_order() {
            let order = servers::common_order(self.members());
            hear_prefix(&mut asked, &order, &mut decided.votes).await;
        }
        // Whoever has not answered is asked no further; the rollback comes behind on its socket.
        drop(asked);
        if decided.verdict == Verdict::LostToOthers {
            return self.lost_to_others(attempt, until, decided).await;
        }
        roll_back(&hold, &granted(&decided.votes)).await;
        self.unavailable(decided.votes)
    }

    fn not_yet(&self) -> Option<(AcquireError, Duration)> {
        match self.unavailable(self.members().iter().map(Member::foreseen).collect()) {
            Round::NotYet { error, counts_in } => Some((error, counts_in)),
            _ => None,
        }
    }

    fn listen(&self) -> Vec<Listener> {
        self.members().iter().map(Member::listen).collect()
    }

    fn lease(&self) -> Duration {
        self.term.length()
    }

    fn stagger(&mut self) -> Duration {
        let most = Duration::from_millis(2 << self.lost_rounds.min(5));
        self.fanout.random().within(Duration::ZERO..most)
    }
}

/// Takes votes until they decide the round.
async fn collect(
    asked: &mut Volley<impl Future<Output = (usize, Vote)>>,
    rule: Rule,
    members: usize,
) -> Decided {
    let mut tally = Tally::new(rule, members);
    let mut votes = vec![Vote::Pending; members];
    while tally.verdict() == Verdict::Pending
        && let Some((member, vote)) = asked.next().await
    {
        tally.record(said(&vote));
        if let Some(slot) = votes.get_mut(member) {
            *slot = vote;
        }
    }
    // Members in quarantine fail faster than any other. Whoever is told of them wants to know of
    // all, and is to wait anyway.
    while tally.verdict() == Verdict::LostToOutage
        && votes.iter().any(Vote::is_quarantined)
        && let Some((member, vote)) = asked.next().await
        && let Some(slot) = votes.get_mut(member)
    {
        *slot = vote;
    }
    Decided { verdict: tally.verdict(), tally, votes }
}

fn said(vote: &Vote) -> Said {
    match vote {
        Vote::Granted => Said::Granted,
        Vote::Refused { .. } => Said::Refused,
        Vote::Failed(_) | Vote::Pending => Said::Failed,
    }
}

/// Takes votes until it is known which of the first members, in the common order, were granted.
///
/// A refusal by a near member decides a round of all before a far one has answered; what that one
/// grants is the prefix to keep, or whoever is far from it would never have one.
async fn hear_prefix(
    asked: &mut Volley<impl Future<Output = (usize, Vote)>>,
    order: &[usize],
    votes: &mut [Vote],
) {
    let is_open = |votes: &[Vote]| {
        let mut in_order = order.iter().filter_map(|i| votes.get(*i));
        let first_other = in_order.find(|vote| !matches!(vote, Vote::Granted));
        matches!(first_other, Some(Vote::Pending))
    };
    while is_open(votes)
        && let Some((member, vote)) = asked.next().await
    {
        if let Some(slot) = votes.get_mut(member) {
            *slot = vote;
        }
    }
}

fn everybody(members: &[Member]) -> Vec<usize> {
    (0..members.len()).collect()
}

fn granted(votes: &[Vote]) -> Vec<usize> {
    let all = votes.iter().enumerate();
    all.filter(|(_, vote)| matches!(vote, Vote::Granted)).map(|(i, _)| i).collect()
}

fn refusals(votes: &[Vote]) -> Vec<(usize, Option<Duration>)> {
    let order: Vec<usize> = (0..votes.len()).collect();
    refusals_in(&order, votes).collect()
}

fn refusals_in<'a>(
    order: &'a [usize],
    votes: &'a [Vote],
) -> impl Iterator<Item = (usize, Option<Duration>)> + 'a {
    order.iter().filter_map(|i| match votes.get(*i) {
        Some(Vote::Refused { ttl }) => Some((*i, *ttl)),
        _ => None,
    })
}
