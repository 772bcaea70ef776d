//! A lock that is being acquired, held, or given back: on one node or on many.
//!
//! # Invariants
//! - A hold goes `Acquiring → Held → Lost` or `Acquiring → Held → Over` or takes a shortcut forward,
//!   never back: a hold whose release was decided is never entered again, and one that was lost
//!   keeps its cause.
//! - Its holder id is never used by another hold, so whatever is executed late for an old hold
//!   (a renewal, a count, a release) cannot touch a new one.
//! - A hold that was lost, noticed or not, is not revived: whoever moves a deadline looks first
//!   whether it is over.
//! - The deadline only counts answers of the servers: no answer, no movement.
//!
//! # Deadlock safety
//! The state's mutex is a leaf, but for the watchdog's table and the site's list of holds, which
//! call nothing. Wakers are run after it was let go. An outbox may be locked when it is taken
//! (`begin`), so no call is made, polled or dropped while it is held.

mod acquiring;
mod ending;
mod fencing;
mod healing;
mod recount;
mod validity;
mod watched;

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use super::{FencingToken, Member, process::Process, seat::Seat};
use crate::{clock::Instant, error::LostCause, lease::Term};
pub(crate) use fencing::Standing;
use recount::Recount;

/// What is known of one acquisition and the hold that came of it.
#[derive(Debug)]
pub(crate) struct Hold {
    id: u64,
    holder: Arc<str>,
    members: Arc<[Member]>,
    /// How many members are enough.
    need: usize,
    /// What a fencing token should be at least: the wall clock when the attempt began.
    hint: Duration,
    process: Arc<Process>,
    /// Cancelled when the hold is lost or over.
    ended: CancellationToken,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    term: Term,
    guards: u32,
    orphaned: bool,
    /// When renewals stop, if the client has a limit.
    renew_until: Option<Instant>,
    /// The fencing token: fixed when the hold is won, for kinds that have one.
    token: Option<FencingToken>,
    recount: Recount,
    seats: Vec<Seat>,
}

impl State {
    /// Whether leases may still be extended: not for ever, if the client has a limit. Whether the
    /// lock is still ours may always be asked.
    fn may_extend(&self, now: Instant) -> bool {
        self.renew_until.is_none_or(|until| now < until)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    /// Nobody may act on it yet.
    Acquiring,
    Held,
    /// Guards are still there, or were, and have been told.
    Lost(LostCause),
    /// Released, rolled back, abandoned or orphaned before it was lost.
    Over,
}

impl Phase {
    /// Whether it is acquired or held.
    const fn is_open(&self) -> bool {
        matches!(self, Self::Acquiring | Self::Held)
    }
}

impl Hold {
    pub(crate) fn new(
        process: &Arc<Process>,
        members: &Arc<[Member]>,
        need: usize,
        term: Term,
    ) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let seats = members.iter().map(|_| Seat::default()).collect();
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
            state: Mutex::new(State {
                phase: Phase::Acquiring,
                term,
                guards: 0,
                orphaned: false,
                renew_until: None,
                token: None,
                recount: Recount::default(),
                seats,
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

    /// Adds a guard to a live hold. False if the hold is over or lost.
    pub(crate) fn enter(self: &Arc<Self>, term: Option<Term>) -> bool {
        if self.ensure_valid().is_err() {
            return false;
        }
        let mut state = self.state();
        // Between the leave of the last guard and the end its release is decided already.
        if state.phase != Phase::Held || state.guards == 0 {
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
                state.seats.iter_mut().for_each(|seat| seat.owe(asked.ms(), now));
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

    /// Takes a guard away. True if it was the last one: the caller then ends the hold.
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
