//! Saying that a lock is held for long.

use super::{long_warning::LongWarning, record::Claim};
use crate::{clock::Instant, logging::LOCK, telling};

impl Claim {
    /// When it is to be said of a claim that a user has from now on, if a client wants that.
    pub(super) fn long_warning(&self, now: Instant) -> Option<LongWarning> {
        let wanted = self.members.values().filter_map(|of| of.services.settings.warn_held);
        wanted.min().map(|after| LongWarning { since: now, after })
    }

    /// Says it if it is time.
    pub(super) fn warn_if_due(&self, now: Instant) {
        let held = {
            let mut state = self.state();
            // Held out to the next user, it keeps none out.
            let has_user = state.loss_listener.is_some();
            let Some((next, held)) = state.long_warning.and_then(|it| it.next(now)) else { return };
            state.long_warning = Some(next);
            if !has_user {
                return;
            }
            held
        };
        let (lock, holder) = (self.lock_name(), self.holder().clone());
        telling::event(
            move || tracing::warn!(target: LOCK, %lock, %holder, ?held, "a lock is held for long"),
        );
    }
}
