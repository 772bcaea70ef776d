//! One member is asked for its vote.

use std::{pin::pin, sync::Arc, task::Poll, time::Duration};

use super::record::Claim;
use crate::{
    by_member::MemberId,
    clock::Instant,
    error::{NodeError, Phase, Vote},
    kind::Request,
    node::{Connection, Form},
    wire::Outcome,
};

/// Asks `member` to grant `claim`, within the node's time. One that is won already is joined: for
/// exclusion, the token stays as it is.
///
/// # Cancel safety
/// Dropping the future leaves the attempt among the unanswered ones of the claim, whose end
/// releases it.
pub(crate) async fn ask(claim: Arc<Claim>, member: MemberId) -> (MemberId, Vote) {
    let vote = match vote(&claim, member).await {
        Ok(vote) => vote,
        Err(error) => Vote::Failed(error),
    };
    (member, vote)
}

async fn vote(claim: &Arc<Claim>, member: MemberId) -> Result<Vote, NodeError> {
    let of = &claim.members()[member];
    let services = &of.services;
    let (term, settings) = (claim.term(), &services.settings);
    let timeout = term.node_timeout(settings.node_timeout);
    let deadline = claim.now() + timeout;
    let connection = match services.node.connected() {
        Some(connection) => connection,
        None => services.node.connection(deadline).await?,
    };
    of.vet(&connection, deadline).await?;
    let mut form = Form::Digest;
    for _ in 0..3 {
        let not_after = stamp(&connection, claim.now(), timeout + settings.margin);
        if !claim.begin(member, &connection, not_after) {
            return Ok(Vote::Pending);
        }
        let request = Request {
            holder: claim.holder(),
            term,
            not_after,
            hint: claim.hint(),
            skew: settings.clock_skew,
        };
        let acquire = of.checked(of.kind.acquire(request));
        let mut call = pin!(connection.call_as(form, &acquire, deadline));
        // The first poll hands the request to its socket.
        let at_once = futures::poll!(&mut call);
        claim.sent(member);
        let answer = match at_once {
            Poll::Ready(answer) => answer,
            Poll::Pending => call.await,
        };
        // Two answers say that nothing was done there, and are worth asking again, if the claim is
        // still wanted. The script is not known: then its text is sent.
        let unknown_script = matches!(&answer, Err(error) if error.is_noscript());
        if let Ok(answer) = &answer
            && answer.reply.code == Outcome::STALE
        {
            connection.believe_time_of(answer);
        }
        let vote = claim.answered(member, &connection, not_after, answer);
        if unknown_script && matches!(form, Form::Digest) {
            form = Form::Text;
            continue;
        }
        // Or it was stale: the server's clock was stepped, or the request was slow; the answer has
        // taught us the server's time.
        if let Some(vote) = vote {
            return Ok(vote);
        }
    }
    Ok(Vote::Failed(NodeError::TimedOut { phase: Phase::Answering }))
}

/// The server's time after which the acquire is to change nothing.
fn stamp(connection: &Connection, now: Instant, valid: Duration) -> i64 {
    if planted!(GhostStampOff) {
        return i64::MAX;
    }
    let valid = i64::try_from(valid.as_micros()).unwrap_or(i64::MAX);
    connection.server_time_at(now).saturating_add(valid)
}
