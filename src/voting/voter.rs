//! One lock on one node, whose vote may be asked for: unless its server may have forgotten what it
//! granted.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    by_member::ByMember,
    clock::Instant,
    error::{Ballot, ConfigError, LockName, NodeError, Text, Vote},
    kind::Kind,
    process::NodeServices,
    standing::{Quarantine, Vetting},
};

/// The members of a lock: one, or those of a composite.
pub(crate) type Members = Arc<ByMember<Voter>>;

/// What the lock over `members` is called: by the first of its names, and how many others it has.
/// The same name on many servers is one.
pub(crate) fn lock_name(members: &ByMember<Voter>) -> LockName {
    members.first().shown_name().and_more(more_names(members) as usize)
}

/// How many names there are beside the first.
pub(crate) fn more_names(members: &ByMember<Voter>) -> u32 {
    if members.is_one() {
        return 0;
    }
    let names: BTreeSet<_> = members.values().map(Voter::name).collect();
    u32::try_from(names.len().saturating_sub(1)).unwrap_or(u32::MAX)
}

/// The vote of each member.
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

    /// What its users call it: the key without the namespace.
    pub(crate) fn name(&self) -> &str {
        self.services.name_of(self.kind.name())
    }

    pub(crate) fn shown_name(&self) -> LockName {
        self.services.shown_name_of(self.kind.name())
    }

    /// Server and name, to show.
    pub(crate) fn shown_identity(&self) -> Text {
        format!("{} {:?}", self.services.node_id(), self.shown_name().as_str()).into()
    }

    /// Checks the name, and the key that follows from it.
    pub(crate) fn check_name(&self) -> Result<(), ConfigError> {
        let name = self.kind.name();
        self.services.check_name_of(name)?;
        self.kind.shares_keys().map_or(Ok(()), |sort| self.services.check_apart(sort, name))
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

    /// The same lock as a member of a composite that is no safer than it is by itself.
    pub(crate) fn as_if_alone(&self) -> Self {
        Self { vetting: self.services.settings.quarantine.of_single(), ..self.clone() }
    }

    /// The same lock without the question whether the server may have forgotten something.
    pub(crate) fn unvetted(&self) -> Self {
        Self { vetting: Vetting::None, ..self.clone() }
    }

    /// Whether a hold there outlives a failover: a replica that is promoted grants nothing until it
    /// would have ended.
    pub(crate) fn outlives_failovers(&self) -> bool {
        self.services.settings.waits_after_failover && self.vetting != Vetting::None
    }

    /// Until when what its server has promised until `deadline` stands, though another process has taken
    /// its place: for as long as that one grants nothing. `None` if it may have by `now`.
    pub(crate) fn outlives_restarts(&self, deadline: Instant, now: Instant) -> Option<Instant> {
        if self.outlives_failovers() || self.never_forgets() {
            return Some(deadline);
        }
        if self.vetting == Vetting::None {
            return None;
        }
        let closed_until = self.services.node.standing()?.closed_until(now)?;
        Some(deadline.min(closed_until))
    }

    /// By the caller's word.
    pub(crate) fn never_forgets(&self) -> bool {
        self.services.settings.quarantine == Quarantine::Durable
    }

    /// Why its vote does not count now, as far as that was told when the connection was made.
    pub(crate) fn quarantined(&self) -> Option<NodeError> {
        let connection = self.services.node.connected(self.kind.name())?;
        let is_vetted = self.vetting != Vetting::None;
        is_vetted.then(|| connection.standing().may_vote(self.services.now()).err())?
    }

    /// Its vote as far as it is known without asking: one that does not count, or none.
    pub(crate) fn foreseen(&self) -> Vote {
        let standing = self.services.node.standing().filter(|_| self.vetting != Vetting::None);
        let refused = standing.and_then(|standing| standing.may_vote(self.services.now()).err());
        refused.map_or(Vote::Pending, Vote::Failed)
    }
}
