//! Many keys, few locks.

use std::collections::BTreeSet;

use palisade::{AcquireError, error::ConfigError};
use testkit::RedisServer;

use crate::support::{patient, soon};

#[tokio::test]
async fn stripe_of_a_key_never_changes_from_one_version_to_the_next() {
    let client = patient(&RedisServer::start()).build().unwrap();
    let striped = client.striped_lock("s", 64).unwrap();
    // By the published test vectors of FNV-1a: cbf29ce484222325, af63dc4c8601ec8c, 85944171f73967e8.
    for (key, index) in [("", 37), ("a", 12), ("foobar", 40)] {
        assert_eq!(striped.stripe_for(key).name(), format!("s:stripe:64:{index}"), "{key}");
    }
    let few = client.striped_lock("s", 1).unwrap();
    assert_eq!(few.stripe_for([0xff, 0]).name(), "s:stripe:1:0");
    let used: BTreeSet<_> =
        (0..1_000).map(|key| striped.stripe_for(key.to_string()).name().to_owned()).collect();
    assert_eq!(used.len(), 64);
}

#[tokio::test]
async fn keys_are_locked_all_at_once_and_each_stripe_once() {
    let server = RedisServer::start();
    let client = patient(&server).connect().await.unwrap();
    let striped = client.striped_lock("s", 2).unwrap();
    let guard = soon(striped.acquire_many(["a", "b", "c", "d"])).await.unwrap();
    assert_eq!(server.keys(), ["s:stripe:2:0", "s:stripe:2:1"]);
    assert!(soon(striped.stripe_for("e").try_acquire()).await.unwrap().is_none());
    let other = client.striped_lock("s", 3).unwrap();
    let beside = soon(other.stripe_for("a").try_acquire()).await.unwrap();
    assert!(beside.is_some(), "another number of stripes excludes nobody");
    drop(beside);
    soon(guard.release()).await.unwrap();
    let one = soon(striped.acquire_many(["a", "a"])).await.unwrap();
    soon(one.release()).await.unwrap();
}

#[tokio::test]
async fn those_whose_keys_overlap_all_get_in() {
    let server = RedisServer::start();
    let client = patient(&server).connect().await.unwrap();
    let striped = client.striped_lock("s", 8).unwrap();
    let works = (0..40_u32).map(|at| {
        let striped = striped.clone();
        let keys = [at, at + 3, at * 7].map(|key| key.to_string());
        let keys = if at % 2 == 0 { keys.to_vec() } else { keys.into_iter().rev().collect() };
        async move { striped.acquire_many(keys).await.unwrap().release().await.unwrap() }
    });
    soon(futures::future::join_all(works)).await;
}

#[tokio::test]
async fn bad_numbers_names_and_no_keys_are_refused_before_anything_is_sent() {
    let server = RedisServer::start();
    let client = patient(&server).build().unwrap();
    for stripes in [0, (1 << 16) + 1, u32::MAX] {
        let error = client.striped_lock("s", stripes).unwrap_err();
        assert!(matches!(error, ConfigError::InvalidSetting { setting: "stripes", .. }), "{error}");
    }
    assert!(matches!(client.striped_lock("", 8), Err(ConfigError::EmptyName)));
    let none = soon(client.striped_lock("s", 8).unwrap().acquire_many::<&str>([])).await;
    assert!(matches!(none, Err(AcquireError::Config(ConfigError::NoMembers))), "{none:?}");
    assert_eq!(server.calls_of("hello") + server.calls_of("evalsha"), 0);
}
