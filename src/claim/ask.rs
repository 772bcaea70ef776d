//! One member is asked for its vote: from the request to what its answer comes to.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use super::record::{Claim, ClaimPhase, ClaimState};
use crate::{
    by_member::MemberId,
    clock::Instant,
    error::{NodeError, Phase, Vote},
    kind::{AcquireRequest, FencingToken},
    node::{Lookout, NextSocket},
    socket::{AcquireAnswer, AcquireSource, CallTimeouts, Connection, Priority, SendReason},
    standing::{Stance, Vetting},
    sync::MutexGuard,
    voting::{Closed, by_mark},
    wire::{Acquire, Outcome},
};

/// Asks `member` to grant `claim`, within the node's time, and that of a look at which run it is.
/// One that is won already is joined: for exclusion, the token stays as it is.
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
pub(crate) fn ask(
    claim: Arc<Claim>,
    member: MemberId,
) -> impl Future<Output = (MemberId, Vote)> + Send {
    let mut time = Time::of(&claim, member);
    async move { (member, ask_in(&claim, member, &mut time).await) }
}

/// The same for a claim that is held already: no caller waits for it.
///
/// # Cancel safety
/// As [`ask`].
pub(super) async fn ask_in_passing(claim: Arc<Claim>, member: MemberId) -> Vote {
    let mut time = Time::in_passing(&claim, member);
    ask_in(&claim, member, &mut time).await
}

/// Asks `member` to write a claim that is held once more, while its server grants nothing else: see
/// [`rewriting`](super::rewriting). Refused if it does not wait any more, or another stands there.
///
/// # Cancel safety
/// As [`ask`].
pub(super) async fn write_again(claim: Arc<Claim>, member: MemberId) -> Vote {
    let mut time = Time { writes_again: true, ..Time::in_passing(&claim, member) };
    ask_in(&claim, member, &mut time).await
}

async fn ask_in(claim: &Arc<Claim>, member: MemberId, time: &mut Time) -> Vote {
    let of = &claim.members()[member];
    let (node, name) = (&of.services.node, of.kind.name());
    let mut next_socket = NextSocket::for_the_broken();
    loop {
        let connection = match node.connected(name).filter(|_| next_socket.is_free()) {
            Some(connection) => connection,
            None => {
                time.just_now = None;
                match node.next_connection(&mut next_socket, name, time.deadline).await {
                    Ok(connection) => connection,
                    Err(error) => return Vote::Failed(next_socket.told(error)),
                }
            }
        };
        let vote = ask_on(&connection, claim, member, time).await;
        match vote.unwrap_or_else(Vote::Failed) {
            Vote::Failed(error) => {
                if let Err(error) = next_socket.after(error) {
                    return Vote::Failed(error);
                }
                time.begin_anew(claim.now());
            }
            vote => return vote,
        }
    }
}

/// How long a member may take.
struct Time {
    /// What is left of the node's time, which runs while something is sent and not answered.
    left: Duration,
    /// Until when a connection is waited for. With other members beside it, it is not asked after that.
    deadline: Instant,
    /// When this was made, until something was waited for.
    just_now: Option<Instant>,
    is_alone: bool,
    priority: Priority,
    /// Whether it is held, and was not there after a failover.
    writes_again: bool,
}

impl Time {
    fn of(claim: &Claim, member: MemberId) -> Self {
        let of = &claim.members()[member];
        let left = claim.term().node_timeout(of.services.settings.node_timeout);
        let is_alone = claim.members().is_one();
        let priority = Priority::among(claim.members().len(), claim.asks_each_server_once);
        let (now, writes_again) = (claim.now(), false);
        Self { left, deadline: now + left, just_now: Some(now), is_alone, priority, writes_again }
    }

    fn in_passing(claim: &Claim, member: MemberId) -> Self {
        Self { priority: Priority::Normal, ..Self::of(claim, member) }
    }

    /// After a socket that broke: a caller that waits for this member alone may have waited long for its
    /// turn.
    fn begin_anew(&mut self, now: Instant) {
        if self.is_alone {
            self.deadline = now + self.left;
        }
    }

    fn patience(&self, since: Instant) -> CallTimeouts {
        let unsent_until = (!self.is_alone).then_some(self.deadline);
        CallTimeouts { since, for_the_server: self.left, unsent_until }
    }
}

/// The same on one socket. [`NodeError::Unreachable`] if the acquire never left there, and
/// [`NodeError::Disconnected`] if it may have: then the socket is out of use.
async fn ask_on(
    connection: &Connection,
    claim: &Arc<Claim>,
    member: MemberId,
    time: &mut Time,
) -> Result<Vote, NodeError> {
    let of = &claim.members()[member];
    let settings = &of.services.settings;
    let mut has_the_right = true;
    for _ in 0..4 {
        // Which run the server is, and what its data is, is a matter of connecting, and as long may
        // that take.
        let looked_from = time.just_now.take().unwrap_or_else(|| claim.now());
        let looked_by = looked_from + settings.connect_timeout;
        let (mark, waits_until) = if time.writes_again {
            match of.wait_of(connection, looked_by).await? {
                Some(Closed { mark, until }) => (mark, Some(until)),
                None => return Ok(Vote::Refused { ttl: None }),
            }
        } else {
            let vetted = of.vet(connection, looked_by).await;
            of.measure(&vetted);
            let mark = vetted?;
            (mark.filter(|_| !planted!(MarkNotCompared)), None)
        };
        let node = &of.services.node;
        let lookout = node.look_out(of.kind.name(), Some(connection), looked_by).await?;
        let now = claim.now();
        time.deadline = time.deadline + now.saturating_since(looked_from);
        let mut asking = VoteRequest::of(claim, member, connection, mark, time.left);
        asking.counts_on_replicas = lookout.is_some();
        if let Some(until) = waits_until
            && !asking.limit_to_wait(until, now)
        {
            return Ok(Vote::Refused { ttl: None });
        }
        let asking = Arc::new(asking);
        let answer = connection.acquire(asking.clone(), time.priority, time.patience(now)).await;
        let answer = match answer {
            Ok(Some(answer)) => answer,
            Ok(None) if claim.state().phase.is_open() => continue,
            Ok(None) => return Ok(Vote::Pending),
            // If it may still be executed the attempt stays among the unanswered.
            Err(error) => return Ok(Vote::Failed(error)),
        };
        if answer.outcome.is_ok() {
            time.left = time.left.saturating_sub(answer.times.round_trip());
        }
        let is_forbidden = matches!(answer.outcome, Err(NodeError::Permission { .. }));
        // A stale one says that nothing was done, and is worth asking again, if the claim is
        // still wanted. So does one that met another mark, after a look at that.
        let Some(vote) = asking.answered(&answer) else { continue };
        // It may be the mark that the user must not read any more: that is known after a look.
        if is_forbidden && asking.acquire.check.is_some() && has_the_right {
            has_the_right = false;
            if asking.is_by_the_mark_that_is_known() {
                asking.doubt_the_mark();
            }
            continue;
        }
        return Ok(match (vote, lookout) {
            (Vote::Granted, Some(from)) => Box::pin(asking.once_replicated(&answer, &from)).await,
            (vote, _) => vote,
        });
    }
    Err(NodeError::TimedOut { phase: Phase::Answering })
}

/// An acquire, which may be executed from the moment on at which its claim takes note of it.
#[derive(Debug)]
pub(super) struct VoteRequest {
    claim: Arc<Claim>,
    member: MemberId,
    /// By which id.
    holder: Arc<str>,
    connection: Connection,
    acquire: Acquire,
    /// How long after it was sent it may be executed.
    valid: Duration,
    /// By the server's clock in µs: if it is written again while that waits.
    waits_until: Option<i64>,
    /// Whether its grant is to be on replicas before it counts.
    counts_on_replicas: bool,
}

impl AcquireSource for VoteRequest {
    fn acquire(&self) -> &Acquire {
        &self.acquire
    }

    fn valid(&self) -> Duration {
        self.valid
    }

    // keeps: no-blind-resend
    /// Notes that the acquire is about to be sent, unless the claim is not wanted any more, or it
    /// was found out meanwhile that its server is to be looked at first.
    fn wants(&self, now: Instant, not_after: i64, reason: SendReason) -> bool {
        if reason == SendReason::WithText {
            // A server that lost this script has lost the witness of its mark, too.
            self.doubt_the_mark();
        }
        if reason == SendReason::First && !self.is_vetted(now) {
            return false;
        }
        if let Some(until) = self.waits_until {
            let state = self.claim.state();
            let stands = state.members[self.member].deadline().is_some_and(|end| now < end);
            if not_after > until || state.phase != ClaimPhase::Held || !stands {
                return false;
            }
        }
        let mut state = self.claim.state();
        if !self.is_of(&state) {
            return false;
        }
        let again = reason != SendReason::First;
        if !state.phase.is_open() {
            if again && planted!(WithdrawnAfterNoscript) {
                return true;
            }
            return planted!(ReleaseAheadOfHeal);
        }
        state.members[self.member].asked(&self.connection, not_after, again, now);
        true
    }

    fn was_not_sent(&self, not_after: i64) {
        let mut state = self.claim.state();
        state.members[self.member].was_not_sent(self.connection.epoch(), not_after);
    }

    fn keeps_order(&self) -> bool {
        self.claim.keeps_order.load(Ordering::Relaxed)
    }
}

impl VoteRequest {
    pub(super) fn of(
        claim: &Arc<Claim>,
        member: MemberId,
        connection: &Connection,
        mark: Option<Arc<str>>,
        for_the_server: Duration,
    ) -> Self {
        let of = &claim.members()[member];
        let settings = &of.services.settings;
        let (holder, is_held, queues, term) = {
            let state = claim.state();
            let is_held = state.phase == ClaimPhase::Held;
            let ends = state.members[member].deadline().filter(|_| is_held);
            let left = ends.map(|end| end.saturating_since(claim.now()));
            let term = left.map_or(state.term, |left| state.term.with_left(left));
            let holder = state.members[member].holder(&claim.holder).clone();
            (holder, is_held, state.queue == Some(member), term)
        };
        let check = by_mark(mark.as_ref(), &of.services.node, connection);
        let statement = claim.kind(member).acquire(AcquireRequest {
            holder: &holder,
            term,
            hint: claim.hint(),
            skew: settings.clock_skew,
            waits: claim.wanted.waits,
            queues,
            is_alone: claim.members().is_one(),
            is_held,
        });
        Self {
            claim: claim.clone(),
            member,
            holder,
            connection: connection.clone(),
            acquire: Acquire { statement, check },
            valid: for_the_server + settings.margin,
            waits_until: None,
            counts_on_replicas: false,
        }
    }

    /// Whether the claim has the id still by which this asks.
    fn is_of(&self, state: &ClaimState) -> bool {
        *state.members[self.member].holder(&self.claim.holder) == self.holder
    }

    /// May be executed only while its server waits. False if that is over.
    pub(super) fn limit_to_wait(&mut self, until: i64, now: Instant) -> bool {
        let left = until.saturating_sub(self.connection.server_time_at(now));
        let left = u64::try_from(left).ok().map(Duration::from_micros);
        let settings = &self.claim.members()[self.member].services.settings;
        // Some of it goes by before it is sent.
        let left = left.and_then(|left| left.checked_sub(settings.margin));
        let Some(left) = left else { return false };
        (self.waits_until, self.valid) = (Some(until), self.valid.min(left));
        true
    }

    // keeps: no-forgetful-vote
    /// Whether what was found out about the server still holds. That its mark stands, the acquire itself
    /// looks at.
    fn is_vetted(&self, now: Instant) -> bool {
        let is_without = self.claim.members()[self.member].vetting == Vetting::None;
        let standing = self.connection.standing();
        self.acquire.check.is_some()
            || is_without
            || (self.waits_until.is_some() && standing.closed_until(now).is_some())
            || planted!(MarkNotCompared)
            || matches!(standing.stance(now), Ok(Stance::Unmarked))
    }

    fn is_by_the_mark_that_is_known(&self) -> bool {
        let known = self.connection.standing().stance(self.claim.now());
        let asked_by = self.acquire.check.as_ref().map(|check| &check.text);
        matches!(&known, Ok(Stance::Marked(text)) if Some(text) == asked_by)
    }

    /// The mark is looked at before the next one is asked.
    fn doubt_the_mark(&self) {
        if let Some(check) = &self.acquire.check {
            self.connection.standing().doubt(&check.text);
        }
    }

    // keeps: three-answers
    /// Notes what became of the acquire, also when it is late. `None` if it was stale, or met another
    /// mark.
    fn answered(&self, answer: &AcquireAnswer) -> Option<Vote> {
        let Self { claim, member, connection, .. } = self;
        let mut state = claim.state();
        if state.phase == ClaimPhase::Held {
            // A grant that comes after a deadline that was not noticed must not move it.
            claim.look_for_loss(state, claim.now());
            state = claim.state();
        }
        if !self.is_of(&state) {
            // It was given back since: the release that is behind it is told of it.
            return Some(Vote::Pending);
        }
        let known = &mut state.members[*member];
        let (epoch, not_after) = (connection.epoch(), answer.not_after);
        let outcome = match &answer.outcome {
            Ok(outcome) => *outcome,
            Err(error) => {
                // Unless it may still be executed: then it stays among the unanswered.
                if !error.is_unknown() {
                    known.failed(epoch, not_after);
                }
                return Some(Vote::Failed(error.clone()));
            }
        };
        if outcome.code == Outcome::DONE {
            if self.waits_until.is_some() {
                known.rewritten(epoch, not_after, connection.run_id());
            } else {
                known.granted(epoch, not_after, connection.run_id());
            }
            if !self.counts_on_replicas {
                self.count(state, outcome, answer);
            }
            return Some(Vote::Granted);
        }
        let is_place_lost = known.not_granted(epoch, not_after, outcome);
        drop(state);
        if is_place_lost {
            claim.warn_of_lost_place(*member);
        }
        match outcome.code {
            // The server's clock was stepped, or the request was slow: it has told us its time.
            Outcome::STALE => {
                connection.believe(answer.times);
                None
            }
            Outcome::OTHER_MARK => {
                self.doubt_the_mark();
                None
            }
            Outcome::FOREIGN => Some(Vote::Failed(NodeError::ForeignKey)),
            Outcome::OTHER_KIND => Some(Vote::Failed(NodeError::OtherKind)),
            Outcome::FOREIGN_COUNTER => Some(Vote::Failed(NodeError::ForeignCounter)),
            // Refused, or queued.
            _ => Some(Vote::Refused { ttl: milliseconds(outcome.value) }),
        }
    }
}

impl VoteRequest {
    /// Counts a grant, unless the claim is over: then the release behind it undoes it.
    fn count(
        &self,
        mut state: MutexGuard<'_, ClaimState>,
        outcome: Outcome,
        answer: &AcquireAnswer,
    ) {
        let Self { claim, member, .. } = self;
        if !state.phase.is_open() {
            return;
        }
        let (term, known) = (state.term, &mut state.members[*member]);
        // The token of a member that joins a claim that is won is not used: the claim's stays.
        if let Some(token) = FencingToken::of(outcome.token) {
            known.wrote(token);
        }
        let next = claim.next_renewal(term, answer.times.received);
        let ends = known.deadline().filter(|_| self.waits_until.is_some());
        known.confirmed(term, answer.times.sent, outcome.value, next);
        if let Some(end) = ends {
            known.keeps_end(term, end);
        }
        if state.phase == ClaimPhase::Held
            && let Some(next) = claim.next_look(&state)
        {
            claim.process.watchdog.reschedule(claim.id, next);
        }
        claim.recount_late_grant(state);
    }

    /// Counts a grant once replicas have it. If they do not, it stands on its server all the same, and is
    /// released with all that the claim has touched.
    async fn once_replicated(&self, answer: &AcquireAnswer, from: &Lookout) -> Vote {
        let Self { claim, connection, .. } = self;
        let most = claim.term().length() / 10;
        if let Err(error) = from.replicated(connection.server_run(), most).await {
            return Vote::Failed(error);
        }
        claim.look_for_loss(claim.state(), claim.now());
        if let Ok(outcome) = answer.outcome {
            self.count(claim.state(), outcome, answer);
        }
        Vote::Granted
    }
}

/// A ttl as a server tells it; negative means that there is none.
fn milliseconds(ttl: i64) -> Option<Duration> {
    u64::try_from(ttl).ok().map(Duration::from_millis)
}
