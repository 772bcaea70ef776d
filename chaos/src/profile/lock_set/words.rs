//! What the parent and its workers say to each other, and how a set is written down. Pure.

use std::time::Duration;

use checkers::additions::Addition;
use serde::{Deserialize, Serialize};

use super::plan::{Halt, Halted};

/// A line of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Said {
    /// It waits for a number.
    Ready,
    /// The process of a caller that is about to write to this set is to be stopped. The caller waits for [`GO`].
    StopMe { set: u32, ms: u64 },
    /// What it sends to this set is to be held up. It waits for [`GO`].
    HoldUp { set: u32, ms: u64 },
    /// What came of an addition. It waits for the next number.
    Told(Addition),
}

impl Said {
    pub(super) fn halt(set: u32, halt: Halt) -> Self {
        let ms = u64::try_from(halt.length.as_millis()).unwrap_or(u64::MAX);
        match halt.what {
            Halted::Process => Self::StopMe { set, ms },
            Halted::Requests => Self::HoldUp { set, ms },
        }
    }
}

/// What a worker is told that has asked to be halted; else it is given numbers.
pub(super) const GO: &str = "go";

/// Under which key a set stands.
pub(super) fn key(set: u32) -> String {
    format!("set-{set}")
}

/// Of the lock that all take which change it.
pub(super) fn lock(set: u32) -> String {
    format!("lock:set-{set}")
}

pub(super) fn encode(set: &[u64]) -> String {
    set.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
}

/// None if it is no set.
pub(super) fn decode(value: &str) -> Option<Vec<u64>> {
    value.split_whitespace().map(|number| number.parse().ok()).collect()
}

/// For how long a lock stands without further word.
pub(super) const LEASE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_is_read_as_it_was_written() {
        for set in [&[][..], &[7], &[7, 0, u64::MAX]] {
            assert_eq!(decode(&encode(set)).as_deref(), Some(set));
        }
        assert_eq!(decode("7 x"), None);
    }
}
