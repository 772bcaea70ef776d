//! How one node is talked to.

use std::{sync::Arc, time::Duration};

use super::{sharding::Sharding, spin::Spin};
use crate::{
    clock::SharedClock, metering::SharedMeters, random::SharedRandom, standing::VotingRules,
    wire::Script,
};

/// What replicas are to have before it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Replicated {
    /// How many of them.
    pub(crate) by: u32,
    /// How long that may take.
    pub(crate) within: Duration,
    /// On which something is published that they hear of. The channel has no listener.
    pub(crate) channel: Arc<str>,
    /// What the keys begin with that are written in its place in a cluster.
    pub(crate) keys: Arc<str>,
}

/// How one node is talked to.
#[derive(Debug, Clone)]
pub(crate) struct NodeSettings {
    pub(crate) clock: SharedClock,
    pub(crate) random: SharedRandom,
    /// For CLIENT SETNAME; may be empty.
    pub(crate) client_name: Arc<str>,
    /// Limits a connect with its handshake.
    pub(crate) connect_timeout: Duration,
    /// How long a server may say nothing after a call timed out there.
    pub(crate) node_timeout: Duration,
    /// Where nothing was heard for so long, a call may meet a socket whose other end is gone.
    pub(crate) quiet_after: Duration,
    /// So many time-outs in a row, and the connection is replaced.
    pub(crate) frozen_after: u32,
    /// The longest pause between two attempts to connect.
    pub(crate) backoff_max: Duration,
    /// By how much two samples of the server's clock may differ before it counts as set.
    pub(crate) margin: Duration,
    /// By which rules the server's votes count.
    pub(crate) rules: VotingRules,
    /// How releases are published there.
    pub(crate) sharding: Sharding,
    /// What replicas are to have, if it is to be on some.
    pub(crate) replicated: Option<Replicated>,
    /// The key of the mark that this client goes by. In a cluster what stands before the names of its
    /// masters' runs.
    pub(crate) marker: Arc<str>,
    /// Whether callers look for their answers before their threads sleep.
    pub(crate) spin: Spin,
    /// What is measured of its servers.
    pub(crate) meters: SharedMeters,
    /// Whichever of them a server lacks are loaded on every connect.
    pub(crate) scripts: Vec<&'static Script>,
}
