//! One user's turn with a lock: from the grant, or from a hand-over, until its last guard goes or
//! the lock is lost.
//!
//! What stands on the servers is the [`Claim`], which may outlive the turn and serve another. Work
//! that is bound to a turn ends with it, whatever becomes of the claim.
//!
//! # Invariants
//! - A turn ends once, and is never entered again: an acquire that finds it over begins anew.
//! - Its guards are at least one until it ends.
//!
//! # Deadlock safety
//! The state's mutex may be held while the claim is told of guards, but not while it looks for its
//! loss: of that it tells its user. Wakers run without a lock.

use std::{
    sync::{Arc, OnceLock, PoisonError},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use super::{handover_rule::HandoverRule, hold_span::HoldSpan};
use crate::{
    claim::{Claim, LossListener},
    clock::Instant,
    error::{LockLost, LostCause},
    kind::{Admission, FencingToken},
    lease::Term,
    metering::{Meters, SharedMeters},
    sync::{Mutex, MutexGuard},
    telling,
    voting::Voter,
};

#[derive(Debug)]
pub(crate) struct Turn {
    claim: Arc<Claim>,
    /// This turn's; the next one has a greater.
    token: Option<FencingToken>,
    pub(super) handover_rule: HandoverRule,
    began: Instant,
    /// How long its first guard was waited for.
    waited: OnceLock<Duration>,
    /// If a subscriber wants spans.
    span: OnceLock<Box<HoldSpan>>,
    state: Mutex<TurnState>,
}

#[derive(Debug)]
struct TurnState {
    guards: u32,
    /// How many of them keep others out.
    exclusive: u32,
    end: Option<TurnEnd>,
    /// Cancelled at the end. Made when it is first asked for.
    cancellation: Option<CancellationToken>,
    /// The same if the lock is lost, and only then.
    loss: Option<CancellationToken>,
    /// Whether it is measured among those that are held.
    is_counted: bool,
}

#[derive(Debug, Clone)]
enum TurnEnd {
    /// Its last guard has gone.
    Left,
    Lost(LostCause),
}

impl Turn {
    /// A turn with one guard, and with the token of kinds that have one. It begins once the claim
    /// [is won](Claim::win) for it.
    pub(crate) fn new(
        claim: Arc<Claim>,
        token: Option<FencingToken>,
        handover_rule: HandoverRule,
    ) -> Arc<Self> {
        let exclusive = u32::from(!claim.is_all(Admission::Shared));
        let (end, cancellation, loss, is_counted) = (None, None, None, false);
        let state = TurnState { guards: 1, exclusive, end, cancellation, loss, is_counted };
        let (began, state) = (claim.now(), Mutex::new(state));
        let (waited, span) = (OnceLock::new(), OnceLock::new());
        Arc::new(Self { claim, token, handover_rule, began, waited, span, state })
    }

    pub(crate) fn claim(&self) -> &Arc<Claim> {
        &self.claim
    }

    pub(crate) const fn token(&self) -> Option<FencingToken> {
        self.token
    }

    /// Begins its span, if a subscriber wants one.
    pub(crate) fn begin_span(&self) {
        let span = HoldSpan::begin(&self.claim.lock_name(), self.claim.holder(), self.token);
        span.into_iter().for_each(|span| drop(self.span.set(span)));
    }

    pub(super) fn span(&self) -> Option<&HoldSpan> {
        self.span.get().map(|span| &**span)
    }

    pub(crate) fn guards(&self) -> u32 {
        self.state().guards
    }

    // keeps: lost-at-deadline
    /// Whether the lock may be acted on now, by our clock.
    pub(crate) fn ensure_valid(&self) -> Result<(), LockLost> {
        // Known before the turn ends by it.
        if let Some(cause) = self.claim.lost_by() {
            return Err(self.claim.loss(cause.clone()));
        }
        let end = self.state().end.clone();
        match end {
            None => self.claim.ensure_valid(),
            Some(TurnEnd::Lost(cause)) => Err(self.claim.loss(cause)),
            Some(TurnEnd::Left) => Err(self.claim.loss(LostCause::Expired)),
        }
    }

    /// Whether it has a guard: it may be entered.
    pub(crate) fn is_live(&self) -> bool {
        self.ensure_valid().is_ok() && self.guards() > 0
    }

    /// Whether `asked` is kept out by what it has of the same lock there.
    pub(crate) fn keeps_out(&self, asked: &Voter) -> bool {
        self.is_live() && self.claim.keeps_out(asked, asked.kind.is_shared())
    }

    /// Whether others are kept out as long as the guards stay that it has.
    pub(crate) fn is_exclusive(&self) -> bool {
        self.state().exclusive > 0
    }

    // keeps: fresh-holder
    /// One more guard, with another lease if that is asked for. False if it is over, or is not held
    /// any more in the way that is asked for.
    pub(crate) fn enter(&self, admission: Admission, term: Option<Term>) -> bool {
        if self.ensure_valid().is_err() && !planted!(FormerOwnerEnters) {
            return false;
        }
        let mut state = self.state();
        let is_exclusive = admission == Admission::Exclusive;
        let times = state.guards.saturating_add(1);
        let is_over = state.end.is_some() && !planted!(FormerOwnerEnters);
        let is_given_up = is_exclusive && state.exclusive == 0 && state.end.is_none();
        if is_over || is_given_up || !self.claim.enter(times, term) {
            return false;
        }
        state.guards = times;
        state.exclusive += u32::from(is_exclusive);
        true
    }

    /// The only guard that keeps others out does so no more.
    ///
    /// # Errors
    /// How many others do: nothing was changed.
    pub(crate) fn reduce(&self) -> Result<(), u32> {
        let mut state = self.state();
        match state.exclusive {
            0 | 1 => {
                state.exclusive = 0;
                Ok(())
            }
            several => Err(several - 1),
        }
    }

    /// One guard less. True if it was the last: then the turn is over, and the caller says what
    /// becomes of the claim.
    pub(crate) fn leave(&self, admission: Admission) -> bool {
        let mut state = self.state();
        state.guards = state.guards.saturating_sub(1);
        let is_exclusive = admission == Admission::Exclusive;
        state.exclusive = state.exclusive.saturating_sub(u32::from(is_exclusive));
        if state.guards > 0 {
            self.claim.leave(state.guards);
            if is_exclusive && state.exclusive == 0 {
                self.claim.reduce_soon();
            }
            return false;
        }
        self.claim.end_turn();
        self.end(state, TurnEnd::Left);
        true
    }

    /// Cancelled when the turn is over.
    pub(crate) fn cancellation(&self) -> CancellationToken {
        let mut state = self.state();
        let is_over = state.end.is_some();
        let token = state.cancellation.get_or_insert_with(CancellationToken::new).clone();
        drop(state);
        if is_over {
            token.cancel();
        }
        token
    }

    /// Cancelled when the lock is lost.
    pub(crate) fn loss_token(&self) -> CancellationToken {
        let mut state = self.state();
        let is_lost = matches!(state.end, Some(TurnEnd::Lost(_)));
        let token = state.loss.get_or_insert_with(CancellationToken::new).clone();
        drop(state);
        if is_lost {
            token.cancel();
        }
        token
    }

    /// How long it has lasted.
    pub(crate) fn lasts(&self) -> Duration {
        self.claim.now().saturating_since(self.began)
    }

    pub(crate) fn waited(&self) -> Duration {
        self.waited.get().copied().unwrap_or_default()
    }

    /// Its first guard was asked for at this time.
    pub(crate) fn was_asked_for(&self, at: Instant) {
        let _known = self.waited.set(self.began.saturating_since(at));
    }

    /// Its user has it: it is measured from now until its end.
    pub(crate) fn was_granted(&self) {
        if !Meters::MEASURES {
            return;
        }
        let mut state = self.state();
        state.is_counted = state.end.is_none();
        let is_counted = state.is_counted;
        drop(state);
        if is_counted {
            self.meters().begun();
        }
    }

    pub(super) fn meters(&self) -> &SharedMeters {
        &self.claim.members().first().services.settings.meters
    }

    fn end(&self, mut state: MutexGuard<'_, TurnState>, end: TurnEnd) {
        // What was lost keeps its cause.
        let is_lost = matches!(state.end.get_or_insert(end), TurnEnd::Lost(_));
        let tokens = [state.cancellation.clone(), state.loss.clone().filter(|_| is_lost)];
        let was_counted = std::mem::take(&mut state.is_counted);
        drop(state);
        if was_counted {
            self.meters().over();
        }
        for token in tokens.into_iter().flatten() {
            telling::wake(move || token.cancel());
        }
    }

    fn state(&self) -> MutexGuard<'_, TurnState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LossListener for Turn {
    fn on_lost(&self, cause: &LostCause) {
        self.end(self.state(), TurnEnd::Lost(cause.clone()));
    }
}
