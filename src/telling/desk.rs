//! Which threads tell, and which are spared that.

use std::cell::Cell;

use super::crew::Crew;
use crate::{home::PerProcess, logging::WATCHDOG};

thread_local! {
    static IS_SPARED: Cell<bool> = const { Cell::new(false) };
}

/// The threads that tell.
pub(super) struct Crews {
    pub(super) wakers: Crew,
    pub(super) events: Crew,
    #[cfg(feature = "metrics")]
    pub(super) numbers: Crew,
}

impl Default for Crews {
    fn default() -> Self {
        let wakers = Crew::new("palisade-wakers", WAKERS, usize::MAX, |_never| {});
        let events = Crew::new("palisade-events", 1, EVENTS, |events| {
            tracing::warn!(target: WATCHDOG, events, "events were left out: subscribers took longer than they came");
        });
        Self {
            wakers,
            events,
            #[cfg(feature = "metrics")]
            numbers: Crew::new("palisade-metrics", 1, 1, |_never| {}),
        }
    }
}

/// The child of a fork has its own, since it has none of these threads.
pub(super) fn desk() -> &'static Crews {
    static DESK: PerProcess<Crews> = PerProcess::new();
    DESK.get()
}

/// From now on no code of the user's is waited for on this thread.
pub(crate) fn spare_this_thread() {
    IS_SPARED.set(true);
}

/// Whether that is so.
pub(crate) fn is_spared() -> bool {
    IS_SPARED.get()
}

/// So many wakers may block before others wait for them.
const WAKERS: usize = 8;
/// So many events wait at most.
const EVENTS: usize = 1_024;
