//! What is measured for the crate [`metrics`](https://docs.rs/metrics), with the feature of that name.
//!
//! A recorder is installed by the program, *before* its clients are built: they register their metrics then, and an
//! acquire finds them registered. Without a recorder they cost a call that does nothing; without the feature nothing is
//! there.
//!
//! | Metric | Kind | Labels | What |
//! |---|---|---|---|
//! | `palisade_acquires_total` | counter | `outcome` | acquires that have ended: `granted`, `refused` (another holds it), `outage` (too few servers), `quarantined`, `denied`, `misused`, `closed` |
//! | `palisade_acquire_seconds` | histogram | | how long those took that were granted, waiting included |
//! | `palisade_waiting` | gauge | | acquires that are under way |
//! | `palisade_held` | gauge | | locks that are held: granted, and neither given back nor lost |
//! | `palisade_hold_seconds` | histogram | | how long locks were held that were given back |
//! | `palisade_handovers_total` | counter | | those of them that were passed on inside the process |
//! | `palisade_losses_total` | counter | `cause` | locks that were lost: `expired`, `gone`, `taken`, `restarted`, `shutdown`, `other` |
//! | `palisade_renewal_failures_total` | counter | | holds that a server did not renew, once a streak |
//! | `palisade_renewal_lateness_seconds` | histogram | | how long after it was due a renewal left that was answered |
//! | `palisade_batch_size` | histogram | `of` | how many locks were in one call: `acquires` or `renewals` |
//! | `palisade_round_trip_seconds` | histogram | `server` | from a call to its answer, for each that waited for it |
//! | `palisade_server_up` | gauge | `server` | 1 if the last attempt to connect went well, else 0 |
//! | `palisade_quarantined` | gauge | `server` | 1 while its votes do not count, as far as it is asked for any |
//! | `palisade_subscription_losses_total` | counter | `server` | how often a connection broke on which releases are announced: waiters ask then |
//! | `palisade_forgotten_data_total` | counter | `server` | how often a server was found to have lost its data while it ran |
//!
//! All have the label `group` too if [`ClientBuilder::metrics_group`](crate::ClientBuilder::metrics_group) was given. No
//! name of a lock is a label: there may be any number of them.
//!
//! A recorder's code runs on the task that asks, or on threads that do nothing else: never on the watchdog's. One that
//! panics or blocks delays no renewal. What the watchdog measures is rounded down, by 3 % at most.
//!
//! ```text
//! task that asks ── Meters ─────────────────────────────────────────► recorder
//! watchdog ──────── Meters ─► Noted (atomics) ─► palisade-metrics ──► recorder
//! what is rare ──── Meters ─► palisade-events ──────────────────────► recorder
//! ```
//!
//! # What proves it
//! `tests/it/metering`: each fault of chaos moves a metric, and a recorder that blocks or panics costs no lock. Numbers
//! that are noted: `tests` in `counts`.
//!
//! # To change…
//! - what is counted and measured: `meters`, the table above, [`NAMES`], and `docker/prometheus/dashboard.json`
//! - what is noted where no recorder may run: `noted`; how exactly: `counts`

#[cfg(feature = "metrics")]
mod counts;
mod meters;
#[cfg(feature = "metrics")]
mod noted;

pub(crate) use meters::{BatchSort, CallSize, DueTime, Meters, SharedMeters};

/// The names, as dashboards use them.
pub const NAMES: [&str; 15] = [
    "palisade_acquires_total",
    "palisade_acquire_seconds",
    "palisade_waiting",
    "palisade_held",
    "palisade_hold_seconds",
    "palisade_handovers_total",
    "palisade_losses_total",
    "palisade_renewal_failures_total",
    "palisade_renewal_lateness_seconds",
    "palisade_batch_size",
    "palisade_round_trip_seconds",
    "palisade_server_up",
    "palisade_quarantined",
    "palisade_subscription_losses_total",
    "palisade_forgotten_data_total",
];
