//! One member is asked for its vote.

use std::{sync::Arc, time::Duration};

use super::record::Claim;
use crate::{
    by_member::MemberId,
    clock::Instant,
    error::{NodeError, Phase, Vote},
    kind::Request,
    node::{Caller, Connection},
    wire::Outcome,
};

/// Asks `member` to grant `claim`, within the node's time. One that is won already is joined: for
/// exclusion, the token stays as it is.
///
/// # Cancel safety
/// Dropping the future leaves the attempt among the unanswered ones of the claim, whose end
/// releases it; one that still waited to be sent is forgotten.
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
    let connection = match services.node.connected(of.kind.name()) {
        Some(connection) => connection,
        None => services.node.connection(of.kind.name(), deadline).await?,
    };
    of.vet(&connection, deadline).await?;
    for _ in 0..3 {
        let not_after = stamp(&connection, claim.now(), timeout + settings.margin);
        let request = Request {
            holder: claim.holder(),
            term,
            not_after,
            hint: claim.hint(),
            skew: settings.clock_skew,
            permits: claim.wanted.permits,
            waits: claim.wanted.waits,
        };
        let acquire = of.checked(of.kind.acquire(request));
        let asking = Asking { claim, member, connection: &connection, not_after };
        let Some(answer) = connection.call_for(&asking, &acquire, deadline).await else {
            return Ok(Vote::Pending);
        };
        if let Ok(answer) = &answer
            && answer.reply.code == Outcome::STALE
        {
            connection.believe_time_of(answer);
        }
        // A stale one says that nothing was done, and is worth asking again, if the claim is still
        // wanted: the server's clock was stepped, or the request was slow; the answer has taught us
        // the server's time.
        if let Some(vote) = claim.answered(member, &connection, not_after, answer) {
            return Ok(vote);
        }
    }
    Ok(Vote::Failed(NodeError::TimedOut { phase: Phase::Answering }))
}

/// An acquire, which may be executed from the moment on at which its claim takes note of it.
struct Asking<'a> {
    claim: &'a Arc<Claim>,
    member: MemberId,
    connection: &'a Connection,
    not_after: i64,
}

impl Caller for Asking<'_> {
    fn wants(&self, again: bool) -> bool {
        self.claim.begin(self.member, self.connection, self.not_after, again)
    }

    fn never_left(&self) {
        self.claim.never_left(self.member, self.connection.epoch(), self.not_after);
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
