//! One member is asked for its vote.

use std::{sync::Arc, time::Duration};

use super::{Bid, hold::Hold};
use crate::{
    clock::Instant,
    error::{NodeError, Phase, Vote},
    node::{Caller, Connection},
    wire::Outcome,
};

/// Asks `member` to grant `hold`, within the node's time. One that is won already is joined: for
/// exclusion, the token stays as it is.
///
/// # Cancel safety
/// Dropping the future leaves the attempt among the unanswered ones of the hold, whose end
/// releases it; one that still waited to be sent is forgotten.
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
    let connection = match site.node.connected(of.kind.name()) {
        Some(connection) => connection,
        None => site.node.connection(of.kind.name(), deadline).await?,
    };
    of.vet(&connection, deadline).await?;
    for _ in 0..3 {
        let not_after = stamp(&connection, hold.now(), timeout + settings.margin);
        let bid = Bid {
            holder: hold.holder(),
            term,
            not_after,
            hint: hold.hint(),
            skew: settings.clock_skew,
        };
        let acquire = of.checked(of.kind.acquire(bid));
        let attempt = Attempt { hold, member, connection: &connection, not_after };
        let Some(answer) = connection.call_for(&attempt, &acquire, deadline).await else {
            return Ok(Vote::Pending);
        };
        if let Ok(answer) = &answer
            && answer.reply.code == Outcome::STALE
        {
            connection.believe_time_of(answer);
        }
        // A stale one says that nothing was done, and is worth asking again, if the hold is still
        // wanted: the server's clock was stepped, or the request was slow; the answer has taught us
        // the server's time.
        if let Some(vote) = hold.answered(member, &connection, not_after, answer) {
            return Ok(vote);
        }
    }
    Ok(Vote::Failed(NodeError::TimedOut { phase: Phase::Answering }))
}

/// An acquire, which may be executed from the moment on at which its hold takes note of it.
struct Attempt<'a> {
    hold: &'a Hold,
    member: usize,
    connection: &'a Connection,
    not_after: i64,
}

impl Caller for Attempt<'_> {
    fn wants(&self, again: bool) -> bool {
        self.hold.begin(self.member, self.connection, self.not_after, again)
    }

    fn never_left(&self) {
        self.hold.never_left(self.member, self.connection.epoch(), self.not_after);
    }
}

/// The server's time after which the acquire is to change nothing.
fn stamp(connection: &Connection, now: Instant, valid: Duration) -> i64 {
    if planted!(GhostStampOff) {
        return i64::MAX;
    }
    let valid = i64::try_from(valid.as_micros()).unwrap_or(i64::MAX);
    connection.server_time_at(now).saturating_add(valid)
}
