//! The fencing token of a claim, and what the members of its attempt told.

use std::time::Duration;

use super::record::Claim;
use crate::{
    by_member::{ByMember, MemberId},
    clock::Instant,
    kind::FencingToken,
    standing::RunId,
};

/// What a member that granted stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ToldToken {
    /// The token that it wrote.
    pub(crate) token: FencingToken,
    /// Until when it confirms; `None` if it no longer does.
    pub(crate) until: Option<Instant>,
}

impl Claim {
    /// The token, once it is won; never for kinds without.
    pub(crate) fn token(&self) -> Option<FencingToken> {
        self.state().token
    }

    /// What a new token should be at least. The same for all members, so that their counters agree;
    /// for those who join a claim that is won, its token.
    pub(crate) fn hint(&self) -> Duration {
        let own = Duration::from_micros(self.hint_us);
        self.token().map_or(own, FencingToken::as_hint)
    }

    /// Whether the claim is won with a token only: all members have counters.
    pub(crate) fn is_fenced(&self) -> bool {
        self.members.values().all(|member| member.kind.is_fenced())
    }

    /// What every member told; `None` of those who did not grant.
    pub(crate) fn told_tokens(&self) -> ByMember<Option<ToldToken>> {
        let state = self.state();
        let mut ids = state.members.ids();
        state.members.map(|known| {
            let until = ids.next().and_then(|id| self.confirmed_until(&state, id));
            known.token().map(|token| ToldToken { token, until })
        })
    }

    /// The least deadline that is worth winning, from now.
    pub(crate) fn least_deadline(&self) -> Instant {
        self.now() + self.term().min_validity()
    }

    /// A member has written the token that it was told.
    pub(crate) fn promoted(&self, member: MemberId, token: FencingToken, run_id: Option<RunId>) {
        let known = &mut self.state().members[member];
        if known.is_same_process(run_id) {
            known.wrote(token);
        }
    }
}
