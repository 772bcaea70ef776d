//! One acquisition, round after round, over one node or many.
//!
//! A round asks all members at once and ends as soon as the votes decide it; of a fenced lock, once
//! enough members agree on the token. The slow rest of a won round goes on and joins the claim: every
//! further grant is one more member that may forget it. A lost round is taken back wherever the
//! answer was not a plain refusal; how its rule goes on is the [`Strategy`]'s.
//!
//! Source: the Redlock algorithm as published by Redis (distributed locks).

use std::{sync::Arc, time::Duration};

use super::{
    agreeing::agree, attempt::Attempt, strategy::Strategy, tally::Verdict, target::Target,
    votes::Votes,
};
use crate::{
    by_member::{ByMember, MemberId},
    claim::{Claim, InFlight, Wanted, ask, roll_back, roll_back_all},
    error::{AcquireError, NodeError, Phase, Vote},
    guard::{LockGuard, Tenure},
    kind::Admission,
    notifier::Listener,
    voting::{Voter, ballot},
    wait::{Contender, Round},
};

/// Somebody who wants a lock.
#[derive(Debug)]
pub(crate) struct Acquisition {
    target: Target,
    wanted: Wanted,
    strategy: Strategy,
    /// For the next round: waiters may listen to its holder id already.
    reserved: Option<Arc<Claim>>,
}

impl Acquisition {
    pub(crate) fn new(target: Target, wanted: Wanted) -> Self {
        let strategy = Strategy::of(&target);
        Self { target, wanted, strategy, reserved: None }
    }

    /// Something to ask with that was never asked with before.
    fn fresh(&self) -> Arc<Claim> {
        Claim::new(&self.target.members, self.target.need(), self.wanted)
    }

    /// What the next round asks with.
    fn attempt(&mut self) -> Attempt {
        if let Some(kept) = self.strategy.take_kept() {
            return kept;
        }
        Attempt::new(self.reserved.take().unwrap_or_else(|| self.fresh()))
    }

    /// The holder id that the next round asks with.
    fn next_holder(&mut self) -> Arc<str> {
        if let Some(kept) = self.strategy.kept() {
            return kept.holder().clone();
        }
        let reserved = self.reserved.take().unwrap_or_else(|| self.fresh());
        self.reserved.insert(reserved).holder().clone()
    }

    /// Asks all members that have not voted yet, at once, until the round is decided.
    async fn ask_others(&mut self, attempt: Attempt, mut votes: Votes) -> Round<LockGuard> {
        let claim = attempt.claim().clone();
        let mut asked = InFlight::none();
        let verdict = if self.target.members.is_one() {
            // The everyday case needs nothing that keeps several futures apart.
            let (member, vote) = ask(claim.clone(), MemberId::FIRST).await;
            votes.record(member, vote);
            votes.last_verdict()
        } else {
            asked.add(votes.pending().map(|member| ask(claim.clone(), member)));
            votes.collect(&mut asked).await
        };
        // By now the servers have said who they are.
        if let Err(error) = self.target.check_servers() {
            drop(asked);
            roll_back(&claim, &votes.granted()).await;
            return Round::Failed(error);
        }
        match verdict {
            Verdict::Won => self.enough_granted(attempt, asked, votes).await,
            Verdict::LostToOthers => {
                let lost = self.strategy.lost(attempt, asked, votes, &self.target).await;
                Round::Refused(lost)
            }
            Verdict::LostToOutage | Verdict::Pending => {
                // Whoever has not answered is asked no further; the rollback comes behind on its
                // socket.
                drop(asked);
                roll_back(&claim, &votes.granted()).await;
                self.unavailable(votes.by)
            }
        }
    }

    /// Makes a round with enough grants a turn of the caller's.
    async fn enough_granted<A>(
        &mut self,
        attempt: Attempt,
        mut asked: InFlight<A>,
        mut votes: Votes,
    ) -> Round<LockGuard>
    where
        A: Future<Output = (MemberId, Vote)> + Send + 'static,
    {
        let claim = attempt.claim().clone();
        let token = agree(&claim, &mut asked, &mut votes).await;
        let tenure = Tenure::new(claim.clone(), token);
        if claim.win(token, tenure.as_tenant()) {
            attempt.hand_on();
            asked.finish_in_background();
            return Round::Granted(LockGuard::new(tenure));
        }
        drop(asked);
        self.not_won(&claim, votes).await
    }

    /// Takes back, everywhere, a round that had enough grants: the answers came so late that too
    /// little of the lease is left, or its token was not written by enough members.
    async fn not_won(&mut self, claim: &Arc<Claim>, mut votes: Votes) -> Round<LockGuard> {
        roll_back_all(claim).await;
        if claim.is_shut_down() {
            return Round::Failed(AcquireError::Shutdown);
        }
        if votes.last_verdict() == Verdict::LostToOthers {
            self.strategy.count_lost_round();
            return Round::Refused(votes.refusals(false));
        }
        for vote in votes.by.values_mut().filter(|vote| matches!(vote, Vote::Granted)) {
            *vote = Vote::Failed(NodeError::TimedOut { phase: Phase::Answering });
        }
        self.unavailable(votes.by)
    }

    fn unavailable(&self, votes: ByMember<Vote>) -> Round<LockGuard> {
        let ballot = ballot(&self.target.members, votes);
        let need = self.target.need();
        if let Some(counts_in) = ballot.quarantined(need) {
            let error =
                AcquireError::Quarantined { lock: self.target.lock_name(), ballot, counts_in };
            return Round::NotYet { error, counts_in };
        }
        let pointless = ballot.failures().filter(|(_, cause)| cause.is_permanent()).count()
            > self.target.members.len() - need;
        let error = AcquireError::Unavailable { lock: self.target.lock_name(), ballot };
        if pointless { Round::Failed(error) } else { Round::Outage(error) }
    }
}

impl Contender for Acquisition {
    type Grant = LockGuard;

    async fn round(&mut self) -> Round<LockGuard> {
        if let Err(error) = self.target.check_servers() {
            return Round::Failed(error);
        }
        self.strategy.let_go(self.target.now()).await;
        let attempt = self.attempt();
        let mut votes = Votes::new(self.target.rule, self.target.members.map(|_| Vote::Pending));
        match self.strategy.retry_blocker(attempt, &mut votes).await {
            Ok(attempt) => self.ask_others(attempt, votes).await,
            Err(refusals) => Round::Refused(refusals),
        }
    }

    async fn give_back(&mut self) {
        self.strategy.give_back().await;
    }

    fn alarmed(&mut self) {
        self.strategy.ask_all();
    }

    fn not_yet(&self) -> Option<(AcquireError, Duration)> {
        match self.unavailable(self.target.members.map(Voter::foreseen)) {
            Round::NotYet { error, counts_in } => Some((error, counts_in)),
            _ => None,
        }
    }

    fn listen(&mut self) -> ByMember<Listener> {
        let is_own = self.target.members.values().any(|member| member.kind.has_own_channels());
        let holder = if is_own { self.next_holder() } else { Arc::default() };
        self.target.members.map(|member| member.listen(&holder))
    }

    fn keeps_out(&self) -> Option<Duration> {
        let mut kinds = self.target.members.values().map(|member| &member.kind);
        let is_exclusive = kinds.any(|kind| kind.admission() == Admission::Exclusive);
        is_exclusive.then(|| self.wanted.term.length())
    }

    fn stagger(&mut self) -> Duration {
        let most = self.strategy.stagger(&self.target);
        if most.is_zero() { most } else { self.target.random().within(Duration::ZERO..most) }
    }
}
