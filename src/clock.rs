//! The clock leases are measured by.
//!
//! A lease must not outlive a suspended machine: `std::time::Instant` stands still while a Linux
//! machine sleeps, the keys on the servers do not. So the library reads CLOCK_BOOTTIME, and reads
//! it only here, which also lets tests and simulations bring a clock of their own.

use std::{
    cell::Cell,
    fmt,
    future::{pending, poll_fn},
    num::NonZero,
    ops::{Add, Sub},
    panic::catch_unwind,
    pin::pin,
    sync::Arc,
    task::Poll,
    thread::LocalKey,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use futures::future::BoxFuture;
use tokio::{
    runtime::{Handle, Id},
    sync::Notify,
};

/// A point in time on one [`Clock`]: the time since that clock's origin, in whole nanoseconds and
/// up to 584 years.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use palisade::clock::Instant;
///
/// let start = Instant::from_origin(Duration::from_secs(10));
/// let end = start + Duration::from_secs(5);
/// assert_eq!(end.saturating_since(start), Duration::from_secs(5));
/// assert_eq!(start.saturating_since(end), Duration::ZERO);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(NonZero<u64>);

// Counted from 1, so that `None` costs nothing: each hold has several that may be missing.
impl Instant {
    /// The instant that lies `since_origin` after the clock's origin, or the latest there is.
    #[must_use]
    pub const fn from_origin(since_origin: Duration) -> Self {
        Self(NonZero::<u64>::MIN.saturating_add(nanos(since_origin)))
    }

    /// The time since the clock's origin.
    #[must_use]
    pub const fn since_origin(self) -> Duration {
        Duration::from_nanos(self.0.get() - 1)
    }

    /// How long after `earlier` this is; zero if it is not.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.get().saturating_sub(earlier.0.get()))
    }

    /// Later than this is no instant.
    const LATEST: Self = Self(NonZero::<u64>::MAX);
}

/// As many nanoseconds as can be counted.
const fn nanos(time: Duration) -> u64 {
    let nanos = time.as_nanos();
    // `try_from` is not const.
    if nanos < u64::MAX as u128 { nanos as u64 } else { u64::MAX }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.since_origin())
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, by: Duration) -> Self {
        Self(self.0.saturating_add(nanos(by)))
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, by: Duration) -> Self {
        Self::from_origin(self.since_origin().saturating_sub(by))
    }
}

/// A monotonic clock and its timer; and the time of day, for hints only.
///
/// The library takes every time it acts on from here. [`BootClock`] is the default;
/// [`TokioClock`] follows tokio's clock, which tests can pause; a simulation may bring its own.
///
/// # Examples
/// A clock that is ahead, to see what becomes of leases:
/// ```
/// use std::time::Duration;
/// use futures::future::BoxFuture;
/// use palisade::clock::{BootClock, Clock, Instant};
///
/// #[derive(Debug)]
/// struct Ahead(Duration);
///
/// impl Clock for Ahead {
///     fn now(&self) -> Instant {
///         BootClock.now() + self.0
///     }
///
///     fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
///         BootClock.sleep_until(at - self.0)
///     }
/// }
///
/// assert!(Ahead(Duration::from_secs(60)).now() > BootClock.now());
/// ```
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The time now. Never goes backwards.
    fn now(&self) -> Instant;

    /// Completes once [`now`](Self::now) is `at` or later.
    ///
    /// May complete late: code that acts on a deadline compares with `now` at the moment of use.
    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()>;

    /// The wall clock: the time since 1970, UTC. Defaults to the system's.
    ///
    /// No lease is measured by it. It is a *hint* from which fencing tokens are counted, the same for
    /// all masters of an attempt, so that their counters agree. It may jump, and be wrong: servers
    /// bound it by their own time, and raise their counter in any case. A client whose clock is wrong
    /// by more than a few seconds only needs a second round trip more often. A clock of a simulation
    /// should bring its own, or runs do not repeat.
    fn unix_time(&self) -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}

/// The system's clock that also counts the time the machine was suspended (CLOCK_BOOTTIME on
/// Linux; elsewhere the clock of `std::time::Instant`).
///
/// # Examples
/// ```
/// use palisade::clock::{BootClock, Clock};
///
/// let before = BootClock.now();
/// assert!(BootClock.now() >= before);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct BootClock;

impl Clock for BootClock {
    fn now(&self) -> Instant {
        Instant::from_origin(boot_time())
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        Box::pin(sleep_until(at))
    }
}

/// By the timers of whichever runtime it is polled on. One of tokio's belongs to the runtime that it was made on,
/// which may stand still, and panics once that has ended.
async fn sleep_until(at: Instant) {
    loop {
        // Where there are none, a task that races this with a token is still told by the watchdog.
        let here = poll_fn(|_cx| match Handle::try_current() {
            Ok(here) if has_timers() => Poll::Ready(here.id()),
            _ => Poll::Pending,
        });
        let here = here.await;
        let mut timer = pin!(tokio::time::sleep(at.saturating_since(BootClock.now())));
        let is_over = poll_fn(|cx| match Handle::try_current() {
            Ok(now) if now.id() == here => timer.as_mut().poll(cx).map(|()| true),
            _ => Poll::Ready(false),
        });
        if is_over.await {
            return;
        }
    }
}

#[cfg(target_os = "linux")]
fn boot_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let secs = u64::try_from(now.tv_sec).unwrap_or(0);
    let nanos = u32::try_from(now.tv_nsec).unwrap_or(0);
    Duration::new(secs, nanos)
}

#[cfg(not(target_os = "linux"))]
fn boot_time() -> Duration {
    use std::{sync::LazyLock, time::Instant as StdInstant};
    static ORIGIN: LazyLock<StdInstant> = LazyLock::new(StdInstant::now);
    ORIGIN.elapsed()
}

/// tokio's clock: the one that `#[tokio::test(start_paused = true)]` pauses and advances.
///
/// Must be made and used on one runtime.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use palisade::clock::{Clock, TokioClock};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let clock = TokioClock::new();
/// let start = clock.now();
/// tokio::time::advance(Duration::from_secs(3600)).await;
/// assert_eq!(clock.now().saturating_since(start), Duration::from_secs(3600));
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct TokioClock {
    origin: tokio::time::Instant,
    /// The wall clock then.
    unix_origin: Duration,
}

impl TokioClock {
    /// A clock whose origin is now.
    #[must_use]
    pub fn new() -> Self {
        let unix_origin = BootClock.unix_time();
        Self { origin: tokio::time::Instant::now(), unix_origin }
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Instant {
        Instant::from_origin(self.origin.elapsed())
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        // Beyond what tokio can count, any sleep is one for ever.
        let at = (at != Instant::LATEST).then(|| self.origin.checked_add(at.since_origin()));
        match at.flatten() {
            Some(at) => Box::pin(tokio::time::sleep_until(at)),
            None => Box::pin(pending()),
        }
    }

    fn unix_time(&self) -> Duration {
        self.unix_origin + self.origin.elapsed()
    }
}

/// Whether there is a tokio runtime here that has timers.
pub(crate) fn has_timers() -> bool {
    thread_local! {
        static KNOWN: Known = const { Cell::new(None) };
    }
    is_possible_here(&KNOWN, || drop(tokio::time::sleep(Duration::ZERO)))
}

/// The runtime that a thread has last tried something on, and whether it was possible.
pub(crate) type Known = Cell<Option<(Id, bool)>>;

/// Whether the runtime that is current here can do something. tokio does not tell, but panics: it is
/// tried, once for each runtime that a thread comes to. Where a panic is the end of the process it is taken
/// for granted.
pub(crate) fn is_possible_here(known: &'static LocalKey<Known>, attempt: fn()) -> bool {
    let Ok(runtime) = Handle::try_current() else { return false };
    let here = runtime.id();
    known.get().filter(|(tried, _)| *tried == here).map_or_else(
        || {
            let possible = cfg!(panic = "abort") || catch_unwind(attempt).is_ok();
            known.set(Some((here, possible)));
            possible
        },
        |(_, possible)| possible,
    )
}

/// The clock as the rooms hand it around.
pub(crate) type SharedClock = Arc<dyn Clock>;

/// Returns when something is due, or at a nudge, after which something else may be due earlier. Where nothing is, a nudge
/// alone ends it.
pub(crate) async fn due_or_nudged(clock: &SharedClock, due: Option<Instant>, nudge: &Notify) {
    let sleep = async {
        match due {
            Some(at) => clock.sleep_until(at).await,
            None => pending().await,
        }
    };
    tokio::select! {
        biased;
        () = sleep => {}
        () = nudge.notified() => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_saturate_instead_of_wrapping() {
        let early = Instant::from_origin(Duration::from_secs(1));
        let late = Instant::from_origin(Duration::from_secs(3));
        assert_eq!(late.saturating_since(early), Duration::from_secs(2));
        assert_eq!(early.saturating_since(late), Duration::ZERO);
        assert_eq!(early - Duration::from_secs(9), Instant::from_origin(Duration::ZERO));
        assert_eq!(late + Duration::MAX, Instant::from_origin(Duration::MAX));
        assert!(late < Instant::from_origin(Duration::MAX));
    }

    #[test]
    fn instants_are_what_they_were_made_from() {
        for nanos in [0, 1, 1_000_000_007, u64::MAX - 1] {
            let since = Duration::from_nanos(nanos);
            assert_eq!(Instant::from_origin(since).since_origin(), since);
        }
        assert_eq!(size_of::<Option<Instant>>(), 8);
    }

    #[tokio::test(start_paused = true)]
    async fn the_tokio_clock_follows_paused_time() {
        let clock = TokioClock::new();
        clock.sleep_until(clock.now() + Duration::from_secs(3600)).await;
        assert!(clock.now().since_origin() >= Duration::from_secs(3600));
    }

    /// As an acquire is that is polled on one runtime and then on another.
    #[test]
    fn sleep_goes_on_where_it_is_polled_whatever_becomes_of_the_runtime_before() {
        let runtime =
            || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for ends in [true, false] {
            let mut before = Some(runtime());
            let mut sleep = BootClock.sleep_until(BootClock.now() + Duration::from_millis(20));
            let first = before.as_ref().map(|it| it.block_on(async { futures::poll!(&mut sleep) }));
            assert_eq!(first, Some(Poll::Pending));
            before = before.filter(|_| !ends);
            runtime().block_on(sleep);
            drop(before);
        }
    }

    #[test]
    fn the_boot_clock_does_not_go_backwards() {
        let first = BootClock.now();
        assert!(BootClock.now() >= first);
    }
}
