//! How a run is divided into stretches of a minute. Pure.
//!
//! Faults that came as densely for an hour would leave most masters in quarantine most of the time,
//! and locks that are never granted break no promise. So in a long run every other minute is sparse.

use std::{ops::Range, time::Duration};

use super::Fault;
use crate::traffic::QUARANTINE_MS;

/// A part of a run: faults, and then a time without any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) pace: Pace,
    /// From the beginning of the run.
    pub(crate) begins: Duration,
    /// When its last fault is over.
    pub(super) calm: Duration,
    pub(crate) ends: Duration,
}

/// How closely one fault of a track follows the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// At once. First all masters are killed at leisure.
    Dense,
    /// When all is well again: one fault of masters at a time, and all of them vote when it comes.
    Sparse,
}

/// A run of less than two minutes is one dense stretch. Later ones begin as that does, with masters
/// that have all got their votes back.
pub(crate) fn stretches(run: Duration) -> Vec<Stretch> {
    let minutes = whole_minutes(run).max(1);
    let stretch = |minute| {
        let begins = MINUTE * minute;
        let ends = if minute + 1 == minutes { run } else { begins + MINUTE };
        let pace = if minute % 2 == 0 { Pace::Dense } else { Pace::Sparse };
        Stretch { pace, begins, calm: ends - calm(ends - begins), ends }
    };
    (0..minutes).map(stretch).collect()
}

fn whole_minutes(run: Duration) -> u32 {
    u32::try_from(run.as_secs() / MINUTE.as_secs()).unwrap_or(u32::MAX)
}

/// The last part of a stretch of such length. After that of the last one, all that still wait must
/// be served.
pub(crate) fn calm(stretch: Duration) -> Duration {
    (stretch / 8).clamp(Duration::from_secs(1), Duration::from_secs(8))
}

impl Pace {
    /// From the end of a fault to the beginning of the next.
    pub(super) fn gap(self, after: &Fault) -> Range<Duration> {
        match self {
            Self::Dense => Duration::from_millis(200)..Duration::from_millis(500),
            Self::Sparse => {
                let forgotten = after.does.downs() == Some(true);
                let healing = if forgotten { QUARANTINE } else { Duration::ZERO };
                healing + Duration::from_secs(1)..healing + Duration::from_secs(3)
            }
        }
    }
}

/// From the start of a master until its vote counts: its uptime comes in whole seconds, and a
/// client takes it for one less.
pub(super) const QUARANTINE: Duration =
    Duration::from_millis(QUARANTINE_MS).saturating_add(Duration::from_secs(2));
const MINUTE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    fn paces(secs: u64) -> Vec<(Pace, u64)> {
        let lengths = stretches(Duration::from_secs(secs)).into_iter();
        lengths.map(|stretch| (stretch.pace, (stretch.ends - stretch.begins).as_secs())).collect()
    }

    #[test]
    fn less_than_two_minutes_are_one_dense_stretch() {
        for secs in [5, 60, 119] {
            assert_eq!(paces(secs), [(Pace::Dense, secs)]);
        }
    }

    #[test]
    fn every_other_minute_of_a_long_run_is_sparse() {
        assert_eq!(paces(120), [(Pace::Dense, 60), (Pace::Sparse, 60)]);
        assert_eq!(paces(200), [(Pace::Dense, 60), (Pace::Sparse, 60), (Pace::Dense, 80)]);
        let hour = paces(3_600);
        assert_eq!(hour.iter().filter(|(pace, _)| *pace == Pace::Sparse).count(), 30);
        assert_eq!(hour.iter().map(|(_, secs)| secs).sum::<u64>(), 3_600);
    }

    #[test]
    fn between_stretches_all_votes_come_back() {
        for two in stretches(Duration::from_secs(3_600)).windows(2) {
            assert_eq!(two[0].ends, two[1].begins);
            assert!(two[0].calm + QUARANTINE < two[0].ends);
        }
    }
}
