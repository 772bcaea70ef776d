//! An acquisition as the wait sees it: when a round begins and what it takes over, in which line it stands, where it
//! listens, and how long it keeps away from its equals.

use std::{sync::Arc, time::Duration};

use super::{
    super::{
        agreeing::mint,
        attempt::{Attempt, NextClaim},
        votes::Votes,
    },
    Acquisition,
};
use crate::{
    by_member::ByMember,
    claim::{Claim, roll_back_all},
    error::{AcquireError, Vote},
    guard::{LockGuard, Turn},
    notifier::Listener,
    voting::Voter,
    wait::{Cause, Contender, HandoverTerms, Round},
};

impl Acquisition {
    /// Whether it is told of its turn by its holder id.
    pub(in crate::acquire) fn is_told_apart(&self) -> bool {
        self.target.members.values().any(|member| self.wanted.queues_at(member))
    }

    /// The line of this process that it stands in: one by itself if it waits on a server.
    pub(in crate::acquire) fn line(&mut self) -> Arc<str> {
        if self.is_told_apart() { self.next_holder() } else { self.target.lines().1.clone() }
    }

    /// On what terms it takes over what others of this process hold; `None` if it does not.
    pub(in crate::acquire) fn takes(&self) -> Option<HandoverTerms> {
        self.handover_rule.terms(&self.target.members, self.wanted.term)
    }

    /// How long a grant lasts if it is not renewed; `None` if it keeps no other out.
    pub(in crate::acquire) fn keeps_out(&self) -> Option<Duration> {
        let is_exclusive = self.target.members.values().any(|member| !member.kind.is_shared());
        is_exclusive.then(|| self.wanted.term.length())
    }

    /// Whether it has come to wait where its listeners do not hear: under another holder id.
    fn is_told_elsewhere(&self) -> bool {
        let queued_as = match (&self.in_order, &self.next) {
            (Some(in_order), _) => in_order.queued_as(),
            // A claim with a grant that came too late has taken it back, and stands there under
            // another id.
            (None, Some(NextClaim::Queued(attempt))) if self.has_own_place() => {
                Some(attempt.claim().holder().clone())
            }
            (None, _) => None,
        };
        self.listens && queued_as.is_some_and(|holder| holder != self.listens_as)
    }
}

impl Contender for Acquisition {
    type Grant = LockGuard;
    type Offered = Claim;

    async fn round(&mut self, cause: Cause) -> Round<LockGuard> {
        self.cause = cause;
        self.rounds = self.rounds.saturating_add(1);
        // A wait may go on in the child of a fork; a first attempt has just been checked.
        if self.rounds > 1
            && let Err(error) = self.target.process().home.check()
        {
            return Round::Failed(error.into());
        }
        if let Err(error) = self.check_servers() {
            return Round::Failed(error);
        }
        if let Some(in_order) = &mut self.in_order {
            in_order.let_go(self.target.now()).await;
        }
        let mut attempt = self.attempt();
        let mut votes = Votes::new(self.target.rule, self.target.members.map(|_| Vote::Pending));
        if let Some(in_order) = &mut self.in_order {
            attempt = match in_order.retry_blocker(attempt, &mut votes).await {
                Ok(attempt) => attempt,
                Err(refusals) => return self.refused(refusals),
            };
        }
        self.ask_others(attempt, votes).await
    }

    fn turn(&mut self) -> Option<impl Future<Output = ()> + Send> {
        let is_to_wait = self.turnstile.is_to_wait(self.target.now());
        (is_to_wait && !self.keeps_some()).then(|| self.turnstile.wait(&self.target.members))
    }

    async fn give_back(&mut self) {
        self.turnstile.leave();
        if let Some(in_order) = &mut self.in_order {
            in_order.give_back().await;
        }
        if let Some(NextClaim::Queued(attempt)) = &self.next {
            roll_back_all(attempt.claim()).await;
            self.next = None;
        }
    }

    fn foreseen(&self) -> Option<(AcquireError, Duration)> {
        let foreseen = self.target.members.map(Voter::foreseen);
        if foreseen.values().all(|vote| matches!(vote, Vote::Pending)) {
            return None;
        }
        match self.unavailable(foreseen) {
            Round::NotYet { error, counts_in } => Some((error, counts_in)),
            _ => None,
        }
    }

    fn listen(&mut self) -> ByMember<Listener> {
        if !self.listens {
            return self.target.members.map(|member| member.services.notifier.ignore());
        }
        if self.is_told_apart() {
            self.listens_as = self.next_holder();
        }
        let holder = &self.listens_as;
        let listen = |of: &Voter| of.services.notifier.listen(of.kind.channel_of(holder));
        self.target.members.map(listen)
    }

    fn hears_by(&self, listeners: &ByMember<Listener>, are_its_own: bool) -> bool {
        if are_its_own {
            return !self.is_told_elsewhere();
        }
        let members = &self.target.members;
        if !self.listens {
            return false;
        }
        let hears = |(listener, of): (&Listener, &Voter)| {
            // Those that have a channel for each holder are never another's.
            !of.kind.queues_on_server() && listener.is_of(&of.services.notifier, of.kind.channel())
        };
        listeners.len() == members.len() && listeners.values().zip(members.values()).all(hears)
    }

    async fn take_over(&mut self, offered: Arc<Claim>) -> Option<LockGuard> {
        let inherited = Attempt::new(offered);
        let claim = inherited.claim();
        let token = if claim.is_fenced() { Some(mint(claim).await?) } else { None };
        let turn = Turn::new(claim.clone(), token, self.handover_rule.clone());
        if !claim.hand_to(token, Arc::<Turn>::downgrade(&turn)) {
            return None;
        }
        inherited.hand_on();
        Some(LockGuard::new(turn))
    }

    fn stagger(&mut self, alarmed: bool) -> Duration {
        if alarmed {
            self.in_order.iter_mut().for_each(|in_order| in_order.ask_all());
        }
        if self.in_order.is_none() && self.target.members.is_one() {
            // Those that ask one server meet nowhere else.
            return Duration::ZERO;
        }
        let in_order = self.in_order.as_ref();
        let now = self.target.now();
        if self.turnstile.is_to_wait(now) {
            return Duration::ZERO;
        }
        if let Some(distance) = in_order.and_then(|it| it.distance(now, self.target.random())) {
            return distance;
        }
        let (lost, at) = self.lost_rounds;
        // One that has waited long since was refused by a holder, and not by others that ask. It has gone now, and may
        // be back soon.
        if now.saturating_since(at) >= CALM {
            self.lost_rounds.0 = 0;
            return Duration::ZERO;
        }
        let most = match self.turnstile.has_turn(now) {
            // By the holder, which passed the turn on.
            true if lost <= 1 => return Duration::ZERO,
            true => IN_TURN,
            false => Duration::from_millis(2 << lost.min(DOUBLINGS)),
        };
        self.target.random().within(Duration::ZERO..most)
    }
}

/// Rounds that are lost this far apart are no dead heat.
const CALM: Duration = Duration::from_millis(25);
/// How often their distance doubles at most.
const DOUBLINGS: u32 = 5;
/// Their distance if it is the turn of one of them: then few others ask.
const IN_TURN: Duration = Duration::from_millis(8);
