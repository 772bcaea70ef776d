//! What all locks can do, written once: acquire, re-enter, run a closure under the lock.

use std::{
    collections::BTreeSet, fmt, future::Future, marker::PhantomData, sync::Arc, time::Duration,
};

use futures::{FutureExt, future::select_all};
use tracing::Span;

use super::{acquisition::Acquisition, outcome, servers::gate, target::Target};
use crate::{
    claim::Wanted,
    clock::Instant,
    error::{AcquireError, ConfigError, WithError},
    guard::{LockGuard, Occupied, Owner, Proof, Turn},
    kind::Admission,
    lease::{Lease, Term},
    logging::LOCK,
    process::Gate,
    telling,
    wait::{self, Cause, Contender, OnOutage, Round, WaitStrategy, Waiting},
};

/// How long an acquire may take.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WaitLimit {
    /// One attempt.
    Once,
    /// From now on.
    For(Duration),
    Forever,
}

impl WaitLimit {
    /// A limit of nothing is one attempt: no server could answer within it.
    pub(crate) const fn of(limit: Duration) -> Self {
        if limit.is_zero() { Self::Once } else { Self::For(limit) }
    }
}

/// A target, how it is to be acquired, and the guard that its users get.
pub(crate) struct Handle<P = LockGuard> {
    pub(crate) target: Target,
    pub(crate) lease: Lease,
    /// `None`: as it suits the operation.
    pub(crate) on_outage: Option<OnOutage>,
    pub(crate) strategy: WaitStrategy,
    proof: PhantomData<fn() -> P>,
}

impl<P> Clone for Handle<P> {
    fn clone(&self) -> Self {
        Self { target: self.target.clone(), proof: PhantomData, ..*self }
    }
}

impl<P> fmt::Debug for Handle<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show("Handle", f)
    }
}

impl<P> Handle<P> {
    /// `Debug` of a lock of this type, as far as it is for users: no names but those that may be
    /// shown.
    pub(crate) fn show(&self, lock_type: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut seen = BTreeSet::new();
        let servers = self.target.members.values().map(|member| member.services.node_id());
        // Once each: a lock of thousands of names may be on few.
        let servers: Vec<_> = servers.filter(|server| seen.insert(*server)).collect();
        f.debug_struct(lock_type.split('<').next().unwrap_or(lock_type))
            .field("lock", &self.target.lock_name())
            .field("servers", &servers)
            .field("lease", &self.lease)
            .finish_non_exhaustive()
    }
}

impl<P> Handle<P> {
    /// The same where nothing but a guard is asked for.
    pub(crate) fn plain(&self) -> Handle<LockGuard> {
        let Self { target, lease, on_outage, strategy, proof: _ } = self;
        let (target, proof) = (target.clone(), PhantomData);
        Handle { target, lease: *lease, on_outage: *on_outage, strategy: *strategy, proof }
    }
}

impl<P: Proof> Handle<P> {
    pub(crate) fn new(target: Target) -> Self {
        Self {
            target,
            lease: Lease::default(),
            on_outage: None,
            strategy: WaitStrategy::default(),
            proof: PhantomData,
        }
    }

    /// Acquires as `owner`, or as the owner of the scope, or as a new owner.
    pub(crate) async fn acquire(
        &self,
        owner: Option<&Owner>,
        patience: WaitLimit,
    ) -> Result<Option<P>, AcquireError> {
        let Some(owner) = owner.cloned().or_else(Owner::current) else {
            return self.acquire_anew(patience).await;
        };
        let (term, deadline) = self.begin(patience)?;
        let asked_at = self.target.now();
        let Some(mut slot) = self.occupy(&owner, patience, deadline).await else {
            return Ok(None);
        };
        if let Some(turn) = slot.upgrade()
            && let Some(guard) = self.reenter(&turn, term)?
        {
            return Ok(Some(guard));
        }
        self.check_own_holds(&owner)?;
        let _underway = self.target.members.first().services.underway();
        let (outcome, span) = telling::woken_aside_in(
            outcome::span(&self.target),
            self.contend(term, Some(&owner), false, patience, deadline),
        )
        .await;
        self.has_ended(asked_at, &outcome, span.as_deref());
        let guard = outcome?;
        if let Some(guard) = &guard {
            *slot = Arc::downgrade(guard.turn());
            if self.target.composite().is_some() {
                owner.holds_parts(guard.turn());
            }
        }
        Ok(guard.map(P::of))
    }

    /// Acquires as a new owner, whatever the scope: permits are not entered again.
    pub(crate) async fn acquire_anew(
        &self,
        patience: WaitLimit,
    ) -> Result<Option<P>, AcquireError> {
        let (term, deadline) = self.begin(patience)?;
        let asked_at = self.target.now();
        // What it asks for inside of what it holds belongs to that.
        let owner = Owner::current();
        let _underway = self.target.members.first().services.underway();
        let (outcome, span) = telling::woken_aside_in(
            outcome::span(&self.target),
            self.contend(term, owner.as_ref(), true, patience, deadline),
        )
        .await;
        self.has_ended(asked_at, &outcome, span.as_deref());
        Ok(outcome?.map(P::of))
    }

    fn has_ended(
        &self,
        asked_at: Instant,
        outcome: &Result<Option<LockGuard>, AcquireError>,
        span: Option<&Span>,
    ) {
        if let Ok(Some(guard)) = outcome {
            guard.turn().was_asked_for(asked_at);
        }
        outcome::tell(&self.target, outcome, span);
    }

    /// Checks all that can be before anything is sent. The lease, and until when to try.
    fn begin(&self, patience: WaitLimit) -> Result<(Term, Option<Instant>), AcquireError> {
        let term = self.target.check(self.lease)?;
        if !self.target.process().watchdog.is_running() {
            return Err(AcquireError::Unwatched { lock: self.target.lock_name() });
        }
        let deadline = match patience {
            WaitLimit::For(limit) => Some(self.target.now() + limit),
            WaitLimit::Once | WaitLimit::Forever => None,
        };
        Ok((term, deadline))
    }

    /// One more guard on what the owner claims, if it still does.
    fn reenter(&self, turn: &Arc<Turn>, term: Term) -> Result<Option<P>, ConfigError> {
        let is_shared = self.target.is_shared();
        let admission = if is_shared { Admission::Shared } else { Admission::Exclusive };
        if P::suits(turn)
            && let Some(guard) = LockGuard::enter(turn, admission, Some(term))
        {
            return Ok(Some(P::of(guard)));
        }
        if !turn.is_live() {
            return Ok(None);
        }
        let name = turn.claim().lock_name().into_text();
        Err(if P::suits(turn) {
            ConfigError::HeldForReading { name }
        } else {
            ConfigError::HeldWithoutToken { name }
        })
    }

    /// Whether its owner keeps too many of the members from itself, by other locks.
    fn check_own_holds(&self, owner: &Owner) -> Result<(), ConfigError> {
        let members = &self.target.members;
        let mut kept_from = members.values().filter_map(|member| owner.kept_from(member));
        // As many as may be missing.
        let Some(turn) = kept_from.nth(members.len() - self.target.need()) else {
            return Ok(());
        };
        Err(ConfigError::HeldByAnother { name: turn.claim().lock_name().into_text() })
    }

    /// Waits until no other acquire of the same owner for the same lock is under way.
    async fn occupy(
        &self,
        owner: &Owner,
        patience: WaitLimit,
        deadline: Option<Instant>,
    ) -> Option<Occupied> {
        let slot = owner.slot(&self.target.identity());
        match (patience, deadline) {
            (WaitLimit::Once, _) => slot.try_lock_owned().ok(),
            (_, None) => Some(slot.lock_owned().await),
            (_, Some(deadline)) => {
                let clock = &self.target.process().clock;
                tokio::select! {
                    biased;
                    slot = slot.lock_owned() => Some(slot),
                    () = clock.sleep_until(deadline) => None,
                }
            }
        }
    }

    async fn contend(
        &self,
        term: Term,
        owner: Option<&Owner>,
        is_anonymous: bool,
        patience: WaitLimit,
        deadline: Option<Instant>,
    ) -> Result<Option<LockGuard>, AcquireError> {
        if self.is_turned_away(owner) {
            return Err(AcquireError::Draining);
        }
        let waits = !matches!(patience, WaitLimit::Once);
        let wanted = Wanted { term, waits };
        let listens = self.strategy.listens();
        let mut contender = Acquisition::new(self.target.clone(), wanted, is_anonymous, listens);
        if let WaitLimit::Once = patience {
            outcome::count(1);
            return match contender.round(Cause::Arrival).await {
                Round::Granted(guard) => Ok(Some(guard)),
                Round::Refused(_) => {
                    contender.give_back().await;
                    Ok(None)
                }
                Round::Outage(error)
                | Round::Late(error)
                | Round::Failed(error)
                | Round::NotYet { error, .. } => Err(error),
            };
        }
        let by_default = match patience {
            WaitLimit::For(_) => OnOutage::Wait,
            WaitLimit::Once | WaitLimit::Forever => OnOutage::Fail,
        };
        let watchdog = &self.target.process().watchdog;
        // A turn in a queue of a server is missed by a waiter that sleeps.
        let is_queued = contender.is_told_apart();
        let strategy =
            if is_queued { self.strategy.with_pauses_of_at_most(IN_QUEUE) } else { self.strategy };
        let (key, keeps_out) = (contender.line(), contender.keeps_out());
        let (lines, _) = self.target.lines();
        let unanswered = || self.target.unanswered();
        let waiting = Waiting {
            clock: &self.target.process().clock,
            random: &self.target.process().random,
            key: &key,
            // A waiter on a server stands in a line by itself.
            needs_order: !is_queued && keeps_out.is_some(),
            takes: contender.takes(),
            keeps_out,
            deadline,
            on_outage: self.on_outage.unwrap_or(by_default),
            strategy,
            unanswered: &unanswered,
            attend: &|work| watchdog.attend(work),
        };
        let outcome = wait::acquire(&mut contender, lines, &waiting, self.turned_away(owner)).await;
        outcome::count(contender.rounds());
        outcome
    }

    /// Whether the clients drain, and it does not belong to what its owner holds.
    fn is_turned_away(&self, owner: Option<&Owner>) -> bool {
        match gate(&self.target.members) {
            Gate::Open | Gate::Closed => false,
            Gate::Draining => !owner.is_some_and(Owner::holds_anything),
            Gate::Drained => true,
        }
    }

    /// Completes once it is turned away while it waits: also when its owner lets go of the last that it held.
    async fn turned_away(&self, owner: Option<&Owner>) {
        let gates = self.target.members.values().map(|of| &of.services.gatekeeper);
        let drains = gates.map(|gatekeeper| gatekeeper.no_longer_open().boxed());
        select_all(drains).await;
        let clock = &self.target.process().clock;
        while !self.is_turned_away(owner) {
            clock.sleep_until(clock.now() + LOOK_EVERY).await;
        }
    }

    /// Acquires without a limit in time.
    pub(crate) async fn wait(&self, owner: Option<&Owner>) -> Result<P, AcquireError> {
        // Only a limit in time can end the wait without a guard.
        self.acquire(owner, WaitLimit::Forever).await?.ok_or(AcquireError::Shutdown)
    }

    pub(crate) async fn with<R>(&self, work: impl AsyncFnOnce(&P) -> R) -> Result<R, WithError> {
        let done = self.with_if(WaitLimit::Forever, work).await?;
        // Only a limit in time can end the wait without a guard.
        done.ok_or(WithError::Acquire(AcquireError::Shutdown))
    }

    /// The same if it is held in time. `None`: `work` was not run.
    pub(crate) async fn with_if<R>(
        &self,
        patience: WaitLimit,
        work: impl AsyncFnOnce(&P) -> R,
    ) -> Result<Option<R>, WithError> {
        let Some(proof) = self.acquire(None, patience).await? else { return Ok(None) };
        let value = run(proof.guard(), work(&proof)).await?;
        release_after_work(proof.into()).await;
        Ok(Some(value))
    }
}

/// While its clients drain: how often it is looked whether an owner that waits still holds something.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The longest pause of a waiter that polls for a turn in a queue.
const IN_QUEUE: Duration = Duration::from_secs(1);

/// The work is done: that its lock is not known to be free is told, and no matter of its caller's.
pub(crate) async fn release_after_work(guard: LockGuard) {
    let claim = guard.turn().claim().clone();
    if let Err(error) = guard.release().await {
        let (lock, holder) = (claim.lock_name(), claim.holder().clone());
        telling::event(move || {
            tracing::warn!(
                target: LOCK, %lock, %holder, %error,
                "the lock was not given back cleanly after its work was done"
            );
        });
    }
}

async fn run<F: Future>(guard: &LockGuard, work: F) -> Result<F::Output, WithError> {
    Ok(guard.run(work).await?)
}
