//! Until when a change may be asked for again, and what an answer says of the attempts before. Pure.
//!
//! The first attempt that is executed leaves a key that keeps all others from being executed. It lives
//! [`LIFE_US`] past the stamp of that attempt, so no later one may be executed after that: its stamp
//! is earlier. Both are the server's time.

/// What was sent of one change, in µs of the server's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SentChanges {
    /// The stamp of the first, and that of the last.
    stamps: Option<(i64, i64)>,
    /// How many may have been executed and were not answered.
    unanswered: u32,
}

/// What came of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeVerdict {
    /// It was not made, and will not be.
    NotMade,
    /// The key may have ended before this answer: unknown.
    Unknown,
}

impl SentChanges {
    /// The stamp of the next one, which is wanted until `until`. `None` if at `now`, which may be late but
    /// not early, what the first left may have ended.
    pub(super) fn stamp(&mut self, now: i64, until: i64) -> Option<i64> {
        let Some((first, last)) = self.stamps else {
            self.stamps = Some((until, until));
            return Some(until);
        };
        let limit = limit(first);
        if now > limit {
            return None;
        }
        // Not before the last: a change that is too late for the one is too late for the other.
        let stamp = until.max(last).min(limit);
        self.stamps = Some((first, stamp));
        Some(stamp)
    }

    /// An attempt was not answered, and may have been executed or not.
    pub(super) fn unanswered(&mut self) {
        self.unanswered += 1;
    }

    /// Whether one may have been executed without an answer.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.unanswered > 0
    }

    /// The last attempt was executed after its stamp, at `server_time`, and found nothing of the others.
    pub(super) fn stale(&self, server_time: i64) -> ChangeVerdict {
        match self.stamps {
            Some((first, _)) if self.is_in_doubt() && server_time > limit(first) => {
                ChangeVerdict::Unknown
            }
            _ => ChangeVerdict::NotMade,
        }
    }
}

/// The last stamp of a change whose first was `first`.
fn limit(first: i64) -> i64 {
    first.saturating_add(LIFE_US - SLACK_US)
}

/// For how long past its stamp an attempt leaves a key: the scripts write it.
pub(super) const LIFE_US: i64 = 60_000_000;

/// So much earlier than the key ends, for the milliseconds in which servers count.
const SLACK_US: i64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000;

    #[test]
    fn later_attempts_are_stamped_anew_as_long_as_the_key_of_the_first_lives() {
        let mut attempts = SentChanges::default();
        assert_eq!(attempts.stamp(0, 2 * S), Some(2 * S));
        for (now, until, expected) in [
            (3, 5, Some(5)),
            // By another socket's notion of the server's clock.
            (3, 4, Some(5)),
            (50, 52, Some(52)),
            (60, 62, Some(61)),
            (61, 63, Some(61)),
            (62, 64, None),
        ] {
            assert_eq!(attempts.stamp(now * S, until * S), expected.map(|s: i64| s * S), "{now}");
        }
    }

    #[test]
    fn stale_answer_says_that_nothing_was_done_unless_it_came_after_the_key() {
        let mut attempts = SentChanges::default();
        attempts.stamp(0, 2 * S);
        assert_eq!(attempts.stale(99 * S), ChangeVerdict::NotMade, "there was no other");
        attempts.unanswered();
        attempts.stamp(3 * S, 5 * S);
        assert_eq!(attempts.stale(61 * S), ChangeVerdict::NotMade);
        assert_eq!(attempts.stale(61 * S + 1), ChangeVerdict::Unknown);
    }
}
