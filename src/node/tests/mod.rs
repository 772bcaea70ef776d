//! Nodes against real servers.

mod calls;
mod causes;
mod gate;
mod outages;
mod outbox;
mod runtimes;

use super::{
    Connection, Node,
    test_server::{later, until, within},
};
use crate::error::NodeError;

async fn connect(node: &Node) -> Connection {
    within(node.connection(later())).await.unwrap()
}

async fn fails(node: &Node) -> NodeError {
    within(until(async || node.connection(later()).await.err())).await
}

async fn recovers(node: &Node) -> Connection {
    within(until(async || node.connection(later()).await.ok())).await
}
