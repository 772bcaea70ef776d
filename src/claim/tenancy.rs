//! Who has a claim: from the moment at which it is won, one tenant after the other.

use std::sync::{Arc, Weak};

use super::record::{Claim, ClaimPhase, Tenant};
use crate::lease::Term;

impl Claim {
    /// How often the tenant has it from now on. False, and nothing is changed, if it is not held any
    /// more. Looks for no loss by itself, since the tenant would be told: to have looked is its part.
    ///
    /// A re-entry may ask for another lease: then it is extended if that is longer, and never
    /// shortened.
    pub(crate) fn enter(self: &Arc<Self>, times: u32, asked: Option<Term>) -> bool {
        let mut state = self.state();
        if state.phase != ClaimPhase::Held {
            return false;
        }
        if let Some(asked) = asked {
            let before = state.term;
            state.term = before.merged(asked);
            // A renewed lease that is long enough serves as it is; a fixed one counts from the
            // re-entry that asks for it.
            if state.term != before || !before.is_renewed() {
                let now = self.now();
                state.members.values_mut().for_each(|known| known.owe(asked.ms(), now));
                if !before.is_renewed() {
                    // From now on it may be: then it is healed, too.
                    self.plan_heals(&mut state, now);
                }
                self.process.watchdog.reschedule(self.id, now);
            }
        }
        state.recount.wanted = times;
        self.recount_in_background(state);
        true
    }

    /// One guard less, of several.
    pub(crate) fn leave(self: &Arc<Self>, times: u32) {
        let mut state = self.state();
        state.recount.wanted = times;
        self.recount_in_background(state);
    }

    /// The turn of its tenant is over. What becomes of the claim is for the caller to say: it is
    /// released, handed on, or kept.
    pub(crate) fn vacate(&self) {
        let mut state = self.state();
        state.tenant = None;
        // From here on the count is not sent: the release is decided, or the next tenant counts anew.
        state.recount.wanted = 0;
    }

    /// In the end the keys are left to their ttl.
    pub(crate) fn mark_orphaned(&self) {
        self.state().orphaned = true;
    }

    pub(crate) fn is_orphaned(&self) -> bool {
        self.state().orphaned
    }

    /// Another has it from now on, without a word to the servers. False if it is not held any more,
    /// or somebody has it.
    #[cfg_attr(not(test), expect(dead_code, reason = "for hand-over inside a process"))]
    pub(crate) fn hand_to(self: &Arc<Self>, tenant: Weak<dyn Tenant>) -> bool {
        let may_be = self.members.values().all(|member| member.kind.may_be_handed_over());
        if !may_be || self.ensure_valid().is_err() {
            return false;
        }
        let mut state = self.state();
        if state.phase != ClaimPhase::Held || state.tenant.is_some() {
            return false;
        }
        state.tenant = Some(tenant);
        state.recount.wanted = 1;
        drop(state);
        self.process.kept.take(self.id);
        true
    }

    /// Nobody has it, and the process keeps it: renewed, until somebody takes it, others wait for it,
    /// or its client ends.
    #[cfg_attr(not(test), expect(dead_code, reason = "for holds kept for the next user"))]
    pub(crate) fn keep(self: &Arc<Self>) {
        self.process.kept.keep(self.id, self.clone());
        // Lost in between, nobody would tell.
        if self.ensure_valid().is_err() {
            self.abandon();
        }
    }
}
