//! What a client counts and measures: with the feature for a recorder, without it nothing.

#[cfg(feature = "metrics")]
pub(crate) use recorded::{BatchSort, CallSize, DueTime, Meters, SharedMeters};
#[cfg(not(feature = "metrics"))]
pub(crate) use silent::{BatchSort, CallSize, DueTime, Meters, SharedMeters};

use crate::error::{AcquireError, LostCause};

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
        LostCause::Expired | LostCause::NotRenewed(_) => 0,
        LostCause::Gone | LostCause::MemberGone { .. } | LostCause::QuorumGone => 1,
        LostCause::Taken | LostCause::MemberTaken { .. } | LostCause::QuorumTaken => 2,
        LostCause::MemberRestarted { .. } | LostCause::QuorumRestarted => 3,
        LostCause::Shutdown => 4,
        LostCause::Forked => 5,
    }
}

#[cfg(not(feature = "metrics"))]
mod silent {
    use std::time::Duration;

    use super::{AcquireError, LostCause};
    use crate::{clock::Instant, error::NodeId};

    /// Nothing is measured.
    #[derive(Debug, Clone)]
    pub(crate) struct Meters;

    pub(crate) type SharedMeters = Meters;

    /// When a renewal was due is not kept.
    #[derive(Debug, Clone, Copy, Default)]
    pub(crate) struct DueTime(());

    impl DueTime {
        pub(crate) const fn at(_at: Instant) -> Self {
            Self(())
        }
    }

    /// Nor how many shared a call.
    #[derive(Debug, Clone, Copy, Default)]
    pub(crate) struct CallSize(());

    impl CallSize {
        pub(crate) const fn of(_locks: usize) -> Self {
            Self(())
        }
    }

    #[derive(Debug, Clone, Copy)]
    pub(crate) enum BatchSort {
        Renewals,
    }

    impl Meters {
        pub(crate) const MEASURES: bool = false;

        pub(crate) const fn shared(_group: Option<&str>, _server: &NodeId) -> Self {
            Self
        }

        pub(crate) const fn waits(&self) {}
        pub(crate) const fn no_longer_waits(&self) {}
        pub(crate) const fn granted(&self, _waited: Duration) {}
        pub(crate) const fn refused(&self) {}
        pub(crate) const fn failed(&self, _error: &AcquireError) {}
        pub(crate) const fn begun(&self) {}
        pub(crate) const fn over(&self) {}
        pub(crate) fn ended(&self, _held: impl FnOnce() -> Duration, _passed_on: bool) {}
        pub(crate) const fn lost(&self, _cause: &LostCause) {}
        pub(crate) const fn not_renewed(&self) {}
        pub(crate) const fn renewed(&self, _due: DueTime, _sent: Instant) {}
        pub(crate) const fn batch(&self, _of: BatchSort, _locks: usize) {}
        pub(crate) const fn acquires(&self, _locks: CallSize) {}
        pub(crate) fn answered(&self, _after: impl FnOnce() -> Duration) {}
        pub(crate) const fn votes(&self, _votes: bool) -> bool {
            false
        }
        pub(crate) const fn not_subscribed(&self) {}
        pub(crate) const fn reached(&self, _server: &NodeId, _is_up: bool) {}
        pub(crate) const fn has_forgotten(&self, _server: &NodeId) {}
    }
}

#[cfg(feature = "metrics")]
mod recorded {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
        time::Duration,
    };

    use metrics::{Counter, Gauge, Histogram, Label};

    use super::{AcquireError, LostCause, cause, outcome};
    use crate::{
        clock::Instant,
        error::NodeId,
        metering::noted::{self, Noted},
        panics::contained,
        telling,
    };

    const OUTCOMES: [&str; 7] =
        ["granted", "refused", "outage", "quarantined", "denied", "misused", "closed"];
    const CAUSES: [&str; 6] = ["expired", "gone", "taken", "restarted", "shutdown", "other"];

    /// Those of one client.
    pub(crate) type SharedMeters = Arc<Meters>;

    /// When a renewal was due, if it is one of a hold.
    #[derive(Debug, Clone, Copy, Default)]
    pub(crate) struct DueTime(Option<Instant>);

    impl DueTime {
        pub(crate) const fn at(at: Instant) -> Self {
            Self(Some(at))
        }
    }

    /// How many shared a call, for one of them to tell; 0 for the others.
    #[derive(Debug, Clone, Copy, Default)]
    pub(crate) struct CallSize(usize);

    impl CallSize {
        pub(crate) const fn of(locks: usize) -> Self {
            Self(locks)
        }
    }

    /// What is said of many locks in one call.
    #[derive(Debug, Clone, Copy)]
    pub(crate) enum BatchSort {
        Acquires,
        Renewals,
    }

    /// Registered once: a recorder is not asked for them at each acquire.
    pub(crate) struct Meters {
        group: Vec<Label>,
        acquires: [Counter; OUTCOMES.len()],
        acquire_seconds: Histogram,
        waiting: Gauge,
        held: Gauge,
        hold_seconds: Histogram,
        handovers: Counter,
        losses: [Counter; CAUSES.len()],
        renewal_failures: Counter,
        renewal_lateness: Histogram,
        acquires_in_call: Histogram,
        renewals_in_call: Histogram,
        round_trips: Histogram,
        subscription_losses: Counter,
        quarantined: Gauge,
        is_quarantined: AtomicBool,
        noted: Noted,
    }

    impl std::fmt::Debug for Meters {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.debug_struct("Meters").finish_non_exhaustive()
        }
    }

    impl Meters {
        pub(crate) const MEASURES: bool = true;

        pub(crate) fn shared(group: Option<&str>, server: &NodeId) -> SharedMeters {
            let meters = Arc::new(Self::new(group, server));
            noted::list(&meters);
            meters
        }

        fn new(group: Option<&str>, server: &NodeId) -> Self {
            let group: Vec<_> =
                group.map(|group| Label::new("group", group.to_owned())).into_iter().collect();
            let with = |name, value| {
                let mut labels = group.clone();
                labels.push(Label::from_static_parts(name, value));
                labels
            };
            let of_server = of_server(&group, server);
            let in_call = |of| metrics::histogram!("palisade_batch_size", with("of", of));
            Self {
                acquires: OUTCOMES.map(|outcome| {
                    metrics::counter!("palisade_acquires_total", with("outcome", outcome))
                }),
                acquire_seconds: metrics::histogram!("palisade_acquire_seconds", group.clone()),
                waiting: metrics::gauge!("palisade_waiting", group.clone()),
                held: metrics::gauge!("palisade_held", group.clone()),
                hold_seconds: metrics::histogram!("palisade_hold_seconds", group.clone()),
                handovers: metrics::counter!("palisade_handovers_total", group.clone()),
                losses: CAUSES
                    .map(|cause| metrics::counter!("palisade_losses_total", with("cause", cause))),
                renewal_failures: metrics::counter!(
                    "palisade_renewal_failures_total",
                    group.clone()
                ),
                renewal_lateness: metrics::histogram!(
                    "palisade_renewal_lateness_seconds",
                    group.clone()
                ),
                acquires_in_call: in_call("acquires"),
                renewals_in_call: in_call("renewals"),
                round_trips: metrics::histogram!("palisade_round_trip_seconds", of_server.clone()),
                subscription_losses: metrics::counter!(
                    "palisade_subscription_losses_total",
                    of_server.clone()
                ),
                quarantined: metrics::gauge!("palisade_quarantined", of_server),
                is_quarantined: AtomicBool::new(false),
                noted: Noted::default(),
                group,
            }
        }
    }

    /// What is told by the task that asks.
    impl Meters {
        pub(crate) fn waits(&self) {
            contained(|| self.waiting.increment(1));
        }

        pub(crate) fn no_longer_waits(&self) {
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
    }

    /// What may be told by a task, or noted by the watchdog, on whose thread no recorder's code runs.
    impl Meters {
        fn tell_or_note(&self, tell: impl FnOnce(), note: impl FnOnce(&Noted)) {
            if telling::is_spared() {
                note(&self.noted);
                noted::tell_soon();
            } else {
                contained(tell);
            }
        }

        pub(crate) fn begun(&self) {
            self.tell_or_note(|| self.held.increment(1), |noted| noted.held(1));
        }

        pub(crate) fn over(&self) {
            self.tell_or_note(|| self.held.decrement(1), |noted| noted.held(-1));
        }

        pub(crate) fn renewed(&self, due: DueTime, sent: Instant) {
            let Some(at) = due.0 else { return };
            let late = sent.saturating_since(at);
            self.tell_or_note(
                || self.renewal_lateness.record(late),
                |noted| noted.lateness.note(late),
            );
        }

        pub(crate) fn batch(&self, of: BatchSort, locks: usize) {
            let told = match of {
                BatchSort::Acquires => &self.acquires_in_call,
                BatchSort::Renewals => &self.renewals_in_call,
            };
            let note = |noted: &Noted| match of {
                BatchSort::Acquires => noted.acquires.note(locks as u64),
                BatchSort::Renewals => noted.renewals.note(locks as u64),
            };
            self.tell_or_note(|| told.record(locks as f64), note);
        }

        pub(crate) fn acquires(&self, CallSize(locks): CallSize) {
            if locks > 0 {
                self.batch(BatchSort::Acquires, locks);
            }
        }

        pub(crate) fn answered(&self, after: impl FnOnce() -> Duration) {
            let after = after();
            self.tell_or_note(
                || self.round_trips.record(after),
                |noted| noted.round_trips.note(after),
            );
        }

        /// What was noted, by a thread that does nothing else.
        pub(in crate::metering) fn tell_noted(&self) {
            let tell = |histogram: &Histogram, value: f64, times| {
                contained(|| histogram.record_many(value, times));
            };
            let noted = &self.noted;
            noted.lateness.hand_over(|late, times| {
                tell(&self.renewal_lateness, late.as_secs_f64(), times);
            });
            noted
                .round_trips
                .hand_over(|after, times| tell(&self.round_trips, after.as_secs_f64(), times));
            noted
                .acquires
                .hand_over(|locks, times| tell(&self.acquires_in_call, locks as f64, times));
            noted
                .renewals
                .hand_over(|locks, times| tell(&self.renewals_in_call, locks as f64, times));
            let more = noted.take_held();
            if more != 0 {
                contained(|| self.held.increment(more as f64));
            }
        }
    }

    /// What is rare: told on another thread, whatever notices it.
    impl Meters {
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

        pub(crate) fn not_subscribed(self: &SharedMeters) {
            let meters = self.clone();
            telling::event_elsewhere(move || meters.subscription_losses.increment(1));
        }

        /// Whether its votes count. True if they count no more from now on.
        pub(crate) fn votes(self: &SharedMeters, votes: bool) -> bool {
            if self.is_quarantined.load(Ordering::Relaxed) != votes
                || self.is_quarantined.swap(!votes, Ordering::Relaxed) != votes
            {
                return false;
            }
            let meters = self.clone();
            telling::event_elsewhere(move || {
                let is_now = meters.is_quarantined.load(Ordering::Relaxed);
                meters.quarantined.set(f64::from(u8::from(is_now)));
            });
            !votes
        }

        pub(crate) fn reached(self: &SharedMeters, server: &NodeId, is_up: bool) {
            let labels = of_server(&self.group, server);
            telling::event_elsewhere(move || {
                metrics::gauge!("palisade_server_up", labels).set(f64::from(u8::from(is_up)));
            });
        }

        pub(crate) fn has_forgotten(self: &SharedMeters, server: &NodeId) {
            let labels = of_server(&self.group, server);
            telling::event_elsewhere(move || {
                metrics::counter!("palisade_forgotten_data_total", labels).increment(1);
            });
        }
    }

    fn of_server(group: &[Label], server: &NodeId) -> Vec<Label> {
        let mut labels = group.to_vec();
        labels.push(Label::new("server", server.to_string()));
        labels
    }
}
