// keeps: deciders-pure
//! Leases: how long a key lives on the servers, and until when we may act on it. Pure.

use std::time::Duration;

use crate::{clock::Instant, error::ConfigError};

/// How long a granted lock lives on the servers without further word from us.
///
/// # Examples
/// ```
/// # fn main() -> Result<(), palisade::error::ConfigError> {
/// use std::time::Duration;
/// use palisade::{Client, Lease};
///
/// let client = Client::connect_lazy("redis://127.0.0.1:6379")?;
/// // Renewed for as long as it is held; the key of a process that dies stands for 5 s at most.
/// let brief = client.lock("leader").with_lease(Lease::WatchdogOf(Duration::from_secs(5)));
/// // Over after a minute, whatever happens.
/// let fixed = client.lock("report").with_lease(Lease::Fixed(Duration::from_secs(60)));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Lease {
    /// The client's watchdog lease (30 s by default), renewed every third of it until the guard is
    /// gone.
    #[default]
    Watchdog,
    /// The same with a length of its own, at least 300 ms.
    WatchdogOf(Duration),
    /// Exactly this long, at least 20 ms, never renewed, and on several servers never healed.
    Fixed(Duration),
}

/// The shortest lease that is never renewed: below it, drift leaves no validity to win.
pub(crate) const MIN_FIXED: Duration = Duration::from_millis(20);
/// The shortest lease that is renewed: below it, one late wake-up loses it.
pub(crate) const MIN_WATCHDOG: Duration = Duration::from_millis(300);

impl Lease {
    /// Checks the lease against the client's cap.
    pub(crate) fn term(self, watchdog: Duration, max: Duration) -> Result<Term, ConfigError> {
        let (length, renewed, min) = match self {
            Self::Watchdog => (watchdog, true, MIN_WATCHDOG),
            Self::WatchdogOf(length) => (length, true, MIN_WATCHDOG),
            Self::Fixed(length) => (length, false, MIN_FIXED),
        };
        let (min, max) =
            if planted!(TtlUnchecked) { (Duration::ZERO, Duration::MAX) } else { (min, max) };
        if length < min {
            return Err(ConfigError::LeaseTooShort { lease: length, min });
        }
        if length > max {
            return Err(ConfigError::LeaseTooLong { lease: length, max });
        }
        let ms = i64::try_from(length.as_millis())
            .map_err(|_too_long| ConfigError::LeaseTooLong { lease: length, max })?;
        Ok(Term { ms, renewed })
    }
}

/// A lease that has been checked. Servers count in whole milliseconds, so does this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Term {
    ms: i64,
    renewed: bool,
}

impl Term {
    /// Of what nothing ends but its holder: a century, on which there is no overflow.
    pub(crate) const ENDLESS: Self = Self { ms: 100 * 365 * 24 * 3_600 * 1_000, renewed: false };

    /// What is written to the servers.
    pub(crate) const fn ms(self) -> i64 {
        self.ms
    }

    pub(crate) const fn is_renewed(self) -> bool {
        self.renewed
    }

    pub(crate) const fn length(self) -> Duration {
        Duration::from_millis(self.ms.unsigned_abs())
    }

    /// How far our clock and a server's may drift apart over the lease: 1 % and 2 ms, as published
    /// for Redlock (1 ms is the precision of Redis' expiry).
    pub(crate) fn drift(self) -> Duration {
        if planted!(NoDrift) {
            return Duration::ZERO;
        }
        self.length() / 100 + Duration::from_millis(2)
    }

    // keeps: no-answer-no-movement
    /// Until when we may act on an answer that we hold the lock, to a request sent at `sent`. The
    /// server named the ttl that the key then had: not more, since the request may have been made
    /// with a shorter lease than this one, and not more than the lease, since its clock may jump.
    pub(crate) fn confirmed(self, sent: Instant, ttl_ms: i64) -> Instant {
        let ttl = Duration::from_millis(u64::try_from(ttl_ms).unwrap_or(0));
        sent + ttl.min(self.length()).saturating_sub(self.drift())
    }

    /// The same to be written again when the deadline is only `left` away: one that is not renewed keeps its
    /// end, which is later on the servers than by our clock.
    pub(crate) fn with_left(self, left: Duration) -> Self {
        if self.renewed {
            return self;
        }
        let left_ms = i64::try_from((left + self.drift()).as_millis()).unwrap_or(i64::MAX);
        Self { ms: self.ms.min(left_ms).max(1), ..self }
    }

    /// The least validity worth winning.
    pub(crate) fn min_validity(self) -> Duration {
        self.length() / 10
    }

    /// How long one node may take to vote, at most `cap`.
    pub(crate) fn node_timeout(self, cap: Duration) -> Duration {
        (self.length() / 10).min(cap)
    }

    /// How long a renewal may take: a period, so that there is a second try. That is longer than a
    /// vote: no task waits for it, and a busy machine must not be mistaken for a dead server.
    pub(crate) fn renewal_timeout(self, cap: Duration) -> Duration {
        (self.length() / 3).min(cap.saturating_mul(2))
    }

    /// How often the watchdog renews.
    pub(crate) fn period(self) -> Duration {
        self.length() / 3
    }

    /// When to try again after a renewal that was not answered.
    pub(crate) fn retry(self) -> Duration {
        (self.length() / 30).clamp(Duration::from_millis(10), Duration::from_secs(1))
    }

    /// The term that serves both: the longer one, renewed if either is.
    pub(crate) fn merged(self, other: Self) -> Self {
        Self { ms: self.ms.max(other.ms), renewed: self.renewed || other.renewed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: Duration = Duration::from_secs(60);
    const WATCHDOG: Duration = Duration::from_secs(30);

    fn term(lease: Lease) -> Result<Term, ConfigError> {
        lease.term(WATCHDOG, MAX)
    }

    #[test]
    fn leases_are_checked_before_anything_is_sent() {
        for bad in [0, 1, 19] {
            let lease = Duration::from_millis(bad);
            let error = term(Lease::Fixed(lease)).unwrap_err();
            assert_eq!(error, ConfigError::LeaseTooShort { lease, min: MIN_FIXED });
        }
        assert!(term(Lease::WatchdogOf(Duration::from_millis(299))).is_err());
        for huge in [MAX + Duration::from_nanos(1), Duration::MAX] {
            let error = term(Lease::Fixed(huge)).unwrap_err();
            assert_eq!(error, ConfigError::LeaseTooLong { lease: huge, max: MAX });
        }
        assert!(term(Lease::Fixed(MIN_FIXED)).is_ok());
        assert!(term(Lease::Fixed(MAX)).is_ok());
    }

    // proves: no-answer-no-movement, lost-at-deadline
    #[test]
    fn the_deadline_counts_from_the_request_and_leaves_room_for_drift() {
        let ten_seconds = term(Lease::Fixed(Duration::from_secs(10))).unwrap();
        let sent = Instant::from_origin(Duration::from_secs(5));
        let valid = ten_seconds.confirmed(sent, ten_seconds.ms()).saturating_since(sent);
        assert_eq!(valid, Duration::from_millis(10_000 - 100 - 2));
    }

    #[test]
    fn a_server_confirms_no_more_than_the_ttl_it_names_nor_than_the_lease() {
        let ten_seconds = term(Lease::Fixed(Duration::from_secs(10))).unwrap();
        let sent = Instant::from_origin(Duration::from_secs(5));
        for (ttl, valid) in [(10_000, 9_898), (1_000, 898), (3_600_000, 9_898), (50, 0), (-1, 0)] {
            let deadline = ten_seconds.confirmed(sent, ttl);
            assert_eq!(deadline.saturating_since(sent), Duration::from_millis(valid), "{ttl}");
        }
    }

    #[test]
    fn every_allowed_lease_leaves_some_validity() {
        let least = term(Lease::Fixed(MIN_FIXED)).unwrap();
        let sent = Instant::from_origin(Duration::ZERO);
        assert!(least.confirmed(sent, least.ms()).saturating_since(sent) > least.min_validity());
    }

    #[test]
    fn what_is_written_again_keeps_its_end_there_and_its_deadline_here() {
        let ten_seconds = term(Lease::Fixed(Duration::from_secs(10))).unwrap();
        let now = Instant::from_origin(Duration::from_secs(5));
        for left in [1, 4_000, 9_898] {
            let left = Duration::from_millis(left);
            let again = ten_seconds.with_left(left);
            assert_eq!(again.length(), left + ten_seconds.drift());
            assert_eq!(ten_seconds.confirmed(now, again.ms()), now + left);
        }
        let renewed = term(Lease::Watchdog).unwrap();
        assert_eq!(renewed.with_left(Duration::from_secs(1)), renewed);
    }

    // proves: ttl-not-shortened
    #[test]
    fn merging_never_shortens() {
        let short = term(Lease::Fixed(Duration::from_secs(1))).unwrap();
        let watchdog = term(Lease::Watchdog).unwrap();
        assert_eq!(short.merged(watchdog), watchdog);
        assert_eq!(watchdog.merged(short), watchdog);
    }

    #[test]
    fn whoever_has_endless_patience_with_a_node_still_renews_in_time() {
        let watchdog = term(Lease::Watchdog).unwrap();
        assert_eq!(watchdog.renewal_timeout(Duration::MAX), WATCHDOG / 3);
        assert_eq!(watchdog.renewal_timeout(Duration::from_secs(1)), Duration::from_secs(2));
    }

    #[test]
    fn times_that_follow_from_a_lease_are_those_of_the_table() {
        let cap = Duration::from_secs(2);
        for (lease, least, vote, period, retry) in [
            (300, 30, 30, 100, 10),
            (600, 60, 60, 200, 20),
            (6_000, 600, 600, 2_000, 200),
            (30_000, 3_000, 2_000, 10_000, 1_000),
            (60_000, 6_000, 2_000, 20_000, 1_000),
        ] {
            let term = term(Lease::WatchdogOf(Duration::from_millis(lease))).unwrap();
            let times = [term.min_validity(), term.node_timeout(cap), term.period(), term.retry()];
            let expected = [least, vote, period, retry].map(Duration::from_millis);
            assert_eq!((times, term.length().as_millis()), (expected, lease.into()), "{lease} ms");
            assert!(term.is_renewed());
        }
    }
}
