//! When it is said that a lock is held for long. Pure.

use std::time::Duration;

use crate::clock::Instant;

/// That a hold is long is said after a time, twice that, four times that, and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LongWarning {
    /// Since when its user has it.
    pub(super) since: Instant,
    /// After which time it is said next.
    pub(super) after: Duration,
}

impl LongWarning {
    pub(super) fn due(self) -> Instant {
        self.since + self.after
    }

    /// The one that comes after one at `now`, if that is due; and for how long it is held.
    pub(super) fn next(self, now: Instant) -> Option<(Self, Duration)> {
        let held = now.saturating_since(self.since);
        if held < self.after {
            return None;
        }
        let mut after = self.after;
        while after <= held {
            after = after.saturating_mul(2);
        }
        Some((Self { after, ..self }, held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_at_twice_the_time_each_time() {
        let at = |secs| Instant::from_origin(Duration::from_secs(secs));
        let secs = Duration::from_secs;
        let first = LongWarning { since: at(100), after: secs(10) };
        assert_eq!(first.next(at(109)), None);
        let (second, held) = first.next(at(110)).unwrap();
        assert_eq!((second.due(), held), (at(120), secs(10)));
        // The machine was asleep meanwhile.
        let (third, held) = second.next(at(195)).unwrap();
        assert_eq!((third.due(), held), (at(260), secs(95)));
    }
}
