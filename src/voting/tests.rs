//! Which votes count.

use std::time::Duration;

use crate::{
    Masters, Quarantine, embedded::Server, error::NodeError, process::NodeServices,
    socket::Connection, standing::Vetting,
};

async fn connection(services: &NodeServices) -> Result<Connection, NodeError> {
    services.node.connection("x", services.now() + Duration::from_secs(60)).await
}

/// A vote is asked for on one socket. What the newest handshake has told may be about another run.
#[tokio::test(start_paused = true)]
async fn vote_is_vetted_by_the_run_that_its_own_socket_leads_to() {
    let server = Server::start_here();
    // It is born blessed.
    server.restart();
    let client = server.client_builder().quarantine(Quarantine::Always).build().unwrap();
    let voter = client.lock("x").voter().clone();
    assert_eq!(voter.vetting, Vetting::Usual);
    let first = connection(&voter.services).await.unwrap();
    server.restart();
    let second = loop {
        match connection(&voter.services).await {
            Ok(connection) if connection.epoch() != first.epoch() => break connection,
            _ => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    };
    Masters::new([client.clone()]).unwrap().bless().await.unwrap();
    let limit = voter.services.now() + Duration::from_secs(60);
    // What stands there cannot be told any more.
    let refused = voter.vet(&first, limit).await;
    assert!(matches!(refused, Err(NodeError::Unreachable { .. })), "{refused:?}");
    voter.vet(&second, limit).await.unwrap();
}
