//! What we know of one member of a claim. Pure.

use std::{sync::Arc, time::Duration};

use super::absence::Absence;
use crate::{
    clock::Instant, kind::FencingToken, lease::Term, socket::Connection, standing::RunId,
    watchdog::Unanswered, wire::Outcome,
};

/// One member's part in a claim.
#[derive(Debug, Default)]
pub(crate) struct MemberState {
    /// The id by which it is asked there, if not that of its claim: a release was said there by that, or by
    /// another since, and may be executed once more.
    alias: Option<Arc<str>>,
    /// Until when this member confirms us; `None` if it never granted, or no longer does.
    deadline: Option<Instant>,
    /// The server process that granted.
    run_id: Option<RunId>,
    /// The fencing token that it wrote for this claim: matters until that is won.
    token: Option<FencingToken>,
    /// When a renewal is due; `None` while one is under way or none is wanted.
    pub(crate) renew_at: Option<Instant>,
    /// When it is to be looked at whether it still stands there.
    pub(crate) look_at: Option<Instant>,
    /// When it is to be written again, since it was not there after a failover or a restart.
    pub(crate) missing_at: Option<Instant>,
    /// The lease in ms that a re-entry asked for and the server has not confirmed; 0 if none.
    owed_ms: i64,
    /// When it did: an answer to what was sent before that confirms no such lease.
    owed_since: Option<Instant>,
    /// Acquires that may still be executed.
    unanswered: Unanswered,
    /// When the last of them was noted.
    asked_at: Option<Instant>,
    /// Whether something of ours may stand on the server.
    touched: bool,
    /// Whether it may have stood there before the last acquire.
    touched_before: bool,
    /// The socket of the last acquire.
    connection: Option<Connection>,
    /// When the request was sent whose answer last said that this member confirms us.
    confirmed_at: Option<Instant>,
    /// When we learnt that it no longer does.
    lost_at: Option<Instant>,
    /// Whether the last renewal was not answered.
    pub(crate) is_failing: bool,
    /// Why it does not confirm us, if it does not.
    absence: Absence,
    /// What is known of its place in a queue.
    place: QueuePlace,
    /// When the member may be asked for its vote again; `None` if that is under way or not wanted.
    pub(crate) heal_at: Option<Instant>,
}

/// A place in a queue on a server.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum QueuePlace {
    #[default]
    None,
    Taken,
    /// And taken anew since: that was told.
    Lost,
}

impl MemberState {
    /// The id by which it is asked there, and stands there, if the id of its claim is `of_claim`.
    pub(crate) fn holder<'a>(&'a self, of_claim: &'a Arc<str>) -> &'a Arc<str> {
        self.alias.as_ref().unwrap_or(of_claim)
    }

    /// The first time at which something is to be done about it.
    pub(super) fn wish(&self) -> Option<Instant> {
        [self.renew_at, self.heal_at, self.missing_at, self.look_at].into_iter().flatten().min()
    }

    /// Nothing stands there any more, and the claim is still wanted. If it was released there it asks by another
    /// id from now on.
    pub(crate) fn given_back(&mut self, alias: Option<Arc<str>>) {
        // An acquire that was answered behind the decision to give it back has confirmed it once more.
        self.deadline = None;
        self.token = None;
        self.renew_at = None;
        self.absence = Absence::Gone;
        self.alias = alias.or_else(|| self.alias.take());
    }

    /// An acquire is about to be sent; or, `again`, one that was not executed.
    pub(crate) fn asked(
        &mut self,
        connection: &Connection,
        not_after: i64,
        again: bool,
        now: Instant,
    ) {
        let epoch = connection.epoch();
        // Not if it was given out to be released since: then it is new to this seat.
        if again && self.unanswered.contains(epoch, not_after) {
            return;
        }
        self.unanswered.sent(epoch, not_after);
        self.touched_before = std::mem::replace(&mut self.touched, true);
        self.asked_at = Some(now);
        self.connection = Some(connection.clone());
    }

    /// An acquire has not left and never will: the member stands as if it had not been asked.
    pub(crate) fn was_not_sent(&mut self, epoch: u64, not_after: i64) {
        if self.unanswered.was_not_sent(epoch, not_after) {
            self.touched = !self.unanswered.is_settled() || self.touched_before;
        }
    }

    /// An acquire was answered with something else than a grant. True if a place in a queue was lost
    /// meanwhile, for the first time.
    pub(crate) fn not_granted(&mut self, epoch: u64, not_after: i64, outcome: Outcome) -> bool {
        self.failed(epoch, not_after);
        let is_queued = [Outcome::QUEUED, Outcome::LINED_UP].contains(&outcome.code);
        self.touched |= is_queued;
        let is_taken = is_queued || outcome.code == Outcome::REFUSED;
        self.absence = if is_taken { Absence::Taken } else { Absence::Gone };
        let is_lost = self.place == QueuePlace::Taken && outcome.code == Outcome::LINED_UP;
        if is_lost {
            self.place = QueuePlace::Lost;
        } else if is_queued && self.place == QueuePlace::None {
            self.place = QueuePlace::Taken;
        }
        is_lost
    }

    /// An acquire was not executed, for sure.
    pub(crate) fn failed(&mut self, epoch: u64, not_after: i64) {
        // Else it was given out to be released, or never left.
        if self.unanswered.answered(epoch, not_after) {
            self.touched = !self.unanswered.is_settled() || self.touched_before;
        }
        self.absence = Absence::Gone;
    }

    /// Whether nothing of ours can stand there.
    pub(crate) fn is_clean(&self) -> bool {
        !self.touched
    }

    /// Whether no acquire may be executed any more without an answer.
    pub(crate) fn is_settled(&self) -> bool {
        self.unanswered.is_settled()
    }

    pub(crate) fn granted(&mut self, epoch: u64, not_after: i64, run_id: Option<RunId>) {
        self.unanswered.answered(epoch, not_after);
        if self.run_id != run_id {
            // What another process of the server promised does not count for this one.
            self.deadline = None;
            self.run_id = run_id;
        }
    }

    /// Whatever took the place of the server's process has it now: it was granted to no other in between.
    pub(crate) fn moved_to(&mut self, run_id: Option<RunId>) {
        self.run_id = run_id;
    }

    /// An acquire was granted that wrote it again there.
    pub(crate) fn rewritten(&mut self, epoch: u64, not_after: i64, run_id: Option<RunId>) {
        self.unanswered.answered(epoch, not_after);
        self.moved_to(run_id);
    }

    /// It is not there after a failover or a restart, and is to be written again.
    pub(crate) fn missing(&mut self, absence: Absence, now: Instant) {
        self.absence = absence;
        self.renew_at = None;
        self.missing_at = Some(now);
    }

    pub(crate) fn is_missing_by(&self, now: Instant) -> bool {
        self.missing_at.is_some_and(|at| at <= now)
    }

    /// The server told the token that its counter has for this claim.
    pub(crate) fn wrote(&mut self, token: FencingToken) {
        self.token = Some(token);
    }

    pub(crate) fn token(&self) -> Option<FencingToken> {
        self.token
    }

    /// The server answered a request sent at `sent` that we hold the lock, for `ttl_ms` then.
    /// `next` is when to renew if all is as `term` wants it.
    pub(crate) fn confirmed(
        &mut self,
        term: Term,
        sent: Instant,
        ttl_ms: i64,
        next: Option<Instant>,
    ) {
        self.deadline = self.deadline.max(Some(term.confirmed(sent, ttl_ms)));
        self.confirmed_at = self.confirmed_at.max(Some(sent));
        self.lost_at = None;
        self.heal_at = None;
        self.missing_at = None;
        self.absence = Absence::Gone;
        if ttl_ms >= self.owed_ms && self.owed_since.is_none_or(|since| sent >= since) {
            (self.owed_ms, self.owed_since) = (0, None);
            self.renew_at = next;
        } else {
            // A request with a shorter lease is followed by one with the right one at once.
            self.renew_at = Some(sent);
        }
    }

    /// A lease that is not renewed keeps the `end` that it had before it was written again, although the write left a
    /// moment after it was made for what is left.
    pub(crate) fn keeps_end(&mut self, term: Term, end: Instant) {
        if !term.is_renewed() {
            self.cut_short(end);
        }
    }

    /// The server answered a look sent at `sent` that it confirms us, for as long as we count on.
    pub(crate) fn seen(&mut self, sent: Instant) {
        self.confirmed_at = self.confirmed_at.max(Some(sent));
    }

    /// The server answered a look that it confirms us for less than we count on.
    pub(crate) fn cut_short(&mut self, until: Instant) {
        self.deadline = self.deadline.min(Some(until));
    }

    /// A re-entry asks for a lease of at least `lease_ms` from now on.
    pub(crate) fn owe(&mut self, lease_ms: i64, now: Instant) {
        self.owed_ms = self.owed_ms.max(lease_ms);
        self.owed_since = Some(now);
        if self.is_granted() {
            self.renew_at = Some(now);
        }
    }

    /// The lease to ask for in a renewal: the whole of a renewed one, what a re-entry asked for of
    /// a fixed one, and otherwise 0, which extends nothing.
    pub(crate) fn wanted_ms(&self, term: Term) -> i64 {
        if term.is_renewed() { term.ms() } else { self.owed_ms }
    }

    /// The server answered a request sent at `sent` that it does not confirm us. `heal_at` is
    /// when it may be asked for its vote again, if it is to be.
    pub(crate) fn gone(
        &mut self,
        absence: Absence,
        sent: Instant,
        now: Instant,
        heal_at: Option<Instant>,
    ) {
        self.deadline = None;
        self.renew_at = None;
        self.missing_at = None;
        self.lost_at = Some(now);
        self.heal_at = heal_at;
        self.absence = absence;
        // The answer says nothing about an acquire that may have been executed after it.
        let asked_since = self.asked_at >= Some(sent) || !self.unanswered.is_settled();
        self.touched = asked_since || absence == Absence::Restarted;
    }

    /// What is known of a member that does not confirm.
    pub(crate) fn absence(&self) -> Absence {
        self.absence
    }

    /// When we learnt that the member no longer confirms us, if it ever did.
    pub(crate) fn lost_at(&self) -> Option<Instant> {
        self.lost_at
    }

    /// Whether the member has confirmed in answer to a request that was sent after `instant`.
    pub(crate) fn is_confirmed_since(&self, instant: Instant) -> bool {
        self.confirmed_at > Some(instant)
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Whether the server's process is another now than the one that confirmed us.
    pub(crate) fn is_another_process(&self, run_id: Option<RunId>) -> bool {
        let is_known = run_id.is_some() && self.run_id.is_some();
        is_known && run_id != self.run_id && !planted!(GoneStillCounts)
    }

    pub(crate) fn is_granted(&self) -> bool {
        self.deadline.is_some()
    }

    pub(crate) fn is_same_process(&self, run_id: Option<RunId>) -> bool {
        self.run_id == run_id
    }

    /// How long its server usually takes to answer, if it was ever asked.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        self.connection.as_ref().map(Connection::round_trip)
    }

    /// After what time to look whether it would grant, if a release there is not heard.
    pub(crate) fn look_again_in(&self) -> Option<Duration> {
        self.connection.as_ref()?.look_again_in()
    }

    /// What a release of this member needs, if there is anything to release. Given out once.
    pub(crate) fn take_release(&mut self) -> Option<(Option<Connection>, Unanswered)> {
        self.deadline = None;
        self.token = None;
        self.renew_at = None;
        self.missing_at = None;
        let touched = std::mem::take(&mut self.touched);
        if planted!(TimedOutNotReleased) && !self.is_settled() {
            return None;
        }
        touched.then(|| (self.connection.take(), std::mem::take(&mut self.unanswered)))
    }
}
