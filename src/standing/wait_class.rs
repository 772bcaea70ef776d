//! Classes of D: what a run of a server is known by after its mark is lost. Pure.
//!
//! A mark tells D, but it goes with the data. So a client leaves a witness of the class of its D, and of each class
//! below that. The highest class that a run knows is that of the most careful client which ever asked there. A class is
//! a quarter longer than the one below, so no wait is more than a quarter too long.

use std::{iter::successors, time::Duration};

use super::identity::LONGEST_WAIT;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WaitClass {
    longest_ms: u64,
}

impl WaitClass {
    /// That of clients which leave the settings as they are, and of all with a lesser D.
    pub(crate) const USUAL: Self = Self { longest_ms: 68_000 };

    pub(crate) fn of(wait: Duration) -> Self {
        let is_within = |class: &Self| wait <= class.longest();
        Self::all().find(is_within).or(Self::all().last()).unwrap_or(Self::USUAL)
    }

    /// The longest D of this class.
    pub(crate) fn longest(self) -> Duration {
        Duration::from_millis(self.longest_ms)
    }

    /// From the usual class to this one.
    pub(crate) fn up_to_this(self) -> impl Iterator<Item = Self> {
        Self::all().filter(move |class| *class <= self)
    }

    /// Those with a greater D, in order.
    pub(crate) fn above(self) -> impl Iterator<Item = Self> {
        Self::all().filter(move |class| *class > self)
    }

    fn all() -> impl Iterator<Item = Self> {
        successors(Some(Self::USUAL), |class| {
            let is_last = class.longest() >= LONGEST_WAIT;
            let longer = Self { longest_ms: class.longest_ms + class.longest_ms / 4 };
            (!is_last).then_some(longer)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn second(s: u64) -> Duration {
        Duration::from_secs(s)
    }

    #[test]
    fn class_is_the_lowest_whose_longest_wait_is_not_exceeded() {
        for (wait, longest_ms) in [
            (Duration::ZERO, 68_000),
            (second(68), 68_000),
            (second(68) + Duration::from_nanos(1), 85_000),
            (second(85), 85_000),
            (second(86), 106_250),
        ] {
            assert_eq!(WaitClass::of(wait).longest_ms, longest_ms, "{wait:?}");
        }
    }

    #[test]
    fn every_wait_that_can_be_has_a_class_at_most_a_quarter_longer() {
        for wait in (68..345_600).step_by(997).map(second).chain([LONGEST_WAIT]) {
            let longest = WaitClass::of(wait).longest();
            assert!(longest >= wait && longest <= wait * 5 / 4, "{wait:?}: {longest:?}");
        }
    }

    #[test]
    fn classes_are_those_up_to_one_and_those_above_it() {
        let class = WaitClass::of(second(3_642));
        let all: Vec<_> = class.up_to_this().chain(class.above()).collect();
        assert_eq!(all, WaitClass::all().collect::<Vec<_>>());
        assert_eq!(class.up_to_this().last(), Some(class));
        assert!(all.is_sorted() && all.len() < 50, "{}", all.len());
    }
}
