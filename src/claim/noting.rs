//! When operators are told of a hold: once it is long, or soon.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use super::record::{Claim, ClaimPhase};
use crate::{
    by_member::MemberId,
    clock::Instant,
    lease::Term,
    presence::{LongHold, Presence},
};

/// What is over by then is over before an operator has asked.
const AWHILE: Duration = Duration::from_millis(250);
/// When those have joined that were asked with the others.
const JOINED: Duration = Duration::from_secs(1);

impl LongHold for Claim {
    fn is_held(&self) -> bool {
        self.state().phase == ClaimPhase::Held
    }
}

impl Claim {
    /// When a claim that is won now is to be noted, if a client tells of its holds.
    pub(super) fn note_at(&self, now: Instant, term: Term) -> Option<Instant> {
        let told = self.members.values().map(|of| of.services.settings.presence);
        match told.max()? {
            Presence::Hidden => None,
            Presence::LongHolds => Some(now + term.period()),
            Presence::EachHold => Some(now + AWHILE.min(term.period())),
        }
    }

    /// Notes it where it confirms, if it is time.
    ///
    /// A register asks claims whether they are held, so it is not told anything under the lock of one.
    pub(super) fn note_if_due(self: &Arc<Self>, now: Instant) {
        let (confirming, since) = {
            let mut state = self.state();
            if state.note_at.is_none_or(|at| at > now) {
                return;
            }
            let confirming = state.members.iter().filter(|(_, known)| known.is_granted());
            let confirming: Vec<_> = confirming.map(|(member, _)| member).collect();
            // Those that are slow to grant what is won join it a moment later.
            let (long, is_all) =
                (state.won_at + state.term.period(), confirming.len() == self.members.len());
            state.note_at = (!is_all && now < long).then(|| long.min(now + JOINED));
            (confirming, state.won_at)
        };
        confirming.into_iter().for_each(|member| self.note(member, since));
    }

    /// The same of one that was won back.
    pub(super) fn note_won_back(self: &Arc<Self>, member: MemberId) {
        let (is_noted, since) = {
            let state = self.state();
            (state.note_at.is_none(), state.won_at)
        };
        if is_noted {
            self.note(member, since);
        }
    }

    fn note(self: &Arc<Self>, member: MemberId, since: Instant) {
        if let Some(register) = &self.members[member].services.register {
            let hold: Arc<dyn LongHold> = self.clone();
            let hold: Weak<dyn LongHold> = Arc::downgrade(&hold);
            register.note(&self.holder_at(member), since, hold);
        }
    }
}
