//! Whose vote is asked for: a server that may have forgotten what it granted is not asked.

use std::time::Duration;

use super::{
    Member,
    marker::{
        self, Found,
        strict::{Check, Checked},
    },
};
use crate::{
    clock::Instant,
    error::{ConfigError, NodeError, Vote},
    node::Connection,
    wire::{Marker, Statement},
};

/// Which locks a client protects from a server that was restarted without its data.
///
/// Such a server would grant a lock that another client still holds through it. So its grants are
/// not asked for until every lease is over that it may have forgotten: for `max_lease` × 1.01 +
/// 1 s + `clock_skew` after its process has started, and a second, since servers tell their uptime
/// in whole ones. That is 67.6 s by default. Renewals and releases are sent all the while.
/// It costs nothing once the time is over, except by `Strict`.
///
/// # Guarantees
/// - A restart, a crash and a new container are noticed, whoever else is connected.
/// - A replica that was promoted has been running for long: only clients that knew the master
///   before it notice.
/// - FLUSHALL is noticed by `Strict` only; eviction and keys deleted one by one are not.
/// - The wall clock of a server must not be set forward by more than `clock_skew` in that time: its
///   uptime follows it. Start Redis after the clock is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Quarantine {
    /// `MultiLock` and `RedLock`.
    #[default]
    Composites,
    /// A `Lock` by itself too: for D after a restart nobody acquires it.
    Always,
    /// The same, and each acquire looks at a marker on the server, in the same script: one that has
    /// lost its marker votes only D later. That covers whatever loses all keys without a restart,
    /// such as FLUSHALL, and proxies that hide one. A server that never had a marker waits once too,
    /// unless it is blessed. It costs one GET in each acquire, and the rights for GET and SET of the
    /// key `palisade:marker`. All clients of the servers should be as strict.
    Strict,
    /// None: the caller's word that the server does not forget, for instance since it runs with
    /// `appendfsync always` and does not evict.
    Durable,
}

/// What is looked at before a member is asked for its vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vetting {
    /// Nothing.
    None,
    /// Whether its process has been running for long enough, or was blessed.
    Uptime,
    /// The same, and whether it still has its marker.
    Marker,
}

impl Quarantine {
    /// For a lock by itself.
    pub(crate) const fn of_single(self) -> Vetting {
        match self {
            Self::Strict => Vetting::Marker,
            Self::Always => Vetting::Uptime,
            Self::Composites | Self::Durable => Vetting::None,
        }
    }

    /// For a member of a composite.
    pub(crate) const fn of_composite(self) -> Vetting {
        match self {
            Self::Strict => Vetting::Marker,
            Self::Always | Self::Composites => Vetting::Uptime,
            Self::Durable => Vetting::None,
        }
    }
}

impl Member {
    /// The same lock as a member of a composite.
    pub(crate) fn in_composite(&self) -> Self {
        Self { vetting: self.site.settings.quarantine.of_composite(), ..self.clone() }
    }

    /// The same lock where nobody asks whether the server may have forgotten something.
    pub(crate) fn unvetted(&self) -> Self {
        Self { vetting: Vetting::None, ..self.clone() }
    }

    /// The marker of its server, if it is about the server's present run and matters here.
    ///
    /// # Errors
    /// [`ConfigError`] if our leases may be longer than those it was written for.
    pub(crate) fn blessing(&self) -> Result<Option<Marker>, ConfigError> {
        if self.vetting == Vetting::None {
            return Ok(None);
        }
        let marker = self.site.node.standing().and_then(|standing| standing.blessing());
        let max_lease = self.site.settings.max_lease;
        match marker {
            Some(marker) if marker.max_lease < max_lease => Err(ConfigError::MaxLeaseAboveFleet {
                server: self.site.node_id().to_string().into(),
                max_lease,
                blessed: marker.max_lease,
            }),
            marker => Ok(marker),
        }
    }

    /// Whether its server may be asked for a vote on this connection. Asks nobody, unless it is in
    /// quarantine: then about once a second whether it was blessed meanwhile.
    pub(crate) async fn vet(
        &self,
        connection: &Connection,
        deadline: Instant,
    ) -> Result<(), NodeError> {
        if self.vetting == Vetting::None {
            return Ok(());
        }
        let (standing, now) = (connection.standing(), self.site.now());
        let verdict = standing.may_vote(now);
        if !matches!(verdict, Err(NodeError::Quarantined { .. })) {
            return verdict;
        }
        let is_strict = self.vetting == Vetting::Marker;
        // By a strict rule the time runs from the moment at which the loss is written down.
        if standing.claim_look(now) || (is_strict && standing.waits_until().is_none()) {
            let wait = is_strict.then_some(self.site.settings.quarantine_length);
            match marker::look(connection, wait, deadline).await {
                Ok(Found::Waits { until }) => standing.note_wait(until),
                Ok(found) => standing.note(found.marker()),
                // It stays in quarantine: a marker only adds rights.
                Err(_) => {}
            }
        }
        let verdict = standing.may_vote(now);
        if is_strict { until_marker_allows(verdict, connection, now) } else { verdict }
    }

    /// Its vote as far as it is known without asking: one that does not count, or none.
    pub(crate) fn foreseen(&self) -> Vote {
        let standing = self.site.node.standing().filter(|_| self.vetting != Vetting::None);
        let refused = standing.and_then(|standing| standing.may_vote(self.site.now()).err());
        refused.map_or(Vote::Pending, Vote::Failed)
    }

    /// An acquire, behind a check of the marker if that is the rule here.
    pub(crate) fn checked(&self, statement: Statement) -> Checked {
        let check = (self.vetting == Vetting::Marker).then(|| Check {
            script: self.kind.strict_acquire(),
            wait: self.site.settings.quarantine_length,
        });
        Checked { statement, check }
    }
}

/// The later one of the times that the uptime and the marker name.
fn until_marker_allows(
    verdict: Result<(), NodeError>,
    connection: &Connection,
    now: Instant,
) -> Result<(), NodeError> {
    match (verdict, connection.standing().waits_until()) {
        (Err(NodeError::Quarantined { uptime, counts_in }), Some(until)) => {
            let left = until.saturating_sub(connection.server_time_at(now));
            let left = Duration::from_micros(u64::try_from(left).unwrap_or(0));
            Err(NodeError::Quarantined { uptime, counts_in: counts_in.max(left) })
        }
        (verdict, _) => verdict,
    }
}
