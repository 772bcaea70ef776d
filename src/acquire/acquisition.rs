//! One acquisition over several nodes, round after round.
//!
//! A round asks all members at once and ends as soon as the votes decide it; of a fenced lock, once
//! enough members agree on the token. The slow rest of a won round goes on and joins the claim: every
//! further grant is one more member that may forget it. A lost round is taken back wherever the
//! answer was not a plain refusal. A `MultiLock` that lost one goes on [in order](super::in_order).
//!
//! Source: the Redlock algorithm as published by Redis (distributed locks).

use std::{sync::Arc, time::Duration};

use crate::{
    acquire::{
        agreeing::agree,
        fanout::Fanout,
        in_order::{Attempt, InOrder},
        servers,
        tally::{Rule, Said, Tally, Verdict},
    },
    claim::{Attempting, Claim, InFlight, ask, roll_back, roll_back_all},
    error::{AcquireError, Ballot, NodeError, Phase, Vote},
    guard::LockGuard,
    lease::Term,
    notifier::Listener,
    voting::Member,
    wait::{Contender, Refusals, Round},
};

/// Somebody who wants a composite.
#[derive(Debug)]
pub(crate) struct Acquisition {
    fanout: Fanout,
    term: Term,
    /// How many rounds of all were lost to others: the pause before the next one grows with it.
    lost_rounds: u32,
    /// Of `Rule::All` alone.
    in_order: InOrder,
}

/// The votes of a round that is decided.
struct Decided {
    verdict: Verdict,
    tally: Tally,
    votes: Vec<Vote>,
}

impl Acquisition {
    pub(crate) fn new(fanout: Fanout, term: Term) -> Self {
        Self { fanout, term, lost_rounds: 0, in_order: InOrder::default() }
    }

    fn members(&self) -> &Arc<[Member]> {
        &self.fanout.members
    }

    /// The claim to ask for: the one of which something is kept, or else a new one.
    fn attempt(&mut self) -> Attempt {
        if let Some(kept) = self.in_order.take_kept() {
            return kept;
        }
        let need = self.fanout.rule.need(self.members().len());
        let process =
            &self.members().first().expect("invariant: a fanout has members").services.process;
        Attempt::new(Attempting::new(Claim::new(process, self.members(), need, self.term)))
    }

    fn check(&self) -> Result<(), AcquireError> {
        if self.members().iter().any(|member| member.services.is_closed()) {
            return Err(AcquireError::Shutdown);
        }
        servers::check_processes(self.fanout.rule, self.members())?;
        Ok(servers::check_fleets(self.members())?)
    }

    /// Asks all members that have not voted yet, at once, until the round is decided.
    async fn ask_others(&mut self, attempt: Attempt, votes: Vec<Vote>) -> Round<LockGuard> {
        let claim = attempt.attempting.claim().clone();
        let open = (0..votes.len()).filter(|i| matches!(votes.get(*i), Some(Vote::Pending)));
        let mut asked = InFlight::send(open.map(|i| ask(claim.clone(), i)));
        let mut decided = collect(&mut asked, self.fanout.rule, votes).await;
        // By now the servers have said who they are.
        if let Err(error) = self.check() {
            drop(asked);
            roll_back(&claim, &granted(&decided.votes)).await;
            return Round::Failed(error);
        }
        if decided.verdict == Verdict::Won {
            let token = agree(&claim, &mut asked, &mut decided.votes).await;
            if claim.win(token) {
                attempt.attempting.hand_on();
                asked.finish_in_background();
                return Round::Granted(LockGuard::new(claim));
            }
            drop(asked);
            return self.not_won(&claim, decided.votes).await;
        }
        if decided.verdict == Verdict::LostToOthers && self.fanout.rule == Rule::All {
            let order = servers::common_order(self.members());
            self.in_order.hear_prefix(&mut asked, &order, &mut decided.votes).await;
        }
        // Whoever has not answered is asked no further; the rollback comes behind on its socket.
        drop(asked);
        if decided.verdict == Verdict::LostToOthers {
            return self.lost_to_others(attempt, decided).await;
        }
        roll_back(&claim, &granted(&decided.votes)).await;
        self.unavailable(decided.votes)
    }

    /// Takes a lost round back; a `MultiLock` keeps its first members and waits for who refused.
    async fn lost_to_others(&mut self, attempt: Attempt, decided: Decided) -> Round<LockGuard> {
        self.lost_rounds += 1;
        if self.fanout.rule == Rule::All {
            let random = self.fanout.random();
            return Round::Refused(self.in_order.lost(attempt, &decided.votes, random).await);
        }
        roll_back(attempt.attempting.claim(), &granted(&decided.votes)).await;
        let by = refusals(&decided.votes);
        Round::Refused(Refusals { by, enough: decided.tally.short_of() })
    }

    /// Takes back, everywhere, a round that had enough grants: the answers came so late that too
    /// little of the lease is left, or its token was not written by enough members.
    async fn not_won(&mut self, claim: &Claim, mut votes: Vec<Vote>) -> Round<LockGuard> {
        roll_back_all(claim).await;
        if claim.is_shut_down() {
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
        let nodes = self.members().iter().map(|member| member.services.node_id().clone());
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

impl Contender for Acquisition {
    type Grant = LockGuard;

    async fn round(&mut self) -> Round<LockGuard> {
        if let Err(error) = self.check() {
            return Round::Failed(error);
        }
        self.in_order.give_up(self.fanout.now()).await;
        let mut votes = vec![Vote::Pending; self.members().len()];
        let attempt = self.attempt();
        match self.in_order.retry_blocker(attempt, &mut votes).await {
            Ok(attempt) => self.ask_others(attempt, votes).await,
            Err(refusals) => Round::Refused(refusals),
        }
    }

    async fn give_back(&mut self) {
        self.in_order.give_back().await;
    }

    fn alarmed(&mut self) {
        self.in_order.ask_all();
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
        let most = match self.in_order.has_waited(self.fanout.now()) {
            // Those who ask one member, one after the other, need no distance from each other. But
            // whoever is far from it would always come too late; the longer it waits, the less.
            Some(waited) => Duration::from_millis(16 >> waited.as_secs().min(5)),
            None => Duration::from_millis(2 << self.lost_rounds.min(5)),
        };
        self.fanout.random().within(Duration::ZERO..most)
    }
}

/// Takes votes until they decide the round.
async fn collect(
    asked: &mut InFlight<impl Future<Output = (usize, Vote)>>,
    rule: Rule,
    mut votes: Vec<Vote>,
) -> Decided {
    let mut tally = Tally::new(rule, votes.len());
    votes.iter().filter(|vote| !matches!(vote, Vote::Pending)).for_each(|v| tally.record(said(v)));
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

fn granted(votes: &[Vote]) -> Vec<usize> {
    let all = votes.iter().enumerate();
    all.filter(|(_, vote)| matches!(vote, Vote::Granted)).map(|(i, _)| i).collect()
}

fn refusals(votes: &[Vote]) -> Vec<(usize, Option<Duration>)> {
    let all = votes.iter().enumerate();
    all.filter_map(|(i, vote)| match vote {
        Vote::Refused { ttl } => Some((i, *ttl)),
        _ => None,
    })
    .collect()
}
