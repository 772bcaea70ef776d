//! Whether the driver of a socket looks for an answer for a moment before its thread sleeps.
//!
//! Near a server the sleep and the wake-up cost more than the round trip. So while a call is alone on its socket,
//! and one that its caller waits for, the driver comes again once the runtime has looked at its sockets and others
//! had their turns. Where that was in vain it does not look for a hundred times as long: a connection wastes one
//! hundredth of a CPU at most.

use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};

use super::priority::Priority;
use crate::{clock::Instant, reach::Spin};

/// Decides for one socket.
#[derive(Debug)]
pub(super) struct Spinner {
    is_on: bool,
    is_one_thread: bool,
    off_until: Option<Instant>,
}

impl Spinner {
    /// For a socket of the current runtime.
    pub(super) fn new(spin: Spin) -> Self {
        let is_one_thread = Handle::try_current().is_ok_and(|here| {
            here.runtime_flavor() == RuntimeFlavor::CurrentThread
                || here.metrics().num_workers() == 1
        });
        let is_on = spin == Spin::Always || spin == Spin::OnCurrentThread && is_one_thread;
        Self { is_on, is_one_thread, off_until: None }
    }

    /// Whether it looks for answers that are so awaited, if they come soon enough.
    pub(super) fn looks_for(&self, priority: Priority) -> bool {
        // Sockets of several servers would keep several threads awake.
        self.is_on
            && (priority == Priority::Single || self.is_one_thread && priority.is_with_others())
    }

    /// Whether to come again at once for the answer to a call that was sent at `sent`, from a server so far away.
    pub(super) fn comes_again(&mut self, sent: Instant, now: Instant, away: Duration) -> bool {
        if away >= BUDGET || self.off_until.is_some_and(|until| now < until) {
            return false;
        }
        let is_in_time = now.saturating_since(sent) < BUDGET;
        if !is_in_time {
            self.off_until = Some(now + BUDGET * 100);
        }
        is_in_time
    }
}

/// Above most round trips on one machine.
const BUDGET: Duration = Duration::from_micros(80);

#[cfg(test)]
mod tests {
    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn answers_are_looked_for_on_the_runtimes_that_the_setting_names() {
        use Priority::{Fanout, Normal, Single};
        let of_threads = |threads| {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(threads).build().unwrap()
        };
        let one = Builder::new_current_thread().build().unwrap();
        for (runtime, on_current, always) in [
            (one, [false, true, true], [false, true, true]),
            (of_threads(1), [false, true, true], [false, true, true]),
            (of_threads(2), [false; 3], [false, false, true]),
        ] {
            let _here = runtime.enter();
            for (spin, expected) in [
                (Spin::OnCurrentThread, on_current),
                (Spin::Always, always),
                (Spin::Never, [false; 3]),
            ] {
                let spinner = Spinner::new(spin);
                let looks = [Normal, Fanout, Single].map(|priority| spinner.looks_for(priority));
                assert_eq!(looks, expected, "{spin:?} on {runtime:?}");
            }
        }
    }

    /// A call at 10 µs, and one at 9 ms.
    #[test]
    fn answer_that_does_not_come_in_time_is_not_looked_for_again_for_a_while() {
        let mut spinner = Spinner { is_on: true, is_one_thread: true, off_until: None };
        let at = |us| Instant::from_origin(Duration::from_micros(us));
        for (away, sent, now, comes_again) in [
            (79, 10, 11, true),
            (80, 10, 11, false),
            (79, 10, 89, true),
            (79, 10, 90, false),
            (79, 8_000, 8_001, false),
            (79, 8_089, 8_089, false),
            (79, 9_000, 9_001, true),
        ] {
            let said = spinner.comes_again(at(sent), at(now), Duration::from_micros(away));
            assert_eq!(said, comes_again, "{sent} at {now}, {away} away");
        }
    }
}
