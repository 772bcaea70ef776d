//! One lock on one node, whose vote may be asked for: unless its server may have forgotten what it
//! granted.

use std::{sync::Arc, time::Duration};

use super::marker::{
    self, Found,
    strict::{Check, Checked},
};
use crate::{
    by_member::ByMember,
    clock::Instant,
    error::{Ballot, NodeError, Vote},
    kind::Kind,
    node::Connection,
    process::NodeServices,
    standing::Vetting,
    wire::Statement,
};

/// The members of a lock: one, or those of a composite.
pub(crate) type Members = Arc<ByMember<Voter>>;

/// Who voted how.
pub(crate) fn ballot(members: &Members, votes: ByMember<Vote>) -> Ballot {
    let nodes = members.values().map(|member| member.services.node_id().clone());
    Ballot::new(nodes.zip(votes.into_values()).collect())
}

/// One lock on one node: a lock by itself, or a member of a composite.
#[derive(Debug, Clone)]
pub(crate) struct Voter {
    pub(crate) services: Arc<NodeServices>,
    pub(crate) kind: Arc<dyn Kind>,
    /// What is looked at before its server is asked for a vote.
    pub(crate) vetting: Vetting,
}

impl Voter {
    /// A lock by itself.
    pub(crate) fn new(services: Arc<NodeServices>, kind: Arc<dyn Kind>) -> Self {
        let vetting = services.settings.quarantine.of_single();
        Self { services, kind, vetting }
    }

    /// Server, name and mode: the same for locks of which each is a re-entry of the other.
    pub(crate) fn identity(&self) -> Arc<str> {
        // Quoted and escaped, a name cannot be mistaken for another or for several.
        let (node, name, mode) = (self.services.node_id(), self.kind.name(), self.kind.mode());
        if mode.is_empty() { format!("{node} {name:?}") } else { format!("{node} {name:?} {mode}") }
            .into()
    }
}

impl Voter {
    /// The same lock as a member of a composite.
    pub(crate) fn in_composite(&self) -> Self {
        Self { vetting: self.services.settings.quarantine.of_composite(), ..self.clone() }
    }

    /// The same lock where nobody asks whether the server may have forgotten something.
    pub(crate) fn unvetted(&self) -> Self {
        Self { vetting: Vetting::None, ..self.clone() }
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
        let (standing, now) = (connection.standing(), self.services.now());
        let verdict = standing.may_vote(now);
        if !matches!(verdict, Err(NodeError::Quarantined { .. })) {
            return verdict;
        }
        let is_strict = self.vetting == Vetting::Marker;
        // By a strict rule the time runs from the moment at which the loss is written down.
        if standing.claim_look(now) || (is_strict && standing.waits_until().is_none()) {
            let wait = is_strict.then_some(self.services.settings.quarantine_length);
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
        let standing = self.services.node.standing().filter(|_| self.vetting != Vetting::None);
        let refused = standing.and_then(|standing| standing.may_vote(self.services.now()).err());
        refused.map_or(Vote::Pending, Vote::Failed)
    }

    /// An acquire, behind a check of the marker if that is the rule here.
    pub(crate) fn checked(&self, statement: Statement) -> Checked {
        let check = (self.vetting == Vetting::Marker)
            .then(|| Check { wait: self.services.settings.quarantine_length });
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
