//! One member is asked for its vote: from the request to what its answer comes to.

use std::{sync::Arc, time::Duration};

use super::record::{Claim, ClaimPhase};
use crate::{
    by_member::MemberId,
    clock::Instant,
    error::{NodeError, Phase, Vote},
    kind::{FencingToken, Request},
    node::{Answer, Caller, Connection, NextSocket},
    voting::Checked,
    wire::Outcome,
};

/// Asks `member` to grant `claim`, within the node's time, and that of a look at who it is. One that
/// is won already is joined: for exclusion, the token stays as it is.
///
/// An acquire whose socket breaks under it is asked once more on the next one. That is no blind
/// repetition: an acquire sets the count of its holder id, so to be executed twice is to be executed
/// once; the server that is there now is vetted, and stamps the acquire anew; and either attempt is
/// among the unanswered ones of the member until it is answered or its stamp is over, so that a
/// release is final behind both.
///
/// # Cancel safety
/// Dropping the future leaves the attempt among the unanswered ones of the claim, whose end
/// releases it; one that still waited to be sent is forgotten.
pub(crate) async fn ask(claim: Arc<Claim>, member: MemberId) -> (MemberId, Vote) {
    let of = &claim.members()[member];
    let (node, name) = (&of.services.node, of.kind.name());
    let timeout = claim.term().node_timeout(of.services.settings.node_timeout);
    let mut deadline = claim.now() + timeout;
    let mut next_socket = NextSocket::for_the_broken();
    let vote = loop {
        let connection = match node.connected(name) {
            Some(connection) => connection,
            None => match node.connection(name, deadline).await {
                Ok(connection) => connection,
                Err(error) => break Vote::Failed(next_socket.told(error)),
            },
        };
        let vote = ask_on(&connection, &claim, member, timeout, &mut deadline).await;
        match vote.unwrap_or_else(Vote::Failed) {
            Vote::Failed(error) => {
                if let Err(error) = next_socket.after(error) {
                    break Vote::Failed(error);
                }
            }
            vote => break vote,
        }
    };
    (member, vote)
}

/// The same on one socket. [`NodeError::Unreachable`] if the acquire never left there, and
/// [`NodeError::Disconnected`] if it may have: then the socket is out of use.
async fn ask_on(
    connection: &Connection,
    claim: &Arc<Claim>,
    member: MemberId,
    timeout: Duration,
    deadline: &mut Instant,
) -> Result<Vote, NodeError> {
    let of = &claim.members()[member];
    let (term, settings) = (claim.term(), &of.services.settings);
    let mut has_the_right = true;
    for _ in 0..4 {
        // Who the server is, and what its data is, is a matter of connecting, and as long may
        // that take.
        let looked_from = claim.now();
        let mark = of.vet(connection, looked_from + settings.connect_timeout).await?;
        *deadline = *deadline + claim.now().saturating_since(looked_from);
        let mark = mark.filter(|_| !planted!(MarkNotCompared));
        let not_after = stamp(connection, claim.now(), timeout + settings.margin);
        let statement = of.kind.acquire(Request {
            holder: claim.holder(),
            term,
            not_after,
            hint: claim.hint(),
            skew: settings.clock_skew,
            permits: claim.wanted.permits,
            waits: claim.wanted.waits,
        });
        let acquire = Checked { statement, mark, key: connection.marker().clone() };
        let asking = Asking { claim, member, connection, not_after, acquire: &acquire };
        let Some(answer) = connection.call_for(&asking, &acquire, *deadline).await else {
            return Ok(Vote::Pending);
        };
        let is_forbidden = matches!(answer, Err(NodeError::Permission { .. }));
        // A stale one says that nothing was done, and is worth asking again, if the claim is
        // still wanted. So does one that met another mark, after a look at that.
        let Some(vote) = asking.answered(answer) else { continue };
        // It may be the mark that the user must not read any more: that is known after a look.
        if is_forbidden && acquire.mark.is_some() && has_the_right {
            has_the_right = false;
            asking.doubt_the_mark();
            continue;
        }
        return Ok(vote);
    }
    Err(NodeError::TimedOut { phase: Phase::Answering })
}

/// An acquire, which may be executed from the moment on at which its claim takes note of it.
struct Asking<'a> {
    claim: &'a Arc<Claim>,
    member: MemberId,
    connection: &'a Connection,
    not_after: i64,
    acquire: &'a Checked,
}

impl Caller for Asking<'_> {
    /// Notes that the acquire is about to be sent, unless nobody wants the claim any more.
    fn wants(&self, again: bool) -> bool {
        if again {
            // A server that lost this script has lost the witness of its mark, too.
            self.doubt_the_mark();
        }
        let now = self.claim.now();
        let mut state = self.claim.state();
        let wanted = state.phase.is_open();
        if wanted {
            state.members[self.member].asked(self.connection, self.not_after, again, now);
        }
        wanted
    }

    fn is_awaited_alone(&self) -> bool {
        self.claim.members().is_one()
    }

    fn never_left(&self) {
        let mut state = self.claim.state();
        state.members[self.member].never_left(self.connection.epoch(), self.not_after);
    }
}

impl Asking<'_> {
    /// The mark is looked at before the next one is asked.
    fn doubt_the_mark(&self) {
        if let Some(mark) = &self.acquire.mark {
            self.connection.standing().doubt(mark);
        }
    }

    /// Notes what became of the acquire, also when it is late. `None` if it was stale, or met another
    /// mark.
    fn answered(&self, answer: Result<Answer<Outcome>, NodeError>) -> Option<Vote> {
        let Self { claim, member, connection, not_after, .. } = *self;
        // A grant that comes after a deadline that nobody has noticed must not move it.
        claim.look_for_loss(claim.state(), claim.now());
        let mut state = claim.state();
        let (term, over) = (state.term, !state.phase.is_open());
        let known = &mut state.members[member];
        let epoch = connection.epoch();
        let answer = match answer {
            // It may still be executed: the attempt stays among the unanswered.
            Err(error) if error.is_unknown() && !planted!(TimedOutNotReleased) => {
                return Some(Vote::Failed(error));
            }
            Err(error) => {
                known.failed(epoch, not_after);
                return Some(Vote::Failed(error));
            }
            Ok(answer) => answer,
        };
        if answer.reply.code == Outcome::DONE {
            known.granted(epoch, not_after, connection.run_id());
            // A grant for a claim that is over is undone by the release behind it.
            if !over {
                // Of who joins a claim that is won it is nobody's: the claim's stays.
                if let Some(token) = FencingToken::of(answer.reply.token) {
                    known.wrote(token);
                }
                let next = claim.next_renewal(term, answer.received);
                known.confirmed(term, answer.sent, answer.reply.value, next);
                if state.phase == ClaimPhase::Held
                    && let Some(next) = claim.next_look(&state)
                {
                    claim.process.watchdog.reschedule(claim.id, next);
                }
                claim.recount_late_grant(state);
            }
            return Some(Vote::Granted);
        }
        known.not_granted(epoch, not_after, answer.reply);
        match answer.reply.code {
            // The server's clock was stepped, or the request was slow: it has told us its time.
            Outcome::STALE => {
                connection.believe_time_of(&answer);
                None
            }
            Outcome::OTHER_MARK => {
                self.doubt_the_mark();
                None
            }
            Outcome::FOREIGN => Some(Vote::Failed(NodeError::ForeignKey)),
            Outcome::FOREIGN_COUNTER => Some(Vote::Failed(NodeError::ForeignCounter)),
            // Refused, or queued.
            _ => Some(Vote::Refused { ttl: milliseconds(answer.reply.value) }),
        }
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

/// A ttl as a server tells it; negative means that there is none.
fn milliseconds(ttl: i64) -> Option<Duration> {
    u64::try_from(ttl).ok().map(Duration::from_millis)
}
