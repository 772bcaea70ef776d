//! Whether a signal was sent to a whole unit: to palisade, to its supervisor and to the command.
//!
//! systemd signals every process of a unit. palisade passes on what it is sent, and so does the supervisor, so the command
//! would have it three times: and many a program takes the second for "at once, without cleaning up".

use std::{mem, time::Duration};

use rustix::process::Signal;

/// By which way a signal has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// palisade was sent it.
    Palisade,
    /// The supervisor was sent it.
    Supervisor,
}

/// What to do about a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// To one of the two: the command has not got it.
    ToOne(Signal),
    /// To both: the command has got it, if it is one of the same unit.
    ToBoth(Signal),
}

/// The signal that may come by the other way as well.
#[derive(Debug, Default)]
pub(super) struct Unit {
    held: Option<(Signal, Way, Duration)>,
}

impl Unit {
    /// What is certain now that `signal` has come.
    pub(super) fn hear(&mut self, signal: Signal, way: Way, now: Duration) -> Option<Sent> {
        match self.held.take() {
            Some((held, other, until)) if held == signal && other != way && now < until => {
                Some(Sent::ToBoth(signal))
            }
            before => {
                self.held = Some((signal, way, now + WINDOW));
                before.map(|(held, ..)| Sent::ToOne(held))
            }
        }
    }

    /// When the held one is to be passed on.
    pub(super) fn due_at(&self) -> Option<Duration> {
        self.held.map(|(.., until)| until)
    }

    /// The held one, if it has not come by the other way in time.
    pub(super) fn due(&mut self, now: Duration) -> Option<Signal> {
        let is_due = self.due_at().is_some_and(|until| until <= now);
        let held = is_due.then(|| mem::take(&mut self.held)).flatten();
        held.map(|(signal, ..)| signal)
    }
}

/// The signals of a unit are sent in one go: what lies between is how late a busy machine lets palisade pass it on.
const WINDOW: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_same_signal_by_both_ways_in_time_was_sent_to_both() {
        for (first, second) in [(Way::Palisade, Way::Supervisor), (Way::Supervisor, Way::Palisade)]
        {
            let mut unit = Unit::default();
            assert_eq!(unit.hear(Signal::TERM, first, at(0)), None);
            assert_eq!(unit.due(at(249)), None);
            assert_eq!(unit.hear(Signal::TERM, second, at(249)), Some(Sent::ToBoth(Signal::TERM)));
            assert_eq!((unit.due_at(), unit.due(at(900))), (None, None));
        }
    }

    #[test]
    fn a_signal_by_one_way_is_passed_on_when_its_time_is_over() {
        let mut unit = Unit::default();
        assert_eq!(unit.hear(Signal::TERM, Way::Palisade, at(0)), None);
        assert_eq!(unit.due_at(), Some(at(250)));
        assert_eq!(unit.due(at(250)), Some(Signal::TERM));
        assert_eq!(unit.due(at(300)), None);
        // Late, or another, or twice by the same way: that is another signal.
        assert_eq!(unit.hear(Signal::TERM, Way::Supervisor, at(300)), None);
        let passed = Some(Sent::ToOne(Signal::TERM));
        assert_eq!(unit.hear(Signal::HUP, Way::Palisade, at(301)), passed);
        assert_eq!(unit.hear(Signal::HUP, Way::Palisade, at(302)), Some(Sent::ToOne(Signal::HUP)));
        assert_eq!(
            unit.hear(Signal::HUP, Way::Supervisor, at(552)),
            Some(Sent::ToOne(Signal::HUP))
        );
    }
}
