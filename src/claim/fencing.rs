//! The fencing token of a claim: what the members of its attempt told, and what is told to one with a lesser token.

use std::{sync::Arc, time::Duration};

use super::record::Claim;
use crate::{
    by_member::{ByMember, MemberId},
    clock::Instant,
    error::{NodeError, Vote},
    kind::FencingToken,
    standing::RunId,
    wire::Outcome,
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
    /// for those that join a claim that is won, its token.
    pub(crate) fn hint(&self) -> Duration {
        let own = Duration::from_micros(self.hint_us);
        self.token().map_or(own, FencingToken::as_hint)
    }

    /// Whether the claim is won with a token only: all members have counters.
    pub(crate) fn is_fenced(&self) -> bool {
        self.members.values().all(|member| member.kind.is_fenced())
    }

    /// What every member told; `None` of those that did not grant.
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

/// Has `member` write `token`, within the node's time. Refused if the lock is not ours there any
/// more, or the counter was raised past all rules.
///
/// # Cancel safety
/// Dropping the future leaves it open whether the counter was raised. It may be raised late: that
/// is a gap in the tokens and nothing else, since nothing is granted while the claim's key stands.
pub(crate) async fn promote(
    claim: Arc<Claim>,
    member: MemberId,
    token: FencingToken,
) -> (MemberId, Vote) {
    let vote = match ask_to_write(&claim, member, token).await {
        Ok(vote) => vote,
        Err(error) => Vote::Failed(error),
    };
    (member, vote)
}

async fn ask_to_write(
    claim: &Claim,
    member: MemberId,
    token: FencingToken,
) -> Result<Vote, NodeError> {
    let term = claim.term();
    let of = &claim.members()[member];
    let Some(fencing) = of.kind.fencing() else { return Ok(Vote::Pending) };
    let promote = fencing.promote(&claim.holder_at(member), token, term);
    let deadline = claim.now() + term.node_timeout(of.services.settings.node_timeout);
    let node = &of.services.node;
    let mut lookout = node.look_out(of.kind.name(), None, deadline).await?;
    let (mut connection, mut answer) = node.call(of.kind.name(), &promote, deadline).await?;
    if let Some(from) = &lookout
        && from.is_elsewhere(connection.server_run())
    {
        // Its slot has moved, or is about to: said once more to the server that has answered.
        lookout = node.look_out(of.kind.name(), Some(&connection), deadline).await?;
        (connection, answer) = node.call(of.kind.name(), &promote, deadline).await?;
    }
    Ok(match answer.reply.code {
        Outcome::DONE => {
            if let Some(from) = lookout {
                from.replicated(connection.server_run(), term.length() / 10).await?;
            }
            claim.promoted(member, token, connection.run_id());
            Vote::Granted
        }
        Outcome::FOREIGN => Vote::Failed(NodeError::ForeignKey),
        Outcome::FOREIGN_COUNTER => Vote::Failed(NodeError::ForeignCounter),
        // Whatever stands in the way will not for long: another attempt gets past it.
        _ => Vote::Refused { ttl: Some(Duration::ZERO) },
    })
}
