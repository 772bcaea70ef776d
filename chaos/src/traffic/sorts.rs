//! How long the holds of a lock are, and whether they are renewed. Pure.

use std::{ops::Range, time::Duration};

/// A sort of section.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sort {
    pub(super) renewed: bool,
    pub(super) work: Work,
}

/// How long a section works between reading and writing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Work {
    Short,
    /// Several wait meanwhile.
    Brief,
    /// Long enough to be renewed, and to outlast a fixed lease.
    Long,
    /// Long enough to see several faults come and go.
    Endless,
}

pub(super) const BRISK: [(u32, Sort); 3] = [
    (199, Sort { renewed: true, work: Work::Short }),
    (199, Sort { renewed: false, work: Work::Short }),
    (2, Sort { renewed: false, work: Work::Long }),
];
pub(super) const SLOW: [(u32, Sort); 4] = [
    (34, Sort { renewed: true, work: Work::Short }),
    (25, Sort { renewed: true, work: Work::Long }),
    (25, Sort { renewed: false, work: Work::Long }),
    (16, Sort { renewed: true, work: Work::Endless }),
];

/// Of what several may hold at once.
pub(super) const MIXED: [(u32, Sort); 4] = [
    (45, Sort { renewed: true, work: Work::Brief }),
    (45, Sort { renewed: false, work: Work::Brief }),
    (5, Sort { renewed: true, work: Work::Long }),
    (5, Sort { renewed: false, work: Work::Long }),
];
/// Of what only one may, while all others stand in line.
pub(super) const QUEUED: [(u32, Sort); 3] = [
    (49, Sort { renewed: true, work: Work::Brief }),
    (49, Sort { renewed: false, work: Work::Brief }),
    (2, Sort { renewed: false, work: Work::Long }),
];

impl Work {
    pub(super) fn lasts(self) -> Range<Duration> {
        match self {
            Self::Short => ms(0)..ms(3),
            Self::Brief => ms(3)..ms(60),
            Self::Long => ms(300)..ms(1_500),
            Self::Endless => ms(3_000)..ms(6_000),
        }
    }
}

pub(super) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
