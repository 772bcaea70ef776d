//! Kinds without users: probes of what everything else takes for granted about a kind.

mod shared;

use std::sync::Arc;

use crate::{
    Client, LockGuard,
    acquire::{Handle, Target},
    embedded::Server,
    kind::Kind,
    voting::Voter,
};

/// A lock of any kind, by itself.
fn lock_of(client: &Client, kind: Arc<dyn Kind>) -> Handle<LockGuard> {
    let services = client.lock("any").voter().services.clone();
    Handle::new(Target::one(Voter::new(services, kind)))
}

/// A server in paused time, and a client.
fn server() -> (Server, Client) {
    let server = Server::start_here();
    let client = server.client().expect("a client needs no server yet");
    (server, client)
}
