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

mod backoff;
mod batches;
mod caller;
mod cause;
mod chosen;
mod cluster;
mod cluster_look;
mod codec;
mod commands;
mod connection;
mod covered;
mod credentials;
mod deadline;
mod deployment;
mod directory;
mod driver;
mod driver_task;
mod endpoint;
mod exchange;
mod flight;
mod gauge;
mod gauged;
mod group;
mod handshake;
mod host;
mod info;
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
mod places;
mod plain;
mod pubsub;
mod redirect;
mod replicas;
mod request;
mod rules;
mod runs;
mod sentinels_word;
mod server_clock;
mod settings;
mod sharding;
mod silence;
mod slot_map;
mod spin;
mod spin_choice;
mod spinner;
mod stream;
mod survey;
mod suspicion;
mod tcp;
#[cfg(test)]
pub(crate) mod test_server;
#[cfg(test)]
pub(crate) mod test_settings;
#[cfg(test)]
mod tests;
mod theirs;
#[cfg(feature = "tls")]
mod tls;
mod url;

#[cfg(feature = "embedded")]
pub(crate) use self::endpoint::Lead;
pub(crate) use self::node_core::Resident;
#[cfg(feature = "tls")]
pub use self::tls::Tls;
pub(crate) use self::{
    batches::{BatchAnswer, BatchItem},
    caller::{Acquirer, Awaited, Patience, Turn},
    connection::{Answer, Asked, Connection},
    credentials::Fetch,
    deployment::Node,
    directory::{AddressMap, Directory, Place},
    endpoint::{Endpoint, Identity},
    next_socket::NextSocket,
    places::Places,
    pubsub::{PubSub, PubSubEvent, SubscriptionChange},
    replicas::Lookout,
    settings::{NodeSettings, Replicated},
    sharding::Sharding,
};
pub use self::{credentials::Credentials, spin_choice::Spin, stream::Stream};
