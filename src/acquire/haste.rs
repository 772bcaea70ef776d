//! Rounds that were over before enough servers could answer, since the lease is so short. Pure.
//!
//! A vote is worth nothing later than a tenth of the lease: of one of 20 ms, 2 ms later. A busy machine takes
//! as long to look at an answer, so that says nothing of the servers.

use std::time::Duration;

use crate::clock::Instant;

/// How long such rounds have followed each other.
#[derive(Debug, Default)]
pub(super) struct Haste {
    since: Option<Instant>,
    /// Whether a server has answered meanwhile, too late for a vote.
    has_heard: bool,
}

impl Haste {
    /// One more. Whether another one is worth it: servers have `time` to answer at all, and the lease is
    /// not one that can never be won.
    pub(super) fn may_go_on(&mut self, now: Instant, time: Duration) -> bool {
        let since = *self.since.get_or_insert(now);
        let most = if self.has_heard { time * HEARD } else { time };
        now.saturating_since(since) < most
    }

    /// A server has answered what was said to it afterwards.
    pub(super) const fn heard(&mut self) {
        self.has_heard = true;
    }

    /// The servers have voted.
    pub(super) const fn over(&mut self) {
        *self = Self { since: None, has_heard: false };
    }
}

/// So many times longer if the servers are there: then it is the caller's own machine that is slow.
const HEARD: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_have_their_time_and_more_if_they_are_heard() {
        let at = |ms| Instant::from_origin(Duration::from_millis(ms));
        let time = Duration::from_millis(500);
        let mut haste = Haste::default();
        assert!(haste.may_go_on(at(1_000), time) && haste.may_go_on(at(1_499), time));
        assert!(!haste.may_go_on(at(1_500), time), "nothing was heard");
        haste.heard();
        assert!(haste.may_go_on(at(5_999), time));
        assert!(!haste.may_go_on(at(6_000), time), "such a lease is never won");
        haste.over();
        assert!(haste.may_go_on(at(6_000), time) && !haste.may_go_on(at(6_500), time));
    }
}
