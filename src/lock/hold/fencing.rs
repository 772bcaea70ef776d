//! The fencing token of a hold, and what the members of its attempt told.

use std::time::Duration;

use super::Hold;
use crate::{
    clock::Instant,
    lock::{FencingToken, seat::Seat},
    node::RunId,
};

/// What a member that granted stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    /// The token that it wrote.
    pub(crate) token: FencingToken,
    /// Until when it vouches; `None` if it no longer does.
    pub(crate) until: Option<Instant>,
}

impl Hold {
    /// The token, once it is won; never for kinds without.
    pub(crate) fn token(&self) -> Option<FencingToken> {
        self.state().token
    }

    /// What a new token should be at least. The same for all members, so that their counters agree;
    /// for those who join a hold that is won, its token.
    pub(crate) fn hint(&self) -> Duration {
        self.token().map_or(self.hint, FencingToken::as_hint)
    }

    /// Whether the hold is won with a token only.
    pub(crate) fn is_fenced(&self) -> bool {
        self.members.first().is_some_and(|member| member.kind.is_fenced())
    }

    /// The greatest token that a member told.
    pub(crate) fn greatest_token(&self) -> Option<FencingToken> {
        self.state().seats.iter().filter_map(Seat::token).max()
    }

    /// What every member told; `None` of those who did not grant.
    pub(crate) fn standings(&self) -> Vec<Option<Standing>> {
        let state = self.state();
        let tokens = state.seats.iter().map(Seat::token).enumerate();
        tokens
            .map(|(i, token)| {
                Some(Standing { token: token?, until: self.vouched_until(&state, i) })
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
        if let Some(seat) = state.seats.get_mut(member)
            && seat.is_same_process(run_id)
        {
            seat.wrote(token);
        }
    }
}
