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
mod caller;
mod chosen;
mod cluster;
mod cluster_look;
mod commands;
mod connection;
mod covered;
mod deployment;
mod driver;
mod driver_task;
mod flight;
mod group;
mod host;
mod integers;
mod landing;
mod lanes;
mod link;
mod login;
mod master;
mod next_socket;
mod node_core;
mod opening;
mod order;
mod outbox;
mod packing;
mod plain;
mod pubsub;
mod redirect;
mod replicas;
mod request;
mod rules;
mod silence;
mod slot_map;
mod spin;
mod spinner;
mod survey;
mod suspicion;
#[cfg(test)]
pub(crate) mod test_server;
#[cfg(test)]
mod tests;

pub(crate) use self::{
    batches::{BatchAnswer, BatchItem},
    caller::{Acquirer, Awaited, Patience, Turn},
    connection::{Answer, Asked, Connection},
    deployment::Node,
    next_socket::NextSocket,
    node_core::Resident,
    pubsub::{PubSub, PubSubEvent, SubscriptionChange},
    replicas::Lookout,
};
