//! What lets a waiter through: the count, a zero since it began to wait, or the word of one. Pure.
//!
//! A latch that is set again at once is seen at zero by no look. Of a zero that we brought its generation tells. One
//! that Redisson brought is told by its message alone.
//!
//! A message has no time. One that was published before the waiter began may come after: by a subscription that
//! stood already, on another socket. Where we know of a zero that was shortly before, it is taken for the news of that.

use std::time::Duration;

use super::script::LatchState;
use crate::{clock::Instant, socket::Answer};

/// What was known when a waiter began to wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct Since {
    generation: i64,
    /// How many zeroes were announced that count for others alone.
    heard: u64,
    /// From when on what is announced is news.
    trusts_from: Instant,
}

impl Since {
    /// By its first look, when it had heard of so many zeroes.
    pub(super) fn began(first: &Answer<LatchState>, heard: u64) -> Self {
        let LatchState { generation, .. } = first.reply;
        let age_us = first.server_time.saturating_sub(generation);
        let age = Duration::from_micros(u64::try_from(age_us).unwrap_or(0));
        let trusts_from = first.received + ON_ITS_WAY.saturating_sub(age);
        Self { generation, heard, trusts_from }
    }

    /// Whether it waited when the latch was at zero, by a later look, with so many zeroes heard of by now.
    pub(super) fn lets_through(&mut self, seen: &Answer<LatchState>, heard: u64) -> bool {
        // Only one that is greater: a replica that became master may know an older one.
        if seen.reply.is_at_zero() || seen.reply.generation > self.generation {
            return true;
        }
        if seen.received < self.trusts_from {
            self.heard = heard;
        }
        heard > self.heard
    }
}

/// How long the message of a zero may be on its way.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000;

    /// A look that was answered `at` so many seconds.
    fn seen(at: i64, count: i64, generation: i64) -> Answer<LatchState> {
        let received = Instant::from_origin(Duration::from_secs(at.unsigned_abs()));
        let reply = LatchState { count, generation };
        Answer { reply, sent: received, received, server_time: at * S }
    }

    #[test]
    fn zero_since_then_lets_through_and_one_before_does_not() {
        for (before, now, expected) in [
            (0, 0, false),
            (0, 5 * S, true),
            (5 * S, 5 * S, false),
            (5 * S, 5 * S + 1, true),
            // It was forgotten, or a replica knows an older one.
            (5 * S, 0, false),
            (5 * S, 5 * S - 1, false),
        ] {
            let mut since = Since::began(&seen(9, 2, before), 0);
            assert_eq!(since.lets_through(&seen(10, 2, now), 0), expected, "{before} {now}");
            assert!(since.lets_through(&seen(10, 0, now), 0), "it is at zero");
        }
    }

    #[test]
    fn message_lets_through_that_was_heard_since_then() {
        for known in [0, 8 * S] {
            let mut since = Since::began(&seen(9, 2, known), 3);
            assert!(!since.lets_through(&seen(9, 2, known), 3), "{known}");
            assert!(since.lets_through(&seen(9, 2, known), 4), "{known}");
        }
    }

    #[test]
    fn message_that_may_be_of_the_zero_before_lets_nothing_through() {
        for ahead in [0, 100 * S] {
            let known = 9 * S + ahead;
            let mut since = Since::began(&seen(9, 2, known), 0);
            assert!(!since.lets_through(&seen(9, 2, known), 1));
            assert!(!since.lets_through(&seen(10, 2, known), 1), "it was heard then");
            assert!(since.lets_through(&seen(10, 2, known), 2));
        }
    }
}
