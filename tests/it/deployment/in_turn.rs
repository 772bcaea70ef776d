//! An address at which one server answers after another: one takes the other's place, or something hands
//! connections out to all of them.

use palisade::{AcquireError, Client, LostCause, error::NodeError};
use testkit::{FaultProxy, RedisServer};

use crate::support::{causes, eventually, patient, soon, watchdog};

fn is_in_turn(error: &NodeError) -> bool {
    matches!(error, NodeError::Unsupported { what, .. } if what.contains("load balancer"))
}

/// The first error that names it. Renewals have a socket of their own, which leads to the next server.
async fn refusal(settings: palisade::ClientBuilder) -> NodeError {
    let client = settings.connect().await.unwrap();
    let lock = client.lock("x").with_lease(watchdog(6_000));
    let _held = lock.acquire().await.unwrap();
    loop {
        let Err(error) = lock.try_acquire().await else { continue };
        if let Some(cause) = causes(&error).into_iter().find(|cause| is_in_turn(cause)) {
            return cause.clone();
        }
    }
}

#[tokio::test]
async fn masters_behind_a_load_balancer_are_refused() {
    let servers = [RedisServer::start(), RedisServer::start()];
    let balancer = FaultProxy::in_turn_before(&[&servers[0], &servers[1]]);
    let refused = soon(refusal(patient(&servers[0]).url(&balancer.url()))).await;
    assert!(!refused.is_transient(), "{refused:?}");
}

/// Sockets of `client` to a server.
fn sockets(server: &RedisServer, client: &str) -> usize {
    let list = server.cli(&["CLIENT", "LIST"]);
    list.lines().filter(|line| line.contains(&format!(":{client} "))).count()
}

#[tokio::test]
async fn sockets_to_the_server_of_before_are_closed_once_another_answers() {
    let (before, after) = (RedisServer::start(), RedisServer::start());
    let address = FaultProxy::before(&before);
    let settings = patient(&before).url(&address.url()).name("ours").tracking(false);
    let client = soon(settings.connect()).await.unwrap();
    let (held, waited) = (client.lock("held").with_lease(watchdog(6_000)), client.lock("waited"));
    let guard = soon(held.acquire()).await.unwrap();
    let others = soon(Client::connect(&before.url())).await.unwrap();
    let kept = soon(others.lock("waited").acquire()).await.unwrap();
    let waiter = tokio::spawn(async move { waited.acquire().await });
    eventually(|| before.cli(&["PUBSUB", "CHANNELS"]).contains("waited")).await;
    assert!(sockets(&before, "ours") >= 2, "{}", before.cli(&["CLIENT", "LIST"]));
    address.lead_to(&after);
    // The one for commands, or the watchdog's: the first that is made again finds the other server.
    let list = before.cli(&["CLIENT", "LIST"]);
    let ours = list.lines().find(|line| line.contains(":ours ") && line.contains("sub=0 "));
    let id = ours.and_then(|line| line.strip_prefix("id=")?.split(' ').next()).unwrap();
    before.cli(&["CLIENT", "KILL", "ID", id]);
    eventually(|| sockets(&before, "ours") == 0).await;
    // The waiter for what is free there has it, and what was held is not.
    let won = soon(waiter).await.unwrap().unwrap();
    assert!(after.cli(&["EXISTS", "waited"]) == "1");
    assert!(matches!(soon(guard.lost()).await, LostCause::Gone | LostCause::Expired));
    won.release().await.unwrap();
    kept.release().await.unwrap();
}

/// A new address for the same server, and nothing has become of anything.
#[tokio::test]
async fn server_that_is_met_again_after_a_restart_of_another_serves() -> Result<(), AcquireError> {
    let (one, another) = (RedisServer::start(), RedisServer::start());
    let address = FaultProxy::before(&one);
    let client = soon(patient(&one).url(&address.url()).connect()).await.unwrap();
    soon(client.lock("x").acquire()).await?.release().await.unwrap();
    another.cli(&["REPLICAOF", "127.0.0.1", &one.port().to_string()]);
    eventually(|| another.cli(&["INFO", "replication"]).contains("master_link_status:up")).await;
    another.cli(&["REPLICAOF", "NO", "ONE"]);
    one.cli(&["REPLICAOF", "127.0.0.1", &another.port().to_string()]);
    eventually(|| one.cli(&["INFO", "replication"]).contains("master_link_status:up")).await;
    address.lead_to(&another);
    address.cut();
    soon(client.lock("x").acquire()).await?.release().await.unwrap();
    one.cli(&["REPLICAOF", "NO", "ONE"]);
    address.lead_to(&one);
    address.cut();
    soon(client.lock("x").acquire()).await?.release().await.unwrap();
    Ok(())
}
