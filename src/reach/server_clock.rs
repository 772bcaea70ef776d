// keeps: deciders-pure
//! What time it is on the server, as far as its answers tell.

use std::time::Duration;

use crate::clock::Instant;

/// Keeps the best of the server's times that came with its answers.
///
/// # Invariants
/// [`at`](Self::at) is never early: the server read its clock after the request left, so counting
/// from that moment on gives an upper bound, off by at most the round trip.
#[derive(Debug)]
pub(crate) struct ServerClock {
    best: Sample,
    margin: Duration,
}

/// The server's time in one answer, and our time around it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) sent: Instant,
    pub(crate) received: Instant,
    pub(crate) server_us: i64,
}

impl Sample {
    pub(crate) fn round_trip(&self) -> Duration {
        self.received.saturating_since(self.sent)
    }

    /// The least and the greatest offset of the server's clock from ours that explain this.
    fn offsets(&self) -> (i64, i64) {
        (
            self.server_us.saturating_sub(micros(self.received)),
            self.server_us.saturating_sub(micros(self.sent)),
        )
    }
}

impl ServerClock {
    /// A slow first sample will do: it is an upper bound too, and better ones follow.
    pub(crate) const fn new(first: Sample, margin: Duration) -> Self {
        Self { best: first, margin }
    }

    /// Takes note of another sample; the time it was received is taken as now.
    pub(crate) fn observe(&mut self, sample: Sample) {
        let age = sample.received.saturating_since(self.best.received);
        if sample.round_trip() <= self.best.round_trip()
            || age > MAX_AGE
            || self.is_contradicted_by(&sample, age)
        {
            self.best = sample;
        }
    }

    /// Takes this sample's word, whatever was believed before.
    pub(crate) const fn believe(&mut self, sample: Sample) {
        self.best = sample;
    }

    /// What the way there and back usually takes.
    pub(crate) fn round_trip(&self) -> Duration {
        self.best.round_trip()
    }

    /// The server's clock in µs at our instant `at`.
    pub(crate) fn at(&self, at: Instant) -> i64 {
        let (_, greatest) = self.best.offsets();
        micros(at).saturating_add(greatest)
    }

    /// Whether there is no offset that explains both samples: then the server's clock was set. Two
    /// quartz clocks part by far less than a hundredth of the time in between.
    fn is_contradicted_by(&self, sample: &Sample, age: Duration) -> bool {
        let slack = micros(Instant::from_origin(self.margin + age / 100));
        let (least, greatest) = self.best.offsets();
        let (new_least, new_greatest) = sample.offsets();
        new_least > greatest.saturating_add(slack) || new_greatest < least.saturating_sub(slack)
    }
}

/// A sample older than this makes way for any other.
const MAX_AGE: Duration = Duration::from_secs(60);

fn micros(at: Instant) -> i64 {
    i64::try_from(at.since_origin().as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AHEAD_US: i64 = 1_000_000_000;

    fn ms(ms: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(ms))
    }

    /// A server that is `AHEAD_US` ahead reads its clock as the request arrives after `there`.
    fn sample(sent: u64, there: u64, received: u64) -> Sample {
        let server_us = AHEAD_US + micros(ms(sent + there));
        Sample { sent: ms(sent), received: ms(received), server_us }
    }

    fn truth(at: u64) -> i64 {
        AHEAD_US + micros(ms(at))
    }

    #[test]
    fn a_slow_first_sample_is_an_upper_bound_until_a_better_one_comes() {
        let mut clock = ServerClock::new(sample(0, 300, 400), Duration::from_millis(20));
        assert_eq!(clock.at(ms(500)), truth(500) + 300_000);
        clock.observe(sample(500, 2, 5));
        assert_eq!(clock.at(ms(510)), truth(510) + 2_000);
    }

    #[test]
    fn slower_samples_are_ignored_and_equal_ones_taken() {
        let mut clock = ServerClock::new(sample(0, 1, 2), Duration::from_millis(20));
        clock.observe(sample(10, 300, 410));
        assert_eq!(clock.at(ms(500)), truth(500) + 1_000);
        clock.observe(sample(600, 2, 603));
        assert_eq!(clock.at(ms(700)), truth(700) + 1_000);
        clock.observe(sample(800, 2, 802));
        assert_eq!(clock.at(ms(900)), truth(900) + 2_000);
    }

    #[test]
    fn an_old_sample_makes_way_for_any() {
        let mut clock = ServerClock::new(sample(0, 1, 2), Duration::from_millis(20));
        clock.observe(sample(59_000, 300, 59_400));
        assert_eq!(clock.at(ms(59_500)), truth(59_500) + 1_000);
        clock.observe(sample(61_000, 30, 61_060));
        assert_eq!(clock.at(ms(61_500)), truth(61_500) + 30_000);
    }

    #[test]
    fn a_step_of_the_servers_clock_is_followed_at_once() {
        for step in [-500_000, 500_000] {
            let mut clock = ServerClock::new(sample(0, 1, 2), Duration::from_millis(20));
            let mut stepped = sample(1_000, 50, 1_100);
            stepped.server_us += step;
            clock.observe(stepped);
            assert_eq!(clock.at(ms(2_000)), truth(2_000) + step + 50_000);
        }
    }

    #[test]
    fn a_difference_within_margin_and_drift_is_not_a_step() {
        let mut clock = ServerClock::new(sample(0, 1, 2), Duration::from_millis(20));
        let mut drifted = sample(10_000, 50, 10_100);
        drifted.server_us += 100_000;
        clock.observe(drifted);
        assert_eq!(clock.at(ms(11_000)), truth(11_000) + 1_000);
    }

    #[test]
    fn the_time_before_the_sample_can_be_asked_for() {
        let clock = ServerClock::new(sample(1_000, 1, 1_002), Duration::from_millis(20));
        assert_eq!(clock.at(ms(500)), truth(500) + 1_000);
    }
}
