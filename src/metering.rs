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
//! | `palisade_hold_seconds` | histogram | | how long locks were held that were given back |
//! | `palisade_handovers_total` | counter | | those of them that were passed on inside the process |
//! | `palisade_losses_total` | counter | `cause` | locks that were lost: `expired`, `gone`, `taken`, `restarted`, `shutdown`, `other` |
//! | `palisade_renewal_failures_total` | counter | | holds that a server did not renew, once a streak |
//! | `palisade_server_up` | gauge | `server` | 1 if the last attempt to connect went well, else 0 |
//! | `palisade_forgotten_data_total` | counter | `server` | how often a server was found to have lost its data while it ran |
//!
//! All have the label `group` too if [`ClientBuilder::metrics_group`](crate::ClientBuilder::metrics_group) was given. No
//! name of a lock is a label: there may be any number of them.

use std::{sync::Arc, time::Duration};

#[cfg(feature = "metrics")]
pub(crate) use recorded::Meters;
#[cfg(not(feature = "metrics"))]
pub(crate) use silent::Meters;

use crate::error::{AcquireError, LostCause, NodeId};

/// The names, as dashboards use them.
pub const NAMES: [&str; 9] = [
    "palisade_acquires_total",
    "palisade_acquire_seconds",
    "palisade_waiting",
    "palisade_hold_seconds",
    "palisade_handovers_total",
    "palisade_losses_total",
    "palisade_renewal_failures_total",
    "palisade_server_up",
    "palisade_forgotten_data_total",
];

/// Those of one client.
pub(crate) type SharedMeters = Arc<Meters>;

/// An acquire that is under way, until this is dropped.
pub(crate) struct UnderwayAcquire<'a>(&'a Meters);

impl Drop for UnderwayAcquire<'_> {
    fn drop(&mut self) {
        self.0.no_longer_waits();
    }
}

impl Meters {
    pub(crate) fn underway(&self) -> UnderwayAcquire<'_> {
        self.waits();
        UnderwayAcquire(self)
    }
}

/// What comes of acquires, in the order of [`OUTCOMES`].
#[cfg_attr(not(feature = "metrics"), expect(dead_code, reason = "nothing is counted"))]
const fn outcome(error: &AcquireError) -> usize {
    match error {
        AcquireError::Unavailable { .. } => 2,
        AcquireError::Quarantined { .. } => 3,
        AcquireError::Denied { .. } => 4,
        AcquireError::Config(_) | AcquireError::NotSet { .. } => 5,
        AcquireError::Unwatched { .. } | AcquireError::Draining | AcquireError::Shutdown => 6,
    }
}

/// Why holds are lost, in the order of [`CAUSES`].
#[cfg_attr(not(feature = "metrics"), expect(dead_code, reason = "nothing is counted"))]
const fn cause(cause: &LostCause) -> usize {
    match cause {
        LostCause::Expired => 0,
        LostCause::Gone | LostCause::MemberGone { .. } | LostCause::QuorumGone => 1,
        LostCause::Taken | LostCause::MemberTaken { .. } | LostCause::QuorumTaken => 2,
        LostCause::MemberRestarted { .. } | LostCause::QuorumRestarted => 3,
        LostCause::Shutdown => 4,
        LostCause::Forked => 5,
    }
}

#[cfg(not(feature = "metrics"))]
mod silent {
    use super::{AcquireError, Duration, LostCause, NodeId, SharedMeters};

    /// Nothing is measured.
    #[derive(Debug, Default)]
    pub(crate) struct Meters;

    impl Meters {
        pub(super) const fn waits(&self) {}
        pub(super) const fn no_longer_waits(&self) {}
        pub(crate) const fn granted(&self, _waited: Duration) {}
        pub(crate) const fn refused(&self) {}
        pub(crate) const fn failed(&self, _error: &AcquireError) {}
        pub(crate) fn ended(&self, _held: impl FnOnce() -> Duration, _passed_on: bool) {}
        pub(crate) fn lost(self: &SharedMeters, _cause: &LostCause) {}
        pub(crate) fn not_renewed(self: &SharedMeters) {}
        pub(crate) fn reached(self: &SharedMeters, _server: &NodeId, _is_up: bool) {}
        pub(crate) fn has_forgotten(self: &SharedMeters, _server: &NodeId) {}
    }
}

#[cfg(feature = "metrics")]
mod recorded {
    use metrics::{Counter, Gauge, Histogram, Label};

    use super::{AcquireError, Duration, LostCause, NodeId, SharedMeters, cause, outcome};
    use crate::{panics::contained, telling};

    const OUTCOMES: [&str; 7] =
        ["granted", "refused", "outage", "quarantined", "denied", "misused", "closed"];
    const CAUSES: [&str; 6] = ["expired", "gone", "taken", "restarted", "shutdown", "other"];

    /// Registered once: a recorder is not asked for them at each acquire.
    pub(crate) struct Meters {
        group: Vec<Label>,
        acquires: [Counter; OUTCOMES.len()],
        acquire_seconds: Histogram,
        waiting: Gauge,
        hold_seconds: Histogram,
        handovers: Counter,
        losses: [Counter; CAUSES.len()],
        renewal_failures: Counter,
    }

    impl std::fmt::Debug for Meters {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.debug_struct("Meters").finish_non_exhaustive()
        }
    }

    impl Default for Meters {
        fn default() -> Self {
            Self::new(None)
        }
    }

    impl Meters {
        pub(crate) fn new(group: Option<&str>) -> Self {
            let group: Vec<_> =
                group.map(|group| Label::new("group", group.to_owned())).into_iter().collect();
            let with = |name, value| {
                let mut labels = group.clone();
                labels.push(Label::from_static_parts(name, value));
                labels
            };
            Self {
                acquires: OUTCOMES.map(|outcome| {
                    metrics::counter!("palisade_acquires_total", with("outcome", outcome))
                }),
                acquire_seconds: metrics::histogram!("palisade_acquire_seconds", group.clone()),
                waiting: metrics::gauge!("palisade_waiting", group.clone()),
                hold_seconds: metrics::histogram!("palisade_hold_seconds", group.clone()),
                handovers: metrics::counter!("palisade_handovers_total", group.clone()),
                losses: CAUSES
                    .map(|cause| metrics::counter!("palisade_losses_total", with("cause", cause))),
                renewal_failures: metrics::counter!(
                    "palisade_renewal_failures_total",
                    group.clone()
                ),
                group,
            }
        }

        pub(super) fn waits(&self) {
            contained(|| self.waiting.increment(1));
        }

        pub(super) fn no_longer_waits(&self) {
            contained(|| self.waiting.decrement(1));
        }

        pub(crate) fn granted(&self, waited: Duration) {
            self.has_come_to(0);
            contained(|| self.acquire_seconds.record(waited));
        }

        pub(crate) fn refused(&self) {
            self.has_come_to(1);
        }

        pub(crate) fn failed(&self, error: &AcquireError) {
            self.has_come_to(outcome(error));
        }

        fn has_come_to(&self, outcome: usize) {
            contained(|| self.acquires.get(outcome).map(|counter| counter.increment(1)));
        }

        /// The clock is not read where nothing is measured.
        pub(crate) fn ended(&self, held: impl FnOnce() -> Duration, passed_on: bool) {
            contained(|| {
                self.hold_seconds.record(held());
                self.handovers.increment(u64::from(passed_on));
            });
        }

        // What follows is noticed by the watchdog, on whose thread no recorder's code runs.

        pub(crate) fn lost(self: &SharedMeters, by: &LostCause) {
            let (meters, cause) = (self.clone(), cause(by));
            telling::event_elsewhere(move || {
                meters.losses.get(cause).into_iter().for_each(|counter| counter.increment(1));
            });
        }

        pub(crate) fn not_renewed(self: &SharedMeters) {
            let meters = self.clone();
            telling::event_elsewhere(move || meters.renewal_failures.increment(1));
        }

        pub(crate) fn reached(self: &SharedMeters, server: &NodeId, is_up: bool) {
            let labels = self.of_server(server);
            telling::event_elsewhere(move || {
                metrics::gauge!("palisade_server_up", labels).set(f64::from(u8::from(is_up)));
            });
        }

        pub(crate) fn has_forgotten(self: &SharedMeters, server: &NodeId) {
            let labels = self.of_server(server);
            telling::event_elsewhere(move || {
                metrics::counter!("palisade_forgotten_data_total", labels).increment(1);
            });
        }

        fn of_server(&self, server: &NodeId) -> Vec<Label> {
            let mut labels = self.group.clone();
            labels.push(Label::new("server", server.to_string()));
            labels
        }
    }
}
