//! The fencing token of a claim, and what the members of its attempt told.

use std::time::Duration;

use crate::{
    claim::{member_state::MemberState, record::Claim},
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
        self.token().map_or(self.hint, FencingToken::as_hint)
    }

    /// Whether the claim is won with a token only.
    pub(crate) fn is_fenced(&self) -> bool {
        self.members.first().is_some_and(|member| member.kind.is_fenced())
    }

    /// The greatest token that a member told.
    pub(crate) fn greatest_token(&self) -> Option<FencingToken> {
        self.state().states.iter().filter_map(MemberState::token).max()
    }

    /// What every member told; `None` of those who did not grant.
    pub(crate) fn standings(&self) -> Vec<Option<ToldToken>> {
        let state = self.state();
        let tokens = state.states.iter().map(MemberState::token).enumerate();
        tokens
            .map(|(i, token)| {
                Some(ToldToken { token: token?, until: self.confirmed_until(&state, i) })
            })
            .collect()
    }

    /// The least deadline that is worth winning, from now.
    pub(crate) fn least_deadline(&self) -> Instant {
        self.now() + self.term().min_validity()
    }

    /// A member has written the token that it was told.
    pub(crate) fn promoted(&self, member: usize, token: FencingToken, run_id: Option<RunId>) {
        let mut state = self.state();
        if let Some(known) = state.states.get_mut(member)
            && known.is_same_process(run_id)
        {
            known.wrote(token);
        }
    }
}
