//! A release that is still under way when its owner comes again.

use std::time::Duration;

use palisade::{Masters, Owner, embedded::Server};

use super::holder_on;
use crate::fleet::Rule;

/// The drop queues a release(0); the acquire that follows is sent before it. Were both said for one
/// holder id, the acquire would be granted as a re-entry and the release would then delete its key.
#[tokio::test(start_paused = true)]
async fn release_queued_by_a_drop_does_not_free_the_next_hold_of_the_same_owner() {
    let server = Server::start_here();
    let lock = server.client().unwrap().lock("x");
    let (owner, stranger) = (Owner::new(), server.client().unwrap().lock("x"));
    for _ in 0..10 {
        drop(lock.acquire_as(&owner).await.unwrap());
        let guard = lock.acquire_as(&owner).await.unwrap();
        // Both have long been executed by then, whatever their order.
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(holder_on(&server, "x").await.as_deref(), Some(guard.holder_id()));
        assert!(stranger.try_acquire().await.unwrap().is_none());
        guard.ensure_valid().unwrap();
        guard.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn release_queued_by_a_drop_does_not_free_the_next_composite_of_the_same_process() {
    let servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
    let masters = Masters::new(servers.iter().map(|server| server.client().unwrap())).unwrap();
    for rule in Rule::BOTH {
        let lock = rule.lock(&masters, "x");
        for _ in 0..10 {
            drop(lock.acquire().await.unwrap());
            let guard = lock.acquire().await.unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
            for server in &servers {
                let holder = holder_on(server, "x").await;
                assert_eq!(holder.as_deref(), Some(guard.holder_id()), "{rule:?}");
            }
            guard.ensure_valid().unwrap();
            guard.release().await.unwrap();
        }
    }
}
