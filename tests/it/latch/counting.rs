//! Setting, counting, deleting.

use futures::future::join_all;
use palisade::CountDownLatch;
use testkit::RedisServer;

use super::only;
use crate::support::{Look, client, soon};

async fn counts(latch: &CountDownLatch) -> u64 {
    soon(latch.count()).await.unwrap()
}

#[tokio::test]
async fn latch_is_set_counted_down_and_set_anew() {
    let server = RedisServer::start();
    let latch = client(&server).await.count_down_latch("x");
    assert_eq!((latch.name(), counts(&latch).await), ("x", 0));
    for _ in 0..2 {
        assert!(soon(latch.try_set_count(2)).await.unwrap());
        assert!(!soon(latch.try_set_count(5)).await.unwrap(), "it is set");
        assert_eq!(counts(&latch).await, 2);
        for left in [1, 0] {
            assert!(soon(latch.count_down()).await.unwrap());
            assert_eq!(counts(&latch).await, left);
        }
        assert!(!soon(latch.count_down()).await.unwrap(), "it is at zero");
    }
    only(&server, &[]).await;
}

#[tokio::test]
async fn latch_that_is_deleted_is_at_zero() {
    let server = RedisServer::start();
    let latch = client(&server).await.count_down_latch("x");
    assert!(!soon(latch.delete()).await.unwrap());
    latch.try_set_count(2).await.unwrap();
    assert!(soon(latch.delete()).await.unwrap());
    assert_eq!(counts(&latch).await, 0);
    only(&server, &[]).await;
}

#[tokio::test]
async fn held_latch_is_a_number_without_a_ttl() {
    let server = RedisServer::start();
    let latch = client(&server).await.count_down_latch("x");
    latch.try_set_count(9_007_199_254_740_991).await.unwrap();
    assert_eq!(server.cli(&["GET", "x"]), "9007199254740991");
    assert_eq!(server.pttl("x"), -1);
    assert!(latch.count_down().await.unwrap());
    assert_eq!(server.cli(&["GET", "x"]), "9007199254740990");
    assert_eq!(counts(&latch).await, 9_007_199_254_740_990);
    only(&server, &["x"]).await;
}

#[tokio::test]
async fn each_of_many_counts_at_once_is_one() {
    let server = RedisServer::start();
    let clients = [client(&server).await, client(&server).await];
    let latch = clients[0].count_down_latch("x");
    latch.try_set_count(501).await.unwrap();
    let counting = (0..500).map(|i| {
        let latch = clients[i % 2].count_down_latch("x");
        tokio::spawn(async move { latch.count_down().await })
    });
    for counted in soon(join_all(counting)).await {
        assert!(counted.unwrap().unwrap());
    }
    assert_eq!(counts(&latch).await, 1);
    only(&server, &["x"]).await;
}

#[tokio::test]
async fn latches_of_other_namespaces_are_others() {
    let server = RedisServer::start();
    let plain = client(&server).await.count_down_latch("x");
    let settings = crate::support::patient(&server).namespace("shop:");
    let shop = settings.connect().await.unwrap().count_down_latch("x");
    shop.try_set_count(3).await.unwrap();
    assert_eq!((shop.name(), counts(&plain).await), ("x", 0));
    only(&server, &["shop:x"]).await;
    assert!(soon(shop.delete()).await.unwrap());
    assert!(server.exists("{shop:x}:palisade_zero"));
}
