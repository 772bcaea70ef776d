//! Tells a frozen server from a slow one and from callers in a hurry.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use crate::clock::Instant;

/// Counts time-outs in a row between which nothing at all came from the server.
///
/// Answers alone would not do: those to requests that were given up never reach a caller.
#[derive(Debug)]
pub(super) struct Silence {
    frozen_after: u32,
    reads: u64,
    timeouts: u32,
    since: Instant,
}

impl Silence {
    pub(super) const fn new(frozen_after: u32) -> Self {
        let since = Instant::from_origin(Duration::ZERO);
        Self { frozen_after, reads: 0, timeouts: 0, since }
    }

    /// Notes that a request timed out, after so many `reads` of the stream. True if the server seems to be
    /// frozen; or the runtime is busy, and has not read what came.
    pub(super) fn timed_out(&mut self, reads: u64, now: Instant) -> bool {
        if self.timeouts == 0 || reads != self.reads {
            *self = Self { reads, timeouts: 0, since: now, ..*self };
        }
        self.timeouts = self.timeouts.saturating_add(1);
        self.is_frozen(reads, now)
    }

    /// Whether that is still so after so many `reads`.
    pub(super) fn is_frozen(&self, reads: u64, now: Instant) -> bool {
        reads == self.reads
            && self.timeouts >= self.frozen_after
            && now.saturating_since(self.since) >= LEAST_SILENCE
    }
}

/// What has come through a stream.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    reads: AtomicU64,
    /// When an answer came last, or a call was made after a quiet time, in µs.
    heard: AtomicU64,
    /// The count of reads at which that one asked.
    asked_at: AtomicU64,
}

impl Traffic {
    /// Notes that an answer came.
    pub(super) fn heard(&self, at: Instant) {
        self.heard.store(micros(at.since_origin()), Ordering::Relaxed);
    }

    /// When that was; or when a call was made after a quiet time, if that is later.
    pub(super) fn last_heard(&self) -> Instant {
        Instant::from_origin(Duration::from_micros(self.heard.load(Ordering::Relaxed)))
    }

    /// Whether no answer came for so `long` when a call is made at `now`. Only the first one that
    /// does is told so.
    pub(super) fn breaks_quiet(&self, now: Instant, long: Duration) -> bool {
        let heard = self.heard.load(Ordering::Relaxed);
        let is_quiet = micros(now.since_origin()).saturating_sub(heard) >= micros(long);
        if is_quiet {
            self.heard(now);
            self.asked_at.store(self.reads(), Ordering::Relaxed);
        }
        is_quiet
    }

    /// Whether nothing was read since a call was made after a quiet time.
    pub(super) fn is_quiet_still(&self) -> bool {
        self.asked_at.load(Ordering::Relaxed) == self.reads()
    }

    /// Notes that something was read.
    pub(super) fn read(&self, at: Instant) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.heard(at);
    }

    /// How often something was read.
    pub(super) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Requests that time out at the same moment, or after no time, say little about the server.
const LEAST_SILENCE: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(ms))
    }

    #[test]
    fn three_time_outs_in_a_row_are_a_frozen_server() {
        let mut silence = Silence::new(3);
        assert!(!silence.timed_out(5, ms(500)));
        assert!(!silence.timed_out(5, ms(1_000)));
        assert!(silence.timed_out(5, ms(1_500)));
    }

    #[test]
    fn whatever_is_heard_in_between_starts_the_count_again() {
        let mut silence = Silence::new(3);
        assert!(!silence.timed_out(5, ms(500)));
        assert!(!silence.timed_out(5, ms(1_000)));
        assert!(!silence.timed_out(6, ms(1_500)));
        assert!(!silence.timed_out(6, ms(2_000)));
        assert!(silence.timed_out(6, ms(2_500)));
    }

    #[test]
    fn one_stall_that_hits_many_at_once_is_not_enough() {
        let mut silence = Silence::new(3);
        for _request in 0..100 {
            assert!(!silence.timed_out(5, ms(500)));
        }
        assert!(silence.timed_out(5, ms(1_000)));
    }

    #[test]
    fn callers_in_a_hurry_do_not_freeze_a_server() {
        let mut silence = Silence::new(3);
        for at in 0..50 {
            assert!(!silence.timed_out(5, ms(100 + at)));
        }
    }
}
