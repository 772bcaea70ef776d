//! How many others heard of a release: who waits for the lock elsewhere listens to that.

use smallvec::SmallVec;

use super::record::Claim;
use crate::{
    by_member::{ByMember, MemberId},
    wire::Outcome,
};

/// What the servers told of those who listened.
pub(super) struct Heard {
    /// Whether this client hears of it, too: known before the release was sent.
    ours: ByMember<bool>,
    /// How many others, on each member that confirmed; `None` if nobody knows.
    others: SmallVec<[Option<u32>; 1]>,
}

impl Heard {
    /// Before the release is sent.
    pub(super) fn of(claim: &Claim) -> Self {
        let mut ours = claim.members().map(|_| false);
        for (member, of) in claim.members().iter() {
            let channel = of.kind.channel_of(&claim.holder_at(member));
            ours[member] = of.services.notifier.hears(&channel);
        }
        Self { ours, others: SmallVec::new() }
    }

    /// A member has confirmed.
    pub(super) fn note(&mut self, claim: &Claim, member: MemberId, outcome: Outcome) {
        let ours = self.ours[member].into();
        let node = &claim.members()[member].services.node;
        // A server of a cluster counts its own listeners alone.
        let counts_all = node.standing().is_some_and(|standing| !standing.is_in_cluster());
        let listeners = u32::try_from(outcome.value).ok();
        let is_told = outcome.code == Outcome::DONE && counts_all;
        self.others.push(listeners.filter(|_| is_told).map(|all| all.saturating_sub(ours)));
    }

    /// How many others, as far as `need` members count: whoever waits for a majority listens on one of
    /// any such. `None` if nobody knows.
    pub(super) fn by(mut self, need: usize) -> Option<u32> {
        // Nobody knows counts as more than any number.
        self.others.sort_unstable_by_key(|others| others.map_or(u64::MAX, u64::from));
        let last = need.checked_sub(1)?;
        self.others.get(last).copied().flatten()
    }
}
