//! Sentinels number the configurations of a master; numbers may start again, and any sentinel may tell
//! one.

use palisade::{Client, settings::Sentinels as Watched};
use testkit::{RedisServer, Sentinels};

use super::sentinel::{Replicated, is_quarantined};
use crate::support::{Look, eventually, soon};

#[tokio::test]
async fn hold_outlives_sentinels_that_are_set_up_anew() {
    let redis = Replicated::start().await;
    let (client, other) = (redis.client().await, redis.client().await);
    let guard = soon(client.lock("x").acquire()).await.unwrap();
    redis.sentinels.fail_over();
    let before = guard.deadline();
    eventually(|| redis.replica.exists("x") && guard.deadline() > before).await;
    redis.sentinels.watch_anew(redis.replica.addr());
    for _ in 0..2 {
        redis.replica.cli(&["CLIENT", "KILL", "TYPE", "normal"]);
        let before = guard.deadline();
        eventually(|| guard.deadline() > before).await;
    }
    guard.ensure_valid().unwrap();
    let refused = loop {
        match soon(other.lock("y").try_acquire()).await {
            Err(refused) if is_quarantined(&refused) => break refused,
            Err(_) => {}
            Ok(granted) => panic!("{granted:?}"),
        }
    };
    assert!(refused.to_string().contains("may have forgotten"), "{refused}");
    guard.release().await.unwrap();
}

#[tokio::test]
async fn word_of_a_sentinel_of_another_master_does_not_count_beside_theirs() {
    let redis = Replicated::start().await;
    let (other, replica) = (RedisServer::start(), RedisServer::start());
    replica.follow(&other);
    let stray = Sentinels::over(other.addr(), 1, 1);
    stray.fail_over();
    let hosts: Vec<_> = redis.sentinels.hosts().into_iter().chain(stray.hosts()).collect();
    let settings = redis.settings().sentinels(Watched::new(hosts, Sentinels::SERVICE));
    let client: Client = soon(settings.connect()).await.unwrap();
    let guard = soon(client.lock("x").acquire()).await.unwrap();
    assert!(redis.master.exists("x") && replica.keys().is_empty());
    guard.release().await.unwrap();
}
