//! From the first request to the grant.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use super::{
    member_state::MemberState,
    record::{Claim, ClaimPhase, Tenant},
};
use crate::{
    by_member::MemberId,
    clock::Instant,
    error::{NodeError, Vote},
    kind::FencingToken,
    node::{Answer, Connection},
    process::Listed,
    wire::Outcome,
};

impl Claim {
    /// Notes that an acquire is about to be sent, or, `again`, its script's text after the digest was
    /// not known. False if nobody wants it any more.
    ///
    /// # Deadlock safety
    /// Called with the connection's outbox locked: nothing is called on it here.
    pub(crate) fn begin(
        &self,
        member: MemberId,
        connection: &Connection,
        not_after: i64,
        again: bool,
    ) -> bool {
        let now = self.now();
        let mut state = self.state();
        let wanted = state.phase.is_open();
        if wanted {
            state.members[member].asked(connection, not_after, again, now);
        }
        wanted
    }

    /// Notes that an acquire has not left and never will.
    pub(crate) fn never_left(&self, member: MemberId, epoch: u64, not_after: i64) {
        self.state().members[member].never_left(epoch, not_after);
    }

    /// Notes what became of an acquire, also when it is late. `None` if it was stale.
    pub(crate) fn answered(
        self: &Arc<Self>,
        member: MemberId,
        connection: &Connection,
        not_after: i64,
        answer: Result<Answer<Outcome>, NodeError>,
    ) -> Option<Vote> {
        // A grant that comes after a deadline that nobody has noticed must not move it.
        self.look_for_loss(self.state(), self.now());
        let mut state = self.state();
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
                let next = self.next_renewal(term, answer.received);
                known.confirmed(term, answer.sent, answer.reply.value, next);
                if state.phase == ClaimPhase::Held
                    && let Some(next) = self.next_look(&state)
                {
                    self.process.watchdog.reschedule(self.id, next);
                }
                self.recount_late_grant(state);
            }
            return Some(Vote::Granted);
        }
        known.not_granted(epoch, not_after, answer.reply);
        match answer.reply.code {
            Outcome::STALE => None,
            Outcome::FOREIGN => Some(Vote::Failed(NodeError::ForeignKey)),
            Outcome::FOREIGN_COUNTER => Some(Vote::Failed(NodeError::ForeignCounter)),
            Outcome::FOREIGN_MARKER => Some(Vote::Failed(NodeError::ForeignMarker)),
            Outcome::QUARANTINED => {
                let counts_in = milliseconds(answer.reply.value).unwrap_or_default();
                let uptime = connection.standing().uptime(answer.received).unwrap_or_default();
                Some(Vote::Failed(NodeError::Quarantined { uptime, counts_in }))
            }
            // Refused, or queued.
            _ => Some(Vote::Refused { ttl: milliseconds(answer.reply.value) }),
        }
    }

    /// Makes what was acquired `tenant`'s, unless too little of it is left, or a client was shut down
    /// meanwhile. With a token, what is left counts over those who wrote it.
    pub(crate) fn win(
        self: &Arc<Self>,
        token: Option<FencingToken>,
        tenant: Weak<dyn Tenant>,
    ) -> bool {
        if token.is_some() != self.is_fenced() {
            return false;
        }
        let now = self.now();
        let mut state = self.state();
        let wrote = |known: &MemberState| token.is_none() || known.token() == token;
        let deadline = self.deadline_among(&state, wrote);
        let left = deadline.map_or(Duration::ZERO, |deadline| deadline.saturating_since(now));
        if state.phase != ClaimPhase::Acquiring || left < state.term.min_validity() {
            return false;
        }
        state.phase = ClaimPhase::Held;
        state.tenant = Some(tenant);
        state.token = token;
        state.recount.wanted = 1;
        self.plan_heals(&mut state, now);
        let limits = self.members.values().filter_map(|member| member.services.settings.max_hold);
        state.renew_until = limits.min().map(|limit| now + limit);
        let next = self.next_look(&state);
        drop(state);
        self.list(next);
        // After it is listed: either this sees the shutdown, or the shutdown sees the claim.
        !self.is_shut_down()
    }

    /// Has its clients and the watchdog know it.
    fn list(self: &Arc<Self>, next: Option<Instant>) {
        let listed: Arc<dyn Listed> = self.clone();
        for member in self.members.values() {
            member.services.now_held(&member.kind.channel(&self.holder), &listed);
        }
        if let Some(next) = next {
            self.process.watchdog.watch(self.id, next, self.clone());
        }
    }

    /// Whether the client of a member was shut down.
    pub(crate) fn is_shut_down(&self) -> bool {
        self.members.values().any(|member| member.services.is_closed())
    }
}

/// A ttl as a server tells it; negative means that there is none.
fn milliseconds(ttl: i64) -> Option<Duration> {
    u64::try_from(ttl).ok().map(Duration::from_millis)
}
