//! What we know of one member of a hold. Pure.

use crate::{
    clock::Instant,
    lease::Term,
    node::{Connection, RunId},
    watchdog::Unanswered,
};

/// One member's part in a hold.
#[derive(Debug, Default)]
pub(crate) struct Seat {
    /// Until when this member vouches for us; `None` if it never granted, or no longer does.
    deadline: Option<Instant>,
    /// The server process that granted.
    run_id: Option<RunId>,
    /// When a renewal is due; `None` while one is under way or none is wanted.
    pub(crate) renew_at: Option<Instant>,
    /// The lease in ms that a re-entry asked for and the server has not confirmed; 0 if none.
    owed_ms: i64,
    /// Acquires that may still be executed.
    unanswered: Unanswered,
    /// Whether the last of them has not been handed to its socket yet.
    unsent: bool,
    /// Whether something of ours may stand on the server.
    touched: bool,
    /// The socket of the last acquire.
    connection: Option<Connection>,
}

impl Seat {
    /// An acquire is about to be sent.
    pub(crate) fn asked(&mut self, connection: Connection, not_after: i64) {
        self.unanswered.sent(connection.epoch(), not_after);
        self.touched = true;
        self.unsent = true;
        self.connection = Some(connection);
    }

    /// The acquire was handed to its socket: whatever is sent from now on comes behind it.
    pub(crate) fn sent(&mut self) {
        self.unsent = false;
    }

    /// An acquire was answered with something else than a grant.
    pub(crate) fn not_granted(&mut self, epoch: u64, not_after: i64) {
        self.unanswered.answered(epoch, not_after);
        self.touched = !self.unanswered.is_settled() || self.deadline.is_some();
    }

    pub(crate) fn granted(&mut self, epoch: u64, not_after: i64, run_id: Option<RunId>) {
        self.unanswered.answered(epoch, not_after);
        self.run_id = run_id;
    }

    /// The server answered a request sent at `sent` that we hold the lock, for `ttl_ms` then.
    /// `next` is when to renew if all is as `term` wants it.
    pub(crate) fn vouched(
        &mut self,
        term: Term,
        sent: Instant,
        ttl_ms: i64,
        next: Option<Instant>,
    ) {
        self.deadline = self.deadline.max(Some(term.vouched(sent, ttl_ms)));
        if ttl_ms >= self.owed_ms {
            self.owed_ms = 0;
            self.renew_at = next;
        } else {
            // A request with a shorter lease is followed by one with the right one at once.
            self.renew_at = Some(sent);
        }
    }

    /// A re-entry asks for a lease of at least `lease_ms` from now on.
    pub(crate) fn owe(&mut self, lease_ms: i64, now: Instant) {
        self.owed_ms = self.owed_ms.max(lease_ms);
        if self.is_granted() {
            self.renew_at = Some(now);
        }
    }

    /// The lease to ask for in a renewal: the whole of a renewed one, what a re-entry asked for of
    /// a fixed one, and otherwise 0, which extends nothing.
    pub(crate) fn wanted_ms(&self, term: Term) -> i64 {
        if term.is_renewed() { term.ms() } else { self.owed_ms }
    }

    /// The server no longer knows the hold, or is another process than the one that granted.
    pub(crate) fn gone(&mut self, still_there: bool) {
        self.deadline = None;
        self.renew_at = None;
        self.touched = still_there || !self.unanswered.is_settled();
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The same for a member of several, whose server now runs as `run_id`: a server that was
    /// restarted may have granted to others what it forgot.
    pub(crate) fn deadline_while(&self, run_id: Option<RunId>) -> Option<Instant> {
        let restarted = run_id.is_some() && self.run_id.is_some() && run_id != self.run_id;
        self.deadline.filter(|_| !restarted)
    }

    pub(crate) fn is_granted(&self) -> bool {
        self.deadline.is_some()
    }

    pub(crate) fn is_same_process(&self, run_id: Option<RunId>) -> bool {
        self.run_id == run_id
    }

    /// What a release of this member needs, if there is anything to release. Given out once.
    pub(crate) fn take_release(&mut self) -> Option<(Option<Connection>, Unanswered)> {
        self.deadline = None;
        self.renew_at = None;
        let touched = std::mem::take(&mut self.touched);
        if self.unsent {
            // Another thread is between its note and its sending: the release may overtake it.
            self.unanswered.forget_order();
        }
        touched.then(|| (self.connection.take(), std::mem::take(&mut self.unanswered)))
    }
}
