//! A longer lease for a hold, by the word of its user.

use std::{sync::Arc, time::Duration};

use super::record::{Claim, ClaimPhase};
use crate::{
    clock::Instant,
    error::{ConfigError, ExtendError, LostCause},
    lease::{Lease, Term},
    process::Listed,
};

/// Has the lease of `claim` last for `lease` from now on, if that is longer, and waits until enough servers
/// confirm.
///
/// # Errors
/// [`ExtendError`]: what no server has confirmed moves no deadline.
///
/// # Cancel safety
/// Dropping the future leaves the rest to the watchdog.
pub(crate) async fn extend(claim: &Arc<Claim>, lease: Lease) -> Result<(), ExtendError> {
    let from = claim.now();
    let until = claim.begin_to_extend(lease, from)?;
    let timeouts = claim.members().values().map(|of| of.services.settings.node_timeout);
    let patience = claim.term().renewal_timeout(timeouts.max().unwrap_or_default());
    loop {
        claim.ensure_valid()?;
        let now = claim.now();
        if claim.deadline() >= until {
            return Ok(());
        }
        if now >= from + patience {
            let (lock, holder) = (claim.lock_name(), claim.holder().clone());
            return Err(ExtendError::Unconfirmed { lock, holder });
        }
        claim.process().clock.sleep_until(now + LOOK_EVERY).await;
    }
}

impl Claim {
    /// Has all members asked at once. Until when the hold is good if they confirm that.
    fn begin_to_extend(
        self: &Arc<Self>,
        lease: Lease,
        now: Instant,
    ) -> Result<Instant, ExtendError> {
        let mut shortest: Option<Term> = None;
        for member in self.members.values() {
            let settings = &member.services.settings;
            let asked = lease.term(settings.watchdog_lease, settings.max_lease)?;
            let asked = member.kind.term(asked)?;
            // As when it was acquired: the shortest of several watchdog leases serves all.
            shortest = Some(shortest.filter(|least| least.ms() <= asked.ms()).unwrap_or(asked));
        }
        let asked = shortest.ok_or(ConfigError::NoMembers)?;
        let mut state = self.state();
        if state.phase != ClaimPhase::Held {
            drop(state);
            let cause = self.lost_by().cloned().unwrap_or(LostCause::Expired);
            return Err(self.loss(cause).into());
        }
        if let Some(max) = state.renew_until.map(|end| end.saturating_since(now))
            && (max.is_zero() || !asked.is_renewed() && asked.length() > max)
        {
            return Err(ConfigError::LeaseTooLong { lease: asked.length(), max }.into());
        }
        self.ask_for_longer(&mut state, asked, now);
        // Also where its lease is as long as it was: what is under way was sent before this.
        state.members.values_mut().for_each(|known| known.owe(asked.ms(), now));
        // A ms is the precision of what servers tell.
        let unsure = state.term.drift() + Duration::from_millis(2);
        drop(state);
        self.renew_now();
        Ok(now + asked.length().saturating_sub(unsure))
    }
}

/// How often it is looked whether enough have confirmed.
const LOOK_EVERY: Duration = Duration::from_millis(5);
