//! Additions to sets that stand as one value each: read, changed and written back as a whole, under a lock. One that was
//! acknowledged must be there in the end, and one that was refused must not. Pure.
//!
//! It knows nothing of locks, times or holds: what is lost is lost, whatever was promised meanwhile.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{Deserialize, Serialize};

/// A number that one caller was to add to a set, and no other to any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Addition {
    pub set: u32,
    pub number: u64,
    pub answer: AdditionAnswer,
}

/// What a caller was told of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdditionAnswer {
    /// The set with it is written.
    Acknowledged,
    /// Refused by the caller's own process: the lock was lost by its clock.
    Lost,
    /// Refused by the server: the hold does not stand there.
    NotHeld,
    /// Refused by the caller's own process: it could not be sent.
    NotSent,
    /// The set with it may be written.
    Unknown,
}

impl AdditionAnswer {
    const fn is_refused(self) -> bool {
        matches!(self, Self::Lost | Self::NotHeld | Self::NotSent)
    }
}

/// What became of all additions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Additions {
    answers: BTreeMap<AdditionAnswer, usize>,
    /// How many of the unknown ones are there.
    pub unknown_there: usize,
    /// In the order of sets and numbers.
    pub violations: Vec<Misfit>,
}

/// What must not be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Misfit {
    /// It was acknowledged, and is not there.
    Missing(Addition),
    /// It was refused, and is there.
    Refused(Addition),
    /// It stands in a set to which it was not added, or stands there twice.
    Foreign { set: u32, number: u64 },
}

impl Additions {
    /// Compares what was told of them with what the sets are in the end.
    #[must_use]
    pub fn judge(additions: &[Addition], sets: &BTreeMap<u32, Vec<u64>>) -> Self {
        let there: BTreeSet<(u32, u64)> =
            sets.iter().flat_map(|(set, all)| all.iter().map(|number| (*set, *number))).collect();
        let mut judged = Self { violations: foreign(additions, sets), ..Self::default() };
        for addition in additions {
            let is_there = there.contains(&(addition.set, addition.number));
            *judged.answers.entry(addition.answer).or_default() += 1;
            match addition.answer {
                AdditionAnswer::Acknowledged if !is_there => {
                    judged.violations.push(Misfit::Missing(*addition));
                }
                AdditionAnswer::Unknown if is_there => judged.unknown_there += 1,
                refused if refused.is_refused() && is_there => {
                    judged.violations.push(Misfit::Refused(*addition));
                }
                _ => {}
            }
        }
        judged.violations.sort_unstable();
        judged
    }

    /// How many were answered so.
    #[must_use]
    pub fn answered(&self, answer: AdditionAnswer) -> usize {
        self.answers.get(&answer).copied().unwrap_or(0)
    }

    /// How many were acknowledged, and are not there.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.violations.iter().filter(|misfit| matches!(misfit, Misfit::Missing(_))).count()
    }
}

/// What stands where it was not added, and what stands twice.
fn foreign(additions: &[Addition], sets: &BTreeMap<u32, Vec<u64>>) -> Vec<Misfit> {
    let mut left: BTreeSet<_> =
        additions.iter().map(|addition| (addition.set, addition.number)).collect();
    let all = sets.iter().flat_map(|(set, all)| all.iter().map(|number| (*set, *number)));
    let misfits = all.filter(|standing| !left.remove(standing));
    misfits.map(|(set, number)| Misfit::Foreign { set, number }).collect()
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(Addition { set, number, .. }) => {
                write!(f, "{number} was added to set {set}, and is not there")
            }
            Self::Refused(Addition { set, number, answer }) => {
                write!(f, "{number} was refused ({answer:?}) for set {set}, and is there")
            }
            Self::Foreign { set, number } => {
                write!(f, "{number} stands in set {set}, where it was not added so")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        AdditionAnswer::{Acknowledged, Lost, NotHeld, NotSent, Unknown},
        *,
    };

    fn added(set: u32, number: u64, answer: AdditionAnswer) -> Addition {
        Addition { set, number, answer }
    }

    fn judged(additions: &[Addition], sets: &[(u32, &[u64])]) -> Additions {
        let sets = sets.iter().map(|(set, all)| (*set, all.to_vec())).collect();
        Additions::judge(additions, &sets)
    }

    #[test]
    fn number_is_there_as_was_told() {
        for (answer, if_there, if_not) in [
            (Acknowledged, None, Some(Misfit::Missing(added(1, 7, Acknowledged)))),
            (Lost, Some(Misfit::Refused(added(1, 7, Lost))), None),
            (NotHeld, Some(Misfit::Refused(added(1, 7, NotHeld))), None),
            (NotSent, Some(Misfit::Refused(added(1, 7, NotSent))), None),
            (Unknown, None, None),
        ] {
            let additions = [added(1, 7, answer)];
            let found = |sets| judged(&additions, sets).violations.first().copied();
            assert_eq!(found(&[(1, &[7])]), if_there, "{answer:?}, there");
            assert_eq!(found(&[(1, &[])]), if_not, "{answer:?}, not there");
            assert_eq!(found(&[]), if_not, "{answer:?}, no set");
        }
    }

    #[test]
    fn number_in_another_set_is_missing_and_foreign() {
        let found = judged(&[added(1, 7, Acknowledged)], &[(1, &[]), (2, &[7])]);
        let missing = Misfit::Missing(added(1, 7, Acknowledged));
        assert_eq!(found.violations, [missing, Misfit::Foreign { set: 2, number: 7 }]);
    }

    #[test]
    fn number_that_stands_twice_or_was_never_added_is_foreign() {
        for all in [&[7, 7][..], &[7, 8]] {
            let found = judged(&[added(1, 7, Acknowledged)], &[(1, all)]);
            assert!(matches!(found.violations[..], [Misfit::Foreign { .. }]), "{found:?}");
        }
    }

    #[test]
    fn additions_are_counted_by_what_was_told_of_them() {
        let additions = [
            added(1, 1, Acknowledged),
            added(1, 2, Acknowledged),
            added(2, 3, Acknowledged),
            added(2, 4, NotHeld),
            added(2, 5, Unknown),
            added(2, 6, Unknown),
            added(2, 7, Unknown),
        ];
        let found = judged(&additions, &[(1, &[1, 2]), (2, &[6])]);
        let answers = [Acknowledged, NotHeld, Unknown, Lost].map(|answer| found.answered(answer));
        assert_eq!(answers, [3, 1, 3, 0]);
        assert_eq!((found.missing(), found.unknown_there), (1, 1));
    }
}
