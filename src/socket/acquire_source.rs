//! What an acquire says and knows of itself, as the outbox sees it.

use std::{fmt, time::Duration};

use crate::{clock::Instant, wire::Acquire};

/// A caller that wants a lock of one server. It waits in the outbox as it is, and is asked there.
///
/// # Deadlock safety
/// Called with the outbox locked: it must not make, drop or poll a call.
pub(crate) trait AcquireSource: fmt::Debug + Send + Sync {
    /// What is to be said.
    fn acquire(&self) -> &Acquire;

    /// How long after it was sent it may still be executed.
    fn valid(&self) -> Duration;

    /// Whether it is still wanted, asked when its bytes are about to be made. A source that answers yes
    /// notes that it may be executed from `now` on, until `not_after` by the server's clock. Calls that
    /// enter the same socket later are executed later.
    ///
    /// One that the server did not execute may be sent again, with the same stamp: then it is asked
    /// once more.
    fn wants(&self, now: Instant, not_after: i64, reason: SendReason) -> bool;

    /// What was noted with this stamp was not executed, and never will be.
    fn was_not_sent(&self, not_after: i64);

    /// Whether it passes nothing that entered before it, as a release that it is to follow.
    fn keeps_order(&self) -> bool;
}

/// Which time an acquire is about to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SendReason {
    First,
    /// With the script's text, since the server did not know it by its digest.
    WithText,
    /// In another call, since the server refused the one that it was in.
    Regrouped,
}
