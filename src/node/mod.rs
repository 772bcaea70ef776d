//! One deployment as one vote: connections that are made again, and calls with a deadline.
//!
//! # Invariants
//! - A link belongs to one runtime. Its tasks run there; when that ends they are dropped, and the
//!   link takes itself out of the list.
//! - The tasks hold the `Core`, never the `Node`: the last `Node` that drops ends them.
//!
//! # Deadlock safety
//! The list of links is locked for look-ups only. Nothing is spawned under that lock: a runtime
//! that is shutting down drops the new task at once, and that takes the lock.

mod batches;
mod chosen;
mod cluster;
mod cluster_look;
mod covered;
mod deployment;
mod host;
mod link;
mod login;
mod master;
mod next_socket;
mod node_core;
mod opening;
mod pubsub;
mod redirect;
mod replicas;
mod slot_map;
mod survey;
#[cfg(test)]
pub(crate) mod test_server;
#[cfg(test)]
mod tests;

pub(crate) use self::{
    batches::{BatchAnswer, BatchItem},
    deployment::Node,
    next_socket::NextSocket,
    node_core::Resident,
    pubsub::{PubSub, PubSubEvent, SubscriptionChange},
    replicas::Lookout,
};
