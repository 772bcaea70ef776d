//! What goes for every service that is one to its clients, whichever server serves it.

use crate::{
    check::coverage::Demands,
    history::{Event, History, Settings},
    traffic::Prizes,
};

/// Of a service that is one to its clients.
pub(super) fn of_service(
    history: &History,
    prizes: Prizes,
    faults: Vec<(&'static str, u64)>,
) -> Demands {
    let Settings { secs, .. } = history.settings;
    let undisturbed = history.records.iter().any(|record| record.event == Event::Undisturbed);
    if secs < LEAST_SECS {
        return Demands::default();
    }
    Demands {
        grants: secs * GRANTS_A_SECOND,
        reentries: secs / 2,
        guarded_calls: secs / 2,
        uses: prizes.uses().map(|what| (what, USES)).collect(),
        faults: if undisturbed { Vec::new() } else { faults },
        ..Demands::default()
    }
}

/// After a replica was promoted and has waited, in milliseconds.
pub(super) const FIRST_GRANT_MS: u64 = 5_000;
pub(super) const OF_WORKERS: [&str; 3] = ["freeze-worker", "kill-worker", "panic-in-worker"];
/// A run of a few seconds need not have seen anything.
const LEAST_SECS: u64 = 20;
const GRANTS_A_SECOND: u64 = 10;
const USES: u64 = 3;
