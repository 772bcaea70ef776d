//! One member that granted with a lesser token is told the hold's.

use std::{sync::Arc, time::Duration};

use super::{FencingToken, hold::Hold};
use crate::{
    error::{NodeError, Vote},
    wire::Outcome,
};

/// Has `member` write `token`, within the node's time. Refused if the lock is not ours there any
/// more, or somebody raised the counter past all rules.
///
/// # Cancel safety
/// Dropping the future leaves it open whether the counter was raised. It may be raised late: that
/// is a gap in the tokens and nothing else, since nobody is granted while the hold's key stands.
pub(crate) async fn promote(hold: Arc<Hold>, member: usize, token: FencingToken) -> (usize, Vote) {
    let vote = match ask(&hold, member, token).await {
        Ok(vote) => vote,
        Err(error) => Vote::Failed(error),
    };
    (member, vote)
}

async fn ask(hold: &Hold, member: usize, token: FencingToken) -> Result<Vote, NodeError> {
    let term = hold.term();
    let Some(of) = hold.members().get(member) else {
        return Ok(Vote::Pending);
    };
    let Some(promote) = of.kind.promote(hold.holder(), token, term) else {
        return Ok(Vote::Pending);
    };
    let deadline = hold.now() + term.node_timeout(of.site.settings.node_timeout);
    let connection = of.site.node.connection(of.kind.name(), deadline).await?;
    let answer = connection.call(&promote, deadline).await?;
    Ok(match answer.reply.code {
        Outcome::DONE => {
            hold.promoted(member, token, connection.run_id());
            Vote::Granted
        }
        Outcome::FOREIGN => Vote::Failed(NodeError::ForeignKey),
        Outcome::FOREIGN_COUNTER => Vote::Failed(NodeError::ForeignCounter),
        // Whatever stands in the way will not for long: another attempt gets past it.
        _ => Vote::Refused { ttl: Some(Duration::ZERO) },
    })
}
