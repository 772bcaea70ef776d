//! Many nodes: the target of a composite.

use std::sync::Arc;

use crate::{
    acquire::{acquisition::Acquisition, handle::Target, servers, single::check_name, tally::Rule},
    clock::Instant,
    error::{AcquireError, ConfigError},
    lease::{Lease, Term},
    process::Process,
    random::Random,
    voting::Member,
    wait::Queues,
};

/// A lock over several nodes.
#[derive(Debug, Clone)]
pub(crate) struct Fanout {
    pub(crate) rule: Rule,
    pub(crate) members: Arc<[Member]>,
    identity: Arc<str>,
}

impl Fanout {
    pub(crate) fn new(rule: Rule, members: Arc<[Member]>) -> Result<Self, ConfigError> {
        if members.is_empty() {
            return Err(ConfigError::NoMembers);
        }
        // First: addresses that a caller makes up tell servers apart inside one process only.
        check_clocks(&members)?;
        servers::check_addresses(rule, &members)?;
        let identity = identity(rule, &members);
        Ok(Self { rule, members, identity })
    }

    /// The same, where nobody asks whether a server may have forgotten something.
    pub(crate) fn unvetted(mut self) -> Self {
        self.members = self.members.iter().map(Member::unvetted).collect();
        self
    }

    /// The name of the first member.
    pub(crate) fn name(&self) -> &str {
        self.first().kind.name()
    }

    pub(crate) fn now(&self) -> Instant {
        self.first().services.process.clock.now()
    }

    pub(crate) fn random(&self) -> &Random {
        &self.first().services.process.random
    }

    fn first(&self) -> &Member {
        self.members.first().expect("invariant: a fanout has members")
    }
}

/// Deadlines of members can be compared on one clock only.
fn check_clocks(members: &[Member]) -> Result<(), ConfigError> {
    let mut processes = members.iter().map(|member| &member.services.process);
    let first = processes.next();
    if processes.all(|process| first.is_some_and(|first| Arc::ptr_eq(first, process))) {
        return Ok(());
    }
    let reason = "the clients of a composite must share one clock".into();
    Err(ConfigError::InvalidSetting { setting: "members", reason })
}

/// Who waits for the same servers and names, in whatever order they were given, waits in one queue.
fn identity(rule: Rule, members: &[Member]) -> Arc<str> {
    let mut parts: Vec<(&str, &str)> = members
        .iter()
        .map(|member| (member.services.node_id().as_str(), &**member.kind.name()))
        .collect();
    parts.sort_unstable();
    let mut identity = String::from(rule.name());
    for (node, name) in parts {
        // With its length, since a name may hold anything, the next member's separator too.
        for part in [node, name] {
            identity.push_str(&part.len().to_string());
            identity.push(' ');
            identity.push_str(part);
        }
    }
    identity.into()
}

impl Target for Fanout {
    type Contender = Acquisition;

    fn check(&self, lease: Lease) -> Result<Term, AcquireError> {
        let mut strictest = None;
        for member in self.members.iter() {
            check_name(member)?;
            let settings = &member.services.settings;
            let term = lease.term(settings.watchdog_lease, settings.max_lease)?;
            // Members whose clients have different watchdog leases: the shortest serves all.
            let shorter = |least: Term| if term.ms() < least.ms() { term } else { least };
            strictest = Some(strictest.map_or(term, shorter));
        }
        strictest.ok_or_else(|| ConfigError::NoMembers.into())
    }

    fn contender(&self, term: Term) -> Acquisition {
        Acquisition::new(self.clone(), term)
    }

    fn process(&self) -> &Arc<Process> {
        &self.first().services.process
    }

    fn queues(&self) -> &Arc<Queues> {
        &self.process().queues
    }

    fn queue_key(&self) -> &Arc<str> {
        &self.identity
    }

    fn identity(&self) -> Arc<str> {
        self.identity.clone()
    }
}
