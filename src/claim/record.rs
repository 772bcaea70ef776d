//! A lock that is being acquired, held, or given back: on one node or on many.
//!
//! # Invariants
//! - A claim goes `Acquiring → Held → Lost` or `Acquiring → Held → Over` or takes a shortcut forward,
//!   never back: a claim whose release was decided is never entered again, and one that was lost
//!   keeps its cause.
//! - Its holder id is never used by another claim, so whatever is executed late for an old claim
//!   (a renewal, a count, a release) cannot touch a new one.
//! - A claim that was lost, noticed or not, is not revived: whoever moves a deadline looks first
//!   whether it is over.
//! - The deadline only counts answers of the servers: no answer, no movement.
//!
//! # Deadlock safety
//! The state's mutex is a leaf, but for the watchdog's table and the services's list of claims, which
//! call nothing. Wakers are run after it was let go.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use crate::{
    claim::member_state::MemberState, clock::Instant, error::LostCause, kind::FencingToken,
    lease::Term, process::Process, voting::Member,
};

/// What is known of one acquisition and the claim that came of it.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(super) id: u64,
    pub(super) holder: Arc<str>,
    pub(super) members: Arc<[Member]>,
    /// How many members are enough.
    pub(super) need: usize,
    /// What a fencing token should be at least: the wall clock when the attempt began.
    pub(super) hint: Duration,
    pub(super) process: Arc<Process>,
    /// Cancelled when the claim is lost or over.
    pub(super) ended: CancellationToken,
    pub(super) state: Mutex<ClaimState>,
}

#[derive(Debug)]
pub(super) struct ClaimState {
    pub(super) phase: ClaimPhase,
    pub(super) term: Term,
    pub(super) guards: u32,
    pub(super) orphaned: bool,
    /// When renewals stop, if the client has a limit.
    pub(super) renew_until: Option<Instant>,
    /// The fencing token: fixed when the claim is won, for kinds that have one.
    pub(super) token: Option<FencingToken>,
    pub(super) recount: Recount,
    pub(super) states: Vec<MemberState>,
}

impl ClaimState {
    /// Whether leases may still be extended: not for ever, if the client has a limit. Whether the
    /// lock is still ours may always be asked.
    pub(super) fn may_extend(&self, now: Instant) -> bool {
        self.renew_until.is_none_or(|until| now < until)
    }
}

/// What the servers know, and what they are to know.
#[derive(Debug, Default)]
pub(super) struct Recount {
    /// A job of the releaser looks after it.
    pub(super) under_way: bool,
    /// The last count sent; 0 stands for the 1 of the acquire.
    pub(super) sent: u32,
    /// A member granted after the count was sent.
    pub(super) behind: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ClaimPhase {
    /// Nobody may act on it yet.
    Acquiring,
    Held,
    /// Guards are still there, or were, and have been told.
    Lost(LostCause),
    /// Released, rolled back, abandoned or orphaned before it was lost.
    Over,
}

impl ClaimPhase {
    /// Whether it is acquired or held.
    pub(super) const fn is_open(&self) -> bool {
        matches!(self, Self::Acquiring | Self::Held)
    }
}

impl Claim {
    pub(crate) fn new(
        process: &Arc<Process>,
        members: &Arc<[Member]>,
        need: usize,
        term: Term,
    ) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let states = members.iter().map(|_| MemberState::default()).collect();
        let is_fenced = members.first().is_some_and(|member| member.kind.is_fenced());
        let hint = if is_fenced { process.clock.unix_time() } else { Duration::ZERO };
        Arc::new(Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            holder: process.fresh_holder(),
            members: members.clone(),
            need,
            hint,
            process: process.clone(),
            ended: CancellationToken::new(),
            state: Mutex::new(ClaimState {
                phase: ClaimPhase::Acquiring,
                term,
                guards: 0,
                orphaned: false,
                renew_until: None,
                token: None,
                recount: Recount::default(),
                states,
            }),
        })
    }

    pub(crate) fn holder(&self) -> &Arc<str> {
        &self.holder
    }

    pub(crate) fn members(&self) -> &Arc<[Member]> {
        &self.members
    }

    /// The lock's name; of several, the first's.
    pub(crate) fn name(&self) -> Arc<str> {
        self.members.first().map_or_else(|| "".into(), |member| member.kind.name().clone())
    }

    pub(crate) fn need(&self) -> usize {
        self.need
    }

    pub(crate) fn process(&self) -> &Arc<Process> {
        &self.process
    }

    pub(crate) fn ended(&self) -> &CancellationToken {
        &self.ended
    }

    pub(crate) fn now(&self) -> Instant {
        self.process.clock.now()
    }

    pub(crate) fn term(&self) -> Term {
        self.state().term
    }

    /// Adds a guard to a live claim. False if the claim is over or lost.
    pub(crate) fn enter(self: &Arc<Self>, term: Option<Term>) -> bool {
        if self.ensure_valid().is_err() {
            return false;
        }
        let mut state = self.state();
        // Between the leave of the last guard and the end its release is decided already.
        if state.phase != ClaimPhase::Held || state.guards == 0 {
            return false;
        }
        state.guards += 1;
        if let Some(asked) = term {
            let before = state.term;
            state.term = before.merged(asked);
            // A renewed lease that is long enough serves as it is; a fixed one counts from the
            // re-entry that asks for it.
            if state.term != before || !before.is_renewed() {
                let now = self.now();
                state.states.iter_mut().for_each(|known| known.owe(asked.ms(), now));
                if !before.is_renewed() {
                    // From now on it may be: then it is healed, too.
                    self.plan_heals(&mut state, now);
                }
                self.process.watchdog.reschedule(self.id, now);
            }
        }
        self.recount_in_background(state);
        true
    }

    /// Takes a guard away. True if it was the last one: the caller then ends the claim.
    pub(crate) fn leave(self: &Arc<Self>) -> bool {
        let mut state = self.state();
        state.guards = state.guards.saturating_sub(1);
        if state.guards == 0 {
            return true;
        }
        self.recount_in_background(state);
        false
    }

    /// From now on the last guard leaves the key to its ttl.
    pub(crate) fn mark_orphaned(&self) {
        self.state().orphaned = true;
    }

    pub(crate) fn is_orphaned(&self) -> bool {
        self.state().orphaned
    }

    /// Whether somebody holds it: it may be entered.
    pub(crate) fn is_live(&self) -> bool {
        self.ensure_valid().is_ok() && self.guards() > 0
    }

    pub(crate) fn guards(&self) -> u32 {
        self.state().guards
    }

    pub(super) fn state(&self) -> MutexGuard<'_, ClaimState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
