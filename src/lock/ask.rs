//! One member is asked for its vote.

use std::{pin::pin, sync::Arc, task::Poll, time::Duration};

use super::{Bid, hold::Hold};
use crate::{
    clock::Instant,
    error::{NodeError, Phase, Vote},
    node::{Connection, Form},
    wire::Outcome,
};

/// Asks `member` to grant `hold`, within the node's time. One that is won already is joined: for
/// exclusion, the token stays as it is.
///
/// # Cancel safety
/// Dropping the future leaves the attempt among the unanswered ones of the hold, whose end
/// releases it.
pub(crate) async fn ask(hold: Arc<Hold>, member: usize) -> (usize, Vote) {
    let vote = match vote(&hold, member).await {
        Ok(vote) => vote,
        Err(error) => Vote::Failed(error),
    };
    (member, vote)
}

async fn vote(hold: &Arc<Hold>, member: usize) -> Result<Vote, NodeError> {
    let Some(of) = hold.members().get(member) else {
        return Ok(Vote::Pending);
    };
    let site = &of.site;
    let (term, settings) = (hold.term(), &site.settings);
    let timeout = term.node_timeout(settings.node_timeout);
    let deadline = hold.now() + timeout;
    let connection = match site.node.connected() {
        Some(connection) => connection,
        None => site.node.connection(deadline).await?,
    };
    of.vet(&connection, deadline).await?;
    let mut form = Form::Digest;
    for _ in 0..3 {
        let not_after = stamp(&connection, hold.now(), timeout + settings.margin);
        if !hold.begin(member, &connection, not_after) {
            return Ok(Vote::Pending);
        }
        let bid = Bid {
            holder: hold.holder(),
            term,
            not_after,
            hint: hold.hint(),
            skew: settings.clock_skew,
        };
        let acquire = of.checked(of.kind.acquire(bid));
        let mut call = pin!(connection.call_as(form, &acquire, deadline));
        // The first poll hands the request to its socket.
        let at_once = futures::poll!(&mut call);
        hold.sent(member);
        let answer = match at_once {
            Poll::Ready(answer) => answer,
            Poll::Pending => call.await,
        };
        // Two answers say that nothing was done there, and are worth asking again, if the hold is
        // still wanted. The script is not known: then its text is sent.
        let unknown_script = matches!(&answer, Err(error) if error.is_noscript());
        if let Ok(answer) = &answer
            && answer.reply.code == Outcome::STALE
        {
            connection.believe_time_of(answer);
        }
        let vote = hold.answered(member, &connection, not_after, answer);
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
