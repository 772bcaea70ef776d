//! One acquisition, round after round, over one node or many.
//!
//! A round asks all members at once and ends as soon as the votes decide it; of a fenced lock, once
//! enough members agree on the token. The slow rest of a won round goes on and joins the claim: every
//! further grant is one more member that may forget it. A lost round is taken back wherever the
//! answer was not a plain refusal. A majority then asks all of it again; a lock by itself is a
//! majority of one, and may ask with the same claim. How all of several go on is [`InOrder`]'s.
//!
//! Source: the Redlock algorithm as published by Redis (distributed locks).

mod contending;

use std::{sync::Arc, time::Duration};

use super::{
    agreeing::agree,
    attempt::{Attempt, NextClaim},
    haste::Haste,
    in_order::InOrder,
    lasting::name_lasting,
    servers::{check_open, check_servers},
    tally::{Rule, Verdict},
    target::Target,
    turnstile::Turnstile,
    votes::Votes,
};
use crate::{
    by_member::{ByMember, MemberId},
    claim::{Claim, InFlight, Wanted, ask, roll_back, roll_back_all},
    clock::Instant,
    error::{AcquireError, NodeError, Phase, Vote},
    guard::{HandoverRule, LockGuard, Turn},
    standing::learned,
    voting::{Voter, ballot},
    wait::{Cause, Refusals, Round},
};

/// An acquire that wants a lock.
#[derive(Debug)]
pub(crate) struct Acquisition {
    target: Target,
    wanted: Wanted,
    handover_rule: HandoverRule,
    /// What the next round asks with, if that is known: waiters may listen to its holder id already.
    next: Option<NextClaim>,
    /// If all members are needed: one after the other, in an order that all processes share.
    /// On the heap: a lock by itself, and a majority, have no need of its room.
    in_order: Option<Box<InOrder>>,
    /// Whether it wants to hear of releases.
    listens: bool,
    /// The id by which it listens, where each holder id has a channel of its own.
    listens_as: Arc<str>,
    /// How often it has asked.
    rounds: u32,
    /// Why it asks.
    cause: Cause,
    /// How much was [learned](learned) of servers when those of the members were compared last.
    compared_at: Option<u64>,
    /// How many rounds were lost in quick succession, and when the last was.
    lost_rounds: (u32, Instant),
    haste: Haste,
    /// Whether the last round was given up while a member that was late could decide it.
    was_split: bool,
    /// Whether it has said that it waits for what does not end.
    has_named_lasting: bool,
    turnstile: Turnstile,
}

impl Acquisition {
    pub(crate) fn new(target: Target, wanted: Wanted, is_anonymous: bool, listens: bool) -> Self {
        let needs_all = matches!(target.rule, Rule::All);
        let in_order = needs_all.then(|| Box::new(InOrder::wanted_since(target.now())));
        let handover_rule = HandoverRule::new(target.composite().cloned(), is_anonymous);
        Self {
            target,
            wanted,
            handover_rule,
            next: None,
            in_order,
            listens,
            listens_as: Arc::default(),
            rounds: 0,
            cause: Cause::Arrival,
            compared_at: None,
            lost_rounds: (0, Instant::from_origin(Duration::ZERO)),
            haste: Haste::default(),
            was_split: false,
            has_named_lasting: false,
            turnstile: Turnstile::default(),
        }
    }

    pub(super) const fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Something to ask with that was never asked with before.
    fn fresh(&self) -> Arc<Claim> {
        Claim::new(&self.target.members, self.target.need(), self.wanted)
    }

    /// What this round asks with.
    fn attempt(&mut self) -> Attempt {
        let kept = self.in_order.as_mut().and_then(|in_order| in_order.take_kept());
        let attempt = kept.unwrap_or_else(|| match self.next.take() {
            Some(NextClaim::Queued(attempt)) => attempt,
            Some(NextClaim::Clean(claim)) => Attempt::new(claim),
            None => Attempt::new(self.fresh()),
        });
        if self.cause != Cause::Arrival {
            attempt.claim().keep_order();
        }
        attempt
    }

    /// The holder id that the next round asks with.
    pub(super) fn next_holder(&mut self) -> Arc<str> {
        if let Some(kept) = self.in_order.as_ref().and_then(|in_order| in_order.kept()) {
            return kept.holder_in_queue();
        }
        let next = self.next.take().unwrap_or_else(|| NextClaim::Clean(self.fresh()));
        self.next.insert(next).claim().holder().clone()
    }

    /// Whether it waits in a queue of its only server, by its holder id: whatever is executed late, it
    /// finds when it looks, so it asks with the same as long as it waits.
    fn has_own_place(&self) -> bool {
        let members = &self.target.members;
        members.is_one() && self.wanted.queues_at(members.first())
    }

    /// Asks all members that have not voted yet, at once, until the round is decided.
    fn ask_others(
        &mut self,
        attempt: Attempt,
        mut votes: Votes,
    ) -> impl Future<Output = Round<LockGuard>> + Send {
        let claim = attempt.claim().clone();
        let mut asked = InFlight::none();
        // The future of an `async fn` would hold all this twice.
        async move {
            let verdict = if self.target.members.is_one() {
                // The everyday case needs nothing that keeps several futures apart.
                let (member, vote) = ask(claim.clone(), MemberId::FIRST).await;
                votes.record(member, vote);
                votes.tally(false).verdict()
            } else {
                asked.add(votes.pending().map(|member| ask(claim.clone(), member)));
                if self.may_split() {
                    let clock = &self.target.process().clock;
                    Box::pin(votes.collect_unless_split(&mut asked, clock)).await
                } else {
                    votes.collect(&mut asked).await
                }
            };
            // By now the servers have told which run they are.
            if let Err(error) = self.check_servers() {
                drop(asked);
                roll_back(&claim, &votes.standing()).await;
                return Round::Failed(error);
            }
            match verdict {
                Verdict::Won => self.enough_granted(attempt, asked, votes).await,
                // On the heap: most rounds are won.
                Verdict::LostToOthers => {
                    self.haste.over();
                    if self.wanted.waits && !self.has_named_lasting {
                        self.has_named_lasting = name_lasting(&self.target.members, &votes);
                    }
                    let refusals = Box::pin(self.lost(attempt, asked, votes)).await;
                    self.refused(refusals)
                }
                Verdict::LostToOutage | Verdict::Pending => {
                    // A member that has not answered is asked no further; the rollback comes behind
                    // on its socket.
                    drop(asked);
                    let is_late = self.is_late(&votes);
                    if let Some(in_order) = &mut self.in_order {
                        in_order.failed(attempt, &votes).await;
                    } else if self.has_own_place() {
                        self.next = Some(NextClaim::Queued(attempt));
                    } else if is_late && claim.members().is_one() {
                        // To a server that is there this is soon done.
                        if roll_back_all(&claim).await {
                            self.haste.heard();
                        }
                    } else {
                        roll_back(&claim, &votes.standing()).await;
                    }
                    self.not_enough(votes.by, is_late)
                }
            }
        }
    }

    /// Checks what the clients and the servers have told by now: before a round, and again after its
    /// votes, since the first contact tells which run a server is.
    fn check_servers(&mut self) -> Result<(), AcquireError> {
        let (members, learned) = (&self.target.members, learned());
        check_open(members)?;
        if self.compared_at != Some(learned) {
            check_servers(self.target.rule, members)?;
            // The servers of a cluster tell which run they are at any time.
            let is_cluster = |member: &Voter| member.services.node.is_cluster();
            self.compared_at = (!members.values().any(is_cluster)).then_some(learned);
        }
        Ok(())
    }

    /// Whether this round is given up if its members disagree and one is late: a waiter has more of them. Not twice in a
    /// row: where a member does not let go of what is dead, the one that is late may be needed.
    fn may_split(&mut self) -> bool {
        let was_split = std::mem::take(&mut self.was_split);
        self.in_order.is_none() && self.wanted.waits && !was_split
    }

    fn note_loss(&mut self) {
        self.lost_rounds = (self.lost_rounds.0 + 1, self.target.now());
    }

    /// Takes a lost round back, as far as nothing of it is kept. Returns which members are to be
    /// waited for.
    async fn lost<A>(
        &mut self,
        mut attempt: Attempt,
        mut asked: InFlight<A>,
        mut votes: Votes,
    ) -> Refusals
    where
        A: Future<Output = (MemberId, Vote)> + Send + 'static,
    {
        self.note_loss();
        self.turnstile.note(&votes);
        if let Some(in_order) = &mut self.in_order {
            return in_order.lost(attempt, asked, votes, self.target.random()).await;
        }
        if self.wanted.waits && !votes.are_undecided() {
            votes.collect_soon(&mut asked, &self.target.process().clock).await;
        }
        // A member that has not answered is asked no further; the rollback comes behind on its
        // socket. What is found out about its server meanwhile is of use to the next round.
        let now = self.target.now();
        if votes.pending().any(|member| self.target.members[member].is_looked_at(now)) {
            asked.finish_in_background();
        } else {
            drop(asked);
        }
        self.was_split = votes.are_undecided();
        let mut refusals = votes.refusals(attempt.claim(), !self.was_split);
        refusals.until = self.was_split.then(|| self.target.now() + AFTER_SPLIT);
        if self.has_own_place() {
            attempt.keep_place();
            self.next = Some(NextClaim::Queued(attempt));
            return refusals;
        }
        let claim = attempt.claim();
        // One that was refused when its socket had broken under it may be granted late. It would not
        // be known, and it would stand in its own way.
        if !claim.members().is_one() || !claim.is_settled() {
            roll_back(claim, &votes.standing()).await;
        } else if claim.is_clean() {
            self.next = Some(NextClaim::Clean(attempt.hand_on()));
        } else {
            self.next = Some(NextClaim::Queued(attempt));
        }
        refusals
    }

    /// Makes a round with enough grants a turn of the caller's.
    fn enough_granted<A>(
        &mut self,
        attempt: Attempt,
        mut asked: InFlight<A>,
        mut votes: Votes,
    ) -> impl Future<Output = Round<LockGuard>> + Send
    where
        A: Future<Output = (MemberId, Vote)> + Send + 'static,
    {
        let claim = attempt.claim().clone();
        async move {
            let token =
                if claim.is_fenced() { agree(&claim, &mut asked, &mut votes).await } else { None };
            let turn = Turn::new(claim.clone(), token, self.handover_rule.clone());
            if claim.win(token, Arc::<Turn>::downgrade(&turn)) {
                attempt.hand_on();
                asked.finish_in_background();
                return Round::Granted(LockGuard::new(turn));
            }
            drop(asked);
            Box::pin(self.not_won(&claim, votes)).await
        }
    }

    /// Takes back, everywhere, a round that had enough grants: the answers came so late that too
    /// little of the lease is left, or its token was not written by enough members.
    async fn not_won(&mut self, claim: &Arc<Claim>, mut votes: Votes) -> Round<LockGuard> {
        if roll_back_all(claim).await {
            self.haste.heard();
        }
        if let Err(closed) = check_open(&self.target.members) {
            return Round::Failed(closed);
        }
        if votes.tally(false).verdict() == Verdict::LostToOthers {
            self.note_loss();
            self.haste.over();
            return self.refused(votes.refusals(claim, false));
        }
        for vote in votes.by.values_mut().filter(|vote| matches!(vote, Vote::Granted)) {
            *vote = Vote::Failed(NodeError::TimedOut { phase: Phase::Answering });
        }
        let is_late = self.may_go_on();
        self.not_enough(votes.by, is_late)
    }

    /// What is kept of a round would stand unused while a turn is waited for.
    pub(super) fn keeps_some(&self) -> bool {
        self.in_order.as_ref().is_some_and(|in_order| in_order.kept().is_some())
    }

    /// Others hold it. If it was woken all the same, or others got it since it has come, they were faster: it asks in
    /// its turn from now on.
    fn refused(&mut self, mut refusals: Refusals) -> Round<LockGuard> {
        let members = &self.target.members;
        if !self.keeps_some() {
            let were_faster = self.turnstile.has_changed_hands(&refusals, self.target.now())
                || self.cause == Cause::Message;
            let may_queue = were_faster && self.listens && Turnstile::suits(members);
            if may_queue && self.turnstile.queue_up(members) {
                self.lost_rounds.0 = 0;
            }
            refusals.until = refusals.until.into_iter().chain(self.turnstile.turn_ends()).min();
        }
        Round::Refused(refusals)
    }

    /// Whether too few voted because the lease leaves them less time than servers have otherwise.
    fn is_late(&mut self, votes: &Votes) -> bool {
        let is_limited = |of: &Voter| {
            let timeout = of.services.settings.node_timeout;
            self.wanted.term.node_timeout(timeout) < timeout
        };
        let in_time = |vote: &Vote| match vote {
            Vote::Failed(cause) => !matches!(cause, NodeError::TimedOut { .. }),
            _ => false,
        };
        self.target.members.values().any(is_limited)
            && !votes.by.values().any(in_time)
            && self.may_go_on()
    }

    fn may_go_on(&mut self) -> bool {
        let timeouts = self.target.members.values().map(|of| of.services.settings.node_timeout);
        self.haste.may_go_on(self.target.now(), timeouts.max().unwrap_or_default())
    }

    fn not_enough(&mut self, votes: ByMember<Vote>, is_late: bool) -> Round<LockGuard> {
        self.turnstile.leave();
        match self.unavailable(votes) {
            Round::Outage(error) if is_late => Round::Late(error),
            round => round,
        }
    }

    fn unavailable(&self, votes: ByMember<Vote>) -> Round<LockGuard> {
        let ballot = ballot(&self.target.members, votes);
        let need = self.target.need();
        if let Some(counts_in) = ballot.quarantined(need) {
            let error =
                AcquireError::Quarantined { lock: self.target.lock_name(), ballot, counts_in };
            return Round::NotYet { error, counts_in };
        }
        let lasting = ballot.failures().filter(|(_, cause)| !cause.is_transient()).count();
        let lock = self.target.lock_name();
        if lasting > self.target.members.len() - need {
            return Round::Failed(AcquireError::Denied { lock, ballot });
        }
        Round::Outage(AcquireError::Unavailable { lock, ballot })
    }
}

/// By then the lock was released, or what refused it is dead.
const AFTER_SPLIT: Duration = Duration::from_secs(1);
