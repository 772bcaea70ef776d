//! What is to be acquired: one lock on one node, or several by a rule.

use std::sync::Arc;

use super::{servers, tally::Rule};
use crate::{
    by_member::ByMember,
    claim::Claim,
    clock::Instant,
    error::{AcquireError, ConfigError, LockName, NodeError, Phase, Vote},
    guard::lines,
    lease::{Lease, Term},
    process::Process,
    random::Random,
    voting::{Members, Voter, ballot, lock_name},
    wait::Lines,
};

/// Members, and how many of them are enough.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) rule: Rule,
    pub(crate) members: Members,
    /// The same for handles that exclude each other, in whatever order their members were given.
    /// `None` for a lock by itself, which is its member.
    composite: Option<Arc<str>>,
}

impl Target {
    /// A lock by itself: a majority of one.
    pub(crate) fn one(member: Voter) -> Self {
        let members = Arc::new(ByMember::one(member));
        Self { rule: Rule::Majority, members, composite: None }
    }

    /// A lock over several nodes, or several locks on one.
    ///
    /// # Errors
    /// [`ConfigError`] for what can be known before anything is sent.
    pub(crate) fn of_several(
        rule: Rule,
        members: impl IntoIterator<Item = Voter>,
    ) -> Result<Self, ConfigError> {
        let members = ByMember::new(members).ok_or(ConfigError::NoMembers)?;
        // First: addresses that a caller makes up tell servers apart inside one process only.
        check_clocks(&members)?;
        servers::check_addresses(rule, &members)?;
        let composite = Some(identity(rule, &members));
        let members =
            if is_one_server(rule, &members) { members.map(Voter::as_if_alone) } else { members };
        Ok(Self { rule, members: Arc::new(members), composite })
    }

    /// The same, without the question whether a server may have forgotten something.
    pub(crate) fn unvetted(mut self) -> Self {
        self.members = Arc::new(self.members.map(Voter::unvetted));
        self
    }

    /// Whether it keeps no other out.
    pub(crate) fn is_shared(&self) -> bool {
        self.members.values().all(|member| member.kind.is_shared())
    }

    /// The name of the first member.
    pub(crate) fn name(&self) -> &str {
        self.members.first().name()
    }

    /// What it is called where it is spoken of.
    pub(crate) fn lock_name(&self) -> LockName {
        lock_name(&self.members)
    }

    /// What is said if a caller's time was up before it came to anything: of several, nothing is known of each.
    pub(crate) fn unanswered(&self) -> AcquireError {
        let said = |member: &Voter| {
            if !self.members.is_one() {
                return Vote::Pending;
            }
            let is_connected = member.services.node.connected(member.kind.name()).is_some();
            let phase = if is_connected { Phase::Answering } else { Phase::Connecting };
            Vote::Failed(NodeError::TimedOut { phase })
        };
        let ballot = ballot(&self.members, self.members.map(said));
        AcquireError::Unavailable { lock: self.lock_name(), ballot }
    }

    /// How many members are enough.
    pub(crate) fn need(&self) -> usize {
        self.rule.need(self.members.len())
    }

    /// Checks everything that can be checked before anything is sent.
    pub(crate) fn check(&self, lease: Lease) -> Result<Term, AcquireError> {
        self.process().home.check()?;
        let mut strictest = None;
        for member in self.members.values() {
            member.check_name()?;
            member.services.check_runtime()?;
            let settings = &member.services.settings;
            let asked = lease.term(settings.watchdog_lease, settings.max_lease)?;
            let term = member.kind.term(asked)?;
            // Members whose clients have different watchdog leases: the shortest serves all.
            let shorter = |least: Term| if term.ms() < least.ms() { term } else { least };
            strictest = Some(strictest.map_or(term, shorter));
        }
        strictest.ok_or_else(|| ConfigError::NoMembers.into())
    }

    pub(crate) fn process(&self) -> &Arc<Process> {
        &self.members.first().services.process
    }

    pub(crate) fn now(&self) -> Instant {
        self.process().clock.now()
    }

    pub(crate) fn random(&self) -> &Random {
        &self.process().random
    }

    /// Where the waiters for the same wait, and by which name.
    pub(crate) fn lines(&self) -> (&Arc<Lines<Claim>>, &Arc<str>) {
        lines(&self.members, self.composite())
    }

    /// What it is called among composites, if it is one.
    pub(crate) const fn composite(&self) -> Option<&Arc<str>> {
        self.composite.as_ref()
    }

    /// The same for handles that exclude each other: servers and names.
    pub(crate) fn identity(&self) -> Arc<str> {
        self.composite.clone().unwrap_or_else(|| self.members.first().identity())
    }
}

/// Deadlines of members can be compared on one clock only.
fn check_clocks(members: &ByMember<Voter>) -> Result<(), ConfigError> {
    let first = &members.first().services.process;
    if members.values().all(|member| Arc::ptr_eq(first, &member.services.process)) {
        return Ok(());
    }
    let reason = "the clients of a composite must share one clock".into();
    Err(ConfigError::InvalidSetting { setting: "members", reason })
}

/// Whether all of them are forgotten together: then they protect nothing from a server that forgets,
/// and a lock by itself does not claim to either.
fn is_one_server(rule: Rule, members: &ByMember<Voter>) -> bool {
    let first = &members.first().services.node;
    rule == Rule::All && members.values().all(|member| member.services.node.shares_address(first))
}

fn identity(rule: Rule, members: &ByMember<Voter>) -> Arc<str> {
    let is_shared = |member: &Voter| member.kind.is_shared();
    let is_uniform = members.values().all(|member| is_shared(member) == is_shared(members.first()));
    let mut members: Vec<[&str; 3]> = members
        .values()
        .map(|member| {
            // Where some are shared and others are not, a hold of another mixture is no re-entry.
            let mode = if is_uniform || !is_shared(member) { member.kind.mode() } else { "shared" };
            [member.services.node_id().as_str(), member.kind.name(), mode]
        })
        .collect();
    members.sort_unstable();
    let parts = || members.iter().flatten();
    // Three digits and a space.
    let length = rule.name().len() + parts().map(|part| part.len() + 4).sum::<usize>();
    let mut identity = String::with_capacity(length);
    identity.push_str(rule.name());
    for part in parts() {
        // With its length, since a name may hold anything, the next member's separator too.
        identity.push_str(itoa::Buffer::new().format(part.len()));
        identity.push(' ');
        identity.push_str(part);
    }
    identity.into()
}
