//! PURE. When the group is asked to end, and when it is killed.

use std::time::Duration;

/// What is due at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing before this time.
    Wait(Duration),
    /// SIGTERM, once.
    Ask,
    /// SIGKILL.
    Kill,
}

/// The two times that follow from a deadline: KILL is `SAFETY` before it, TERM is `grace` before
/// that. Both move with the deadline for as long as renewal gets through.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    kill_at: Duration,
    ask_at: Duration,
    grace: Duration,
    asked: bool,
    ending: bool,
}

impl Schedule {
    pub(crate) fn new(deadline: Duration, grace: Duration) -> Self {
        let unset = Duration::ZERO;
        let mut new = Self { kill_at: unset, ask_at: unset, grace, asked: false, ending: false };
        new.deadline_moved(deadline);
        new
    }

    /// The lock is ours until `deadline`.
    pub(crate) fn deadline_moved(&mut self, deadline: Duration) {
        let kill_at = deadline.saturating_sub(SAFETY);
        if self.ending {
            // What was asked to end for good gets no more time from a renewal.
            self.kill_at = self.kill_at.min(kill_at);
            return;
        }
        self.kill_at = kill_at;
        self.ask_at = kill_at.saturating_sub(self.grace);
    }

    /// The group has to end now, whatever becomes of the lock.
    pub(crate) fn end_now(&mut self, now: Duration) {
        if !self.ending {
            self.ending = true;
            self.ask_at = now;
            self.kill_at = self.kill_at.min(now + self.grace);
        }
    }

    /// What is due at `now`. [`Step::Ask`] is answered once.
    pub(crate) fn due(&mut self, now: Duration) -> Step {
        if now >= self.kill_at {
            return Step::Kill;
        }
        if self.asked {
            return Step::Wait(self.kill_at);
        }
        if now >= self.ask_at {
            self.asked = true;
            return Step::Ask;
        }
        Step::Wait(self.ask_at)
    }
}

/// The group is killed this long before the lock can have another holder: time for the timer to
/// ring and for the kernel to end the processes.
pub(crate) const SAFETY: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(2);

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn term_comes_a_grace_before_kill_and_kill_before_the_deadline() {
        let mut schedule = Schedule::new(at(10_000), GRACE);
        for (now, step) in [
            (0, Step::Wait(at(7_900))),
            (7_899, Step::Wait(at(7_900))),
            (7_900, Step::Ask),
            (7_901, Step::Wait(at(9_900))),
            (9_899, Step::Wait(at(9_900))),
            (9_900, Step::Kill),
            (60_000, Step::Kill),
        ] {
            assert_eq!(schedule.due(at(now)), step, "at {now} ms");
        }
    }

    #[test]
    fn a_renewal_moves_both() {
        let mut schedule = Schedule::new(at(10_000), GRACE);
        schedule.deadline_moved(at(20_000));
        assert_eq!(schedule.due(at(9_950)), Step::Wait(at(17_900)));
    }

    #[test]
    fn a_renewal_after_term_puts_off_kill_and_does_not_ask_again() {
        let mut schedule = Schedule::new(at(10_000), GRACE);
        assert_eq!(schedule.due(at(8_000)), Step::Ask);
        schedule.deadline_moved(at(20_000));
        assert_eq!(schedule.due(at(18_000)), Step::Wait(at(19_900)));
        assert_eq!(schedule.due(at(19_900)), Step::Kill);
    }

    #[test]
    fn without_grace_there_is_only_kill() {
        let mut schedule = Schedule::new(at(10_000), Duration::ZERO);
        assert_eq!(schedule.due(at(9_899)), Step::Wait(at(9_900)));
        assert_eq!(schedule.due(at(9_900)), Step::Kill);
    }

    #[test]
    fn ending_now_asks_at_once_and_kills_within_the_grace_and_the_deadline() {
        let mut early = Schedule::new(at(60_000), GRACE);
        early.end_now(at(5_000));
        assert_eq!(early.due(at(5_000)), Step::Ask);
        early.deadline_moved(at(90_000));
        early.end_now(at(6_000));
        assert_eq!(early.due(at(6_999)), Step::Wait(at(7_000)));
        assert_eq!(early.due(at(7_000)), Step::Kill);

        let mut late = Schedule::new(at(60_000), GRACE);
        assert_eq!(late.due(at(59_000)), Step::Ask);
        late.end_now(at(59_500));
        assert_eq!(late.due(at(59_899)), Step::Wait(at(59_900)));
        assert_eq!(late.due(at(59_900)), Step::Kill);
    }
}
