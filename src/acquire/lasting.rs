//! Keys that stand longer than any holder wants them to: a waiter for one waits in vain.

use super::votes::{Votes, ttl_of_refusal};
use crate::{by_member::ByMember, logging::LOCK, standing::longest_lease, telling, voting::Voter};

/// Names what is not going to end, if any of the members that refused tells of that. Whether one
/// did.
pub(super) fn name_lasting(members: &ByMember<Voter>, votes: &Votes) -> bool {
    let lasting = votes.by.iter().find_map(|(id, vote)| {
        let (of, ttl) = (&members[id], ttl_of_refusal(vote)?);
        let settings = &of.services.settings;
        // Clocks may be set by as much as they may be apart.
        let most = longest_lease(settings.max_lease.max(settings.redisson_watchdog));
        let lasts = ttl.is_none_or(|ttl| ttl > most + settings.clock_skew);
        (lasts && !of.kind.is_counted()).then_some((of, ttl))
    });
    let Some((of, ttl)) = lasting else { return false };
    let (lock, node) = (of.shown_name(), of.services.node_id().clone());
    let why = match ttl {
        Some(_) => {
            "its ttl is longer than any lease here: the server's clock was set back, its data restored, or \
             somebody has a greater max_lease"
        }
        None => {
            "it has no ttl, which no lock of this crate is without: it ends when it is forced open"
        }
    };
    telling::event(move || {
        tracing::warn!(target: LOCK, %lock, %node, ?ttl, why, "an acquire waits for a key that stands for long");
    });
    true
}
