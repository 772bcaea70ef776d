//! Many nodes: the target of a composite.

use std::sync::Arc;

use super::{Inspection, campaign::Campaign, servers, tally::Rule};
use crate::{
    clock::Instant,
    error::{AcquireError, ConfigError},
    lease::{Lease, Term},
    lock::{FencedLock, Lock, Member, handle::Target, process::Process, single::check_name},
    random::Random,
    wait::Queues,
};

/// A lock over several nodes.
#[derive(Debug, Clone)]
pub(crate) struct Fanout {
    pub(crate) rule: Rule,
    pub(crate) members: Arc<[Member]>,
    /// The same locks for those who only look.
    locks: Arc<[Lock]>,
    identity: Arc<str>,
}

impl Fanout {
    pub(crate) fn new<P: Part>(
        rule: Rule,
        parts: impl IntoIterator<Item = P>,
    ) -> Result<Self, ConfigError> {
        let parts: Vec<P> = parts.into_iter().collect();
        if let Some(own) = parts.iter().find(|part| part.has_own_lease()) {
            return Err(ConfigError::MemberLease { member: own.member().identity() });
        }
        let members: Arc<[Member]> = parts.iter().map(Part::member).collect();
        let locks: Arc<[Lock]> = parts.iter().map(|part| part.plain().clone()).collect();
        if members.is_empty() {
            return Err(ConfigError::NoMembers);
        }
        // First: addresses that a caller makes up tell servers apart inside one process only.
        check_clocks(&members)?;
        servers::check_addresses(rule, &members)?;
        let identity = identity(rule, &members);
        Ok(Self { rule, members, locks, identity })
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

    pub(crate) async fn inspect(&self) -> Inspection {
        Inspection::of(&self.locks).await
    }

    pub(crate) fn now(&self) -> Instant {
        self.first().site.process.clock.now()
    }

    pub(crate) fn random(&self) -> &Random {
        &self.first().site.process.random
    }

    fn first(&self) -> &Member {
        self.members.first().expect("invariant: a fanout has members")
    }
}

/// What a composite is made of: locks that can also be used by themselves.
pub(crate) trait Part {
    /// Whether it was given a lease of its own.
    fn has_own_lease(&self) -> bool;

    /// How it takes part in a composite.
    fn member(&self) -> Member;

    /// The same lock, to look at.
    fn plain(&self) -> &Lock;
}

impl Part for Lock {
    fn has_own_lease(&self) -> bool {
        self.has_own_lease()
    }

    fn member(&self) -> Member {
        self.member().in_composite()
    }

    fn plain(&self) -> &Lock {
        self
    }
}

impl Part for FencedLock {
    fn has_own_lease(&self) -> bool {
        self.has_own_lease()
    }

    fn member(&self) -> Member {
        self.as_member()
    }

    fn plain(&self) -> &Lock {
        self.plain()
    }
}

/// Deadlines of members can be compared on one clock only.
fn check_clocks(members: &[Member]) -> Result<(), ConfigError> {
    let mut processes = members.iter().map(|member| &member.site.process);
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
        .map(|member| (member.site.node_id().as_str(), &**member.kind.name()))
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
    type Contender = Campaign;

    fn check(&self, lease: Lease) -> Result<Term, AcquireError> {
        let mut strictest = None;
        for member in self.members.iter() {
            check_name(member)?;
            let settings = &member.site.settings;
            let term = lease.term(settings.watchdog_lease, settings.max_lease)?;
            // Members whose clients have different watchdog leases: the shortest serves all.
            let shorter = |least: Term| if term.ms() < least.ms() { term } else { least };
            strictest = Some(strictest.map_or(term, shorter));
        }
        strictest.ok_or_else(|| ConfigError::NoMembers.into())
    }

    fn contender(&self, term: Term) -> Campaign {
        Campaign::new(self.clone(), term)
    }

    fn process(&self) -> &Arc<Process> {
        &self.first().site.process
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

/// The methods that composites share besides those of all locks.
macro_rules! composite_methods {
    ($Lock:ident) => {
        impl $Lock {
            /// The name of the first member.
            #[must_use]
            pub fn name(&self) -> &str {
                self.handle.target.name()
            }

            /// What each server says of the lock.
            pub async fn inspect(&self) -> $crate::Inspection {
                self.handle.target.inspect().await
            }
        }
    };
}
pub(super) use composite_methods;
