//! One node: the target of a lock by itself.

use std::{sync::Arc, time::Duration};

use crate::{
    acquire::handle::Target,
    claim::{Attempting, Claim, ask, roll_back},
    error::{AcquireError, Ballot, ConfigError, NodeError, Phase, Vote},
    guard::LockGuard,
    lease::{Lease, Term},
    notifier::Listener,
    process::Process,
    voting::Member,
    wait::{Contender, Queues, Refusals, Round},
    wire::key,
};

/// A lock on one node.
#[derive(Debug, Clone)]
pub(crate) struct Single {
    /// One member, as the holds want it.
    members: Arc<[Member]>,
}

impl Single {
    pub(crate) fn new(member: Member) -> Self {
        Self { members: Arc::new([member]) }
    }

    pub(crate) fn member(&self) -> &Member {
        // The slice has exactly one element, by construction.
        self.members.first().expect("invariant: a single lock has one member")
    }
}

impl Target for Single {
    type Contender = Candidate;

    fn check(&self, lease: Lease) -> Result<Term, AcquireError> {
        let member = self.member();
        check_name(member)?;
        let settings = &member.services.settings;
        Ok(lease.term(settings.watchdog_lease, settings.max_lease)?)
    }

    fn contender(&self, term: Term) -> Candidate {
        Candidate { members: self.members.clone(), term, kept: None }
    }

    fn process(&self) -> &Arc<Process> {
        &self.member().services.process
    }

    fn queues(&self) -> &Arc<Queues> {
        &self.member().services.queues
    }

    fn queue_key(&self) -> &Arc<str> {
        self.member().kind.name()
    }

    fn identity(&self) -> Arc<str> {
        self.member().identity()
    }
}

/// What every operation checks before anything is sent.
pub(crate) fn check_name(member: &Member) -> Result<(), ConfigError> {
    key::check_name(member.kind.name())
}

/// Somebody who wants a lock on one node.
#[derive(Debug)]
pub(crate) struct Candidate {
    members: Arc<[Member]>,
    term: Term,
    /// A claim that was refused: nothing of it is on the server, so it may ask again.
    kept: Option<Arc<Claim>>,
}

impl Contender for Candidate {
    type Grant = LockGuard;

    async fn round(&mut self) -> Round<LockGuard> {
        let Some(member) = self.members.first() else {
            return Round::Failed(ConfigError::NoMembers.into());
        };
        if member.services.is_closed() {
            return Round::Failed(AcquireError::Shutdown);
        }
        if let Err(error) = member.blessing() {
            return Round::Failed(error.into());
        }
        let fresh = || Claim::new(&member.services.process, &self.members, 1, self.term);
        let claim = self.kept.take().unwrap_or_else(fresh);
        let attempt = Attempting::new(claim.clone());
        let (_, vote) = ask(claim.clone(), 0).await;
        // By now the server has shown its marker, if it had not before.
        if let Err(error) = member.blessing() {
            roll_back(&claim, &[0]).await;
            return Round::Failed(error.into());
        }
        match vote {
            Vote::Granted if claim.win(claim.greatest_token()) => {
                attempt.hand_on();
                Round::Granted(LockGuard::new(claim))
            }
            Vote::Refused { ttl } => {
                self.kept = Some(attempt.hand_on());
                Round::Refused(Refusals { by: vec![(0, ttl)], enough: 1 })
            }
            Vote::Granted => {
                // The answer came so late that too little of the lease is left.
                roll_back(&claim, &[0]).await;
                if claim.is_shut_down() {
                    return Round::Failed(AcquireError::Shutdown);
                }
                failed(member, Vote::Failed(NodeError::TimedOut { phase: Phase::Answering }))
            }
            Vote::Failed(_) | Vote::Pending => failed(member, vote),
        }
    }

    /// A refusal by one leaves nothing to give back.
    async fn give_back(&mut self) {}

    fn alarmed(&mut self) {}

    fn not_yet(&self) -> Option<(AcquireError, Duration)> {
        let member = self.members.first()?;
        match failed(member, member.foreseen()) {
            Round::NotYet { error, counts_in } => Some((error, counts_in)),
            _ => None,
        }
    }

    fn listen(&self) -> Vec<Listener> {
        self.members.iter().map(Member::listen).collect()
    }

    fn lease(&self) -> Duration {
        self.term.length()
    }

    fn stagger(&mut self) -> Duration {
        Duration::ZERO
    }
}

fn failed(member: &Member, vote: Vote) -> Round<LockGuard> {
    let ballot = Ballot::new(vec![(member.services.node_id().clone(), vote)]);
    if let Some(counts_in) = ballot.quarantined(1) {
        return Round::NotYet { error: AcquireError::Quarantined { ballot, counts_in }, counts_in };
    }
    let pointless = ballot.has_permanent_failure();
    let error = AcquireError::Unavailable { ballot };
    if pointless { Round::Failed(error) } else { Round::Outage(error) }
}
