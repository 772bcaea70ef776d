//! The settings of one place, and what comes first where several say something.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use crate::args::{AfterFailover, ReleasesTold, VotesOfUnknown, WhichWait};

/// A value, and where it was said.
#[derive(Debug, Clone)]
pub(crate) struct Set<T> {
    pub(crate) value: T,
    pub(crate) by: Origin,
}

/// Where something was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Flag,
    Variable(&'static str),
    File(Place),
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: Arc<Path>,
    pub(crate) line: usize,
    /// The profile that it stands in.
    pub(crate) profile: Option<Arc<str>>,
}

impl Place {
    /// Whether both stand in one table.
    fn is_beside(&self, other: &Self) -> bool {
        (&self.file, &self.profile) == (&other.file, &other.profile)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// What one place says of the servers, or all places together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Said {
    pub(crate) servers: Option<Set<Vec<String>>>,
    pub(crate) password_file: Option<Set<PathBuf>>,
    pub(crate) max_lease: Option<Set<Duration>>,
    pub(crate) fleet_max_lease: Option<Set<Duration>>,
    pub(crate) namespace: Option<Set<String>>,
    pub(crate) replicas: Option<Set<u32>>,
    pub(crate) failover_lag: Option<Set<Duration>>,
    pub(crate) tracking: Option<Set<bool>>,
    pub(crate) sharded_pubsub: Option<Set<ReleasesTold>>,
    pub(crate) quarantine: Option<Set<WhichWait>>,
    pub(crate) failover: Option<Set<AfterFailover>>,
    pub(crate) unidentified: Option<Set<VotesOfUnknown>>,
    pub(crate) clock_skew: Option<Set<Duration>>,
    pub(crate) tls_ca: Option<Set<PathBuf>>,
    pub(crate) tls_cert: Option<Set<PathBuf>>,
    pub(crate) tls_key: Option<Set<PathBuf>>,
    pub(crate) tls_server_name: Option<Set<String>>,
}

impl Said {
    /// This, and what `below` says where this says nothing.
    pub(super) fn over(self, below: Self) -> Self {
        Self {
            servers: self.servers.or(below.servers),
            password_file: self.password_file.or(below.password_file),
            max_lease: self.max_lease.or(below.max_lease),
            fleet_max_lease: self.fleet_max_lease.or(below.fleet_max_lease),
            namespace: self.namespace.or(below.namespace),
            replicas: self.replicas.or(below.replicas),
            failover_lag: self.failover_lag.or(below.failover_lag),
            tracking: self.tracking.or(below.tracking),
            sharded_pubsub: self.sharded_pubsub.or(below.sharded_pubsub),
            quarantine: self.quarantine.or(below.quarantine),
            failover: self.failover.or(below.failover),
            unidentified: self.unidentified.or(below.unidentified),
            clock_skew: self.clock_skew.or(below.clock_skew),
            tls_ca: self.tls_ca.or(below.tls_ca),
            tls_cert: self.tls_cert.or(below.tls_cert),
            tls_key: self.tls_key.or(below.tls_key),
            tls_server_name: self.tls_server_name.or(below.tls_server_name),
        }
    }
}

impl Said {
    /// Forgets a password that a file says for other servers than these: for those that are named beside it, and not
    /// for those of another file, which another may have written, nor of another profile.
    pub(super) fn keep_passwords_for_their_servers(&mut self) {
        let Some(servers) = &self.servers else { return };
        self.password_file.take_if(|set| match (&set.by, &servers.by) {
            (Origin::File(password), Origin::File(servers)) => !password.is_beside(servers),
            (Origin::File(_), _) => true,
            _ => false,
        });
    }
}

/// The value alone.
pub(crate) fn value<T: Clone>(set: &Option<Set<T>>) -> Option<T> {
    set.as_ref().map(|set| set.value.clone())
}
