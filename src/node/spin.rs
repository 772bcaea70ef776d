//! Whether a caller looks for its answer for a moment before its thread sleeps.
//!
//! Near a server the sleep and the wake-up cost more than the round trip. So a caller that is alone on
//! its socket lets its runtime go round a few times instead, each of which looks at the socket.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::clock::Instant;

/// Whether callers look for an answer for up to 80 µs before they let their thread sleep.
///
/// On the same machine or in the same rack that halves the time of an acquire where sleeping threads
/// take long to wake. It is done by one call at a time, for locks on a single server, and not for a
/// second after more than half of the answers came later.
///
/// # Examples
/// ```
/// # fn main() -> Result<(), palisade::error::ConfigError> {
/// use palisade::{Client, settings::Spin};
///
/// let client = Client::builder().url("redis://127.0.0.1").spin(Spin::Never).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spin {
    /// On runtimes of a single thread, where it costs hardly any CPU: what goes round would have been
    /// spent on sleeping and waking.
    #[default]
    OnCurrentThread,
    /// On all runtimes. On those of several threads it costs about as much CPU again.
    Always,
    /// On none.
    Never,
}

impl Spin {
    fn is_on_here(self) -> bool {
        match self {
            Self::OnCurrentThread => Handle::try_current()
                .is_ok_and(|here| here.runtime_flavor() == RuntimeFlavor::CurrentThread),
            Self::Always => true,
            Self::Never => false,
        }
    }
}

/// What is known of one socket.
#[derive(Debug)]
pub(super) struct Spinner {
    is_on: bool,
    record: Mutex<Record>,
}

impl Spinner {
    /// For a socket of the current runtime.
    pub(super) fn new(spin: Spin) -> Self {
        Self { is_on: spin.is_on_here(), record: Mutex::default() }
    }

    /// Until when to look for an answer that usually takes as long as `round_trip`.
    pub(super) fn until(&self, now: Instant, round_trip: Duration) -> Option<Instant> {
        if !self.is_on || round_trip >= FAR {
            return None;
        }
        self.record(Record::patience, now).map(|patience| now + patience)
    }

    /// Notes that the answer of a call that was made at `since` was there, or not, at `now`.
    pub(super) fn note(&self, is_there: bool, since: Instant, now: Instant) {
        let in_time = is_there && now.saturating_since(since) < BUDGET;
        self.record(|record, now| record.note(in_time, now), now);
    }

    fn record<T>(&self, with: impl FnOnce(&mut Record, Instant) -> T, now: Instant) -> T {
        with(&mut self.record.lock().unwrap_or_else(PoisonError::into_inner), now)
    }
}

/// How it went lately. Pure.
#[derive(Debug, Default)]
struct Record {
    /// Whether the last tries were in time, one bit each.
    in_time: u16,
    tried: u8,
    /// It went well once since the last pause.
    is_going: bool,
    off_until: Option<Instant>,
}

impl Record {
    /// How long to look. At first longer: a server that was asleep, and the machine under it, are awake
    /// after a few calls that follow one another closely.
    fn patience(&mut self, now: Instant) -> Option<Duration> {
        let is_off = self.off_until.is_some_and(|until| now < until);
        (!is_off).then_some(if self.is_going { BUDGET } else { AT_FIRST })
    }

    fn note(&mut self, in_time: bool, now: Instant) {
        self.tried += 1;
        self.in_time = self.in_time << 1 | u16::from(in_time);
        if self.tried < TRIES {
            return;
        }
        let counted = if self.is_going { u16::MAX } else { LAST };
        let is_good = (self.in_time & counted).count_ones() * 2 >= counted.count_ones();
        let off_until = (!is_good).then(|| now + PAUSE);
        *self = Self { is_going: is_good, off_until, ..Self::default() };
    }
}

const BUDGET: Duration = Duration::from_micros(80);
/// Nobody tries there. Not the budget: where threads slept, it took them most of the time to wake.
const FAR: Duration = Duration::from_micros(500);
/// So many are judged together: busy cores and quotas let most of them down.
const TRIES: u8 = 16;
/// The last of the first tries.
const LAST: u16 = 0xff;
const AT_FIRST: Duration = Duration::from_micros(200);
const PAUSE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::from_origin(Duration::from_micros(us))
    }

    fn spinner() -> Spinner {
        Spinner::new(Spin::Always)
    }

    const NEAR: Duration = Duration::from_micros(30);

    #[test]
    fn far_servers_are_not_waited_for_like_that() {
        assert_eq!(spinner().until(at(5), NEAR), Some(at(205)));
        assert_eq!(spinner().until(at(5), FAR), None);
        assert_eq!(Spinner::new(Spin::Never).until(at(5), NEAR), None);
    }

    #[test]
    fn it_is_off_for_a_second_where_most_answers_are_late() {
        for (in_time, is_on) in [(8, true), (7, false)] {
            let spinner = spinner();
            // It is going.
            (0..16).for_each(|_| spinner.note(true, at(0), at(79)));
            (0..16).for_each(|i| spinner.note(i < in_time, at(0), at(79)));
            let until = spinner.until(at(999_999), NEAR);
            assert_eq!(until, is_on.then(|| at(999_999) + BUDGET), "{in_time}");
            assert!(spinner.until(at(1_000_079), NEAR).is_some());
        }
    }

    #[test]
    fn first_tries_may_take_longer_if_the_last_of_them_do_not() {
        for (late, is_on) in [(8, true), (12, true), (13, false)] {
            let spinner = spinner();
            (0..16).for_each(|i| spinner.note(true, at(0), at(if i < late { 80 } else { 79 })));
            assert_eq!(spinner.until(at(99), NEAR), is_on.then(|| at(99) + BUDGET), "{late}");
        }
    }

    #[test]
    fn runtimes_of_several_threads_sleep_unless_they_are_told_not_to() {
        let mut flavours = [
            (tokio::runtime::Builder::new_current_thread(), [true, true, false]),
            (tokio::runtime::Builder::new_multi_thread(), [false, true, false]),
        ];
        for (builder, expected) in &mut flavours {
            let runtime = builder.build().unwrap();
            let _here = runtime.enter();
            let spins = [Spin::OnCurrentThread, Spin::Always, Spin::Never];
            assert_eq!(spins.map(Spin::is_on_here), *expected);
        }
    }
}
