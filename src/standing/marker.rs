//! The marker: what is written on a server about whether its votes count. Pure.
//!
//! One key per database, a text. It says that an operator has blessed this run of the server,
//! whose id it names: a restart makes it void.

use std::{fmt, sync::Arc, time::Duration};

/// The text of a marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marker {
    /// The run of the server that was blessed: it holds everything it ever granted.
    pub(crate) run_id: Arc<str>,
    /// The longest lease that clients of the fleet ask for.
    pub(crate) max_lease: Duration,
    /// The same on all masters that were blessed together.
    pub(crate) fleet: Arc<str>,
}

impl Marker {
    /// `None` for a text that is no marker.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let words: Vec<_> = text.split(' ').collect();
        let ["blessed", run_id, max_lease, fleet] = *words else { return None };
        let max_lease = Duration::from_millis(max_lease.parse().ok()?);
        Some(Self { run_id: run_id.into(), max_lease, fleet: fleet.into() })
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded up: no client of the fleet may seem to exceed it.
        let max_lease_ms = self.max_lease.as_nanos().div_ceil(1_000_000);
        write!(f, "blessed {} {max_lease_ms} {}", self.run_id, self.fleet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_read_as_it_was_written() {
        let marker =
            Marker { run_id: "ab12".into(), max_lease: Duration::from_secs(60), fleet: "f".into() };
        assert_eq!(marker.to_string(), "blessed ab12 60000 f");
        assert_eq!(Marker::read(&marker.to_string()), Some(marker));
    }

    #[test]
    fn other_texts_are_no_markers() {
        for text in ["", "blessed", "blessed ab 60s f", "blessed ab 60000 f more", "cursed ab 1 f"]
        {
            assert_eq!(Marker::read(text), None, "{text}");
        }
    }
}
