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

/// Whether callers look for an answer for up to 60 µs before they let their thread sleep.
///
/// On a machine of its own or in the same rack that halves the time of an acquire. It is done only
/// while round trips are shorter than that, by one call at a time, for locks on a single server, and
/// not for a second after half of the answers came later.
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
        let is_worth_it = self.is_on && round_trip < BUDGET && self.record(Record::is_good, now);
        is_worth_it.then(|| now + BUDGET)
    }

    /// Notes whether the answer came by then.
    pub(super) fn note(&self, in_time: bool, now: Instant) {
        self.record(|record, now| record.note(in_time, now), now);
    }

    fn record<T>(&self, with: impl FnOnce(&mut Record, Instant) -> T, now: Instant) -> T {
        with(&mut self.record.lock().unwrap_or_else(PoisonError::into_inner), now)
    }
}

/// How it went lately. Pure.
#[derive(Debug, Default)]
struct Record {
    in_time: u8,
    tried: u8,
    off_until: Option<Instant>,
}

impl Record {
    fn is_good(&mut self, now: Instant) -> bool {
        self.off_until.is_none_or(|until| now >= until)
    }

    fn note(&mut self, in_time: bool, now: Instant) {
        self.tried += 1;
        self.in_time += u8::from(in_time);
        if self.tried == TRIES {
            let was_good = self.in_time >= TRIES / 2;
            *self = Self { off_until: (!was_good).then(|| now + PAUSE), ..Self::default() };
        }
    }
}

const BUDGET: Duration = Duration::from_micros(60);
/// So many are judged together: busy cores and quotas let most of them down.
const TRIES: u8 = 16;
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
        assert_eq!(spinner().until(at(5), NEAR), Some(at(65)));
        assert_eq!(spinner().until(at(5), BUDGET), None);
        assert_eq!(Spinner::new(Spin::Never).until(at(5), NEAR), None);
    }

    #[test]
    fn it_is_off_for_a_second_where_most_answers_are_late() {
        for (in_time, is_on) in [(8, true), (7, false)] {
            let spinner = spinner();
            (0..16).for_each(|i| spinner.note(i < in_time, at(0)));
            assert_eq!(spinner.until(at(999_999), NEAR).is_some(), is_on, "{in_time}");
            assert!(spinner.until(at(1_000_000), NEAR).is_some());
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
