//! Nodes against real servers.

mod acquires;
mod batches;
mod calls;
mod causes;
mod gate;
mod outages;
mod outbox;
mod plain;
mod runtimes;
mod watching;

use super::deployment::Node;
use crate::{
    error::NodeError,
    reach::test_settings::{later, until, within},
    socket::Connection,
};

/// One master is the right one for every key.
const KEY: &str = "any";

async fn connect(node: &Node) -> Connection {
    within(node.connection(KEY, later())).await.unwrap()
}

async fn fails(node: &Node) -> NodeError {
    within(until(async || node.connection(KEY, later()).await.err())).await
}

async fn recovers(node: &Node) -> Connection {
    within(until(async || node.connection(KEY, later()).await.ok())).await
}
