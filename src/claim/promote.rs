//! One member that granted with a lesser token is told the claim's.

use std::{sync::Arc, time::Duration};

use super::record::Claim;
use crate::{
    by_member::MemberId,
    error::{NodeError, Vote},
    kind::FencingToken,
    wire::Outcome,
};

/// Has `member` write `token`, within the node's time. Refused if the lock is not ours there any
/// more, or somebody raised the counter past all rules.
///
/// # Cancel safety
/// Dropping the future leaves it open whether the counter was raised. It may be raised late: that
/// is a gap in the tokens and nothing else, since nobody is granted while the claim's key stands.
pub(crate) async fn promote(
    claim: Arc<Claim>,
    member: MemberId,
    token: FencingToken,
) -> (MemberId, Vote) {
    let vote = match ask(&claim, member, token).await {
        Ok(vote) => vote,
        Err(error) => Vote::Failed(error),
    };
    (member, vote)
}

async fn ask(claim: &Claim, member: MemberId, token: FencingToken) -> Result<Vote, NodeError> {
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
        // Its slot has moved, or is about to: said once more to whoever has answered.
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
