//! Names of locks behind a namespace.

use palisade::{
    AcquireError, Client, Masters, MultiLock, Owner, Quarantine, RedLock,
    error::{BlessError, ConfigError, InspectError, NodeError},
};
use testkit::{Cluster, RedisServer};

use crate::{
    fleet,
    support::{Look, channel, eventually, patient, soon},
};

const NAMESPACE: &str = "shop:locks:";

async fn inside(server: &RedisServer) -> Client {
    patient(server).namespace(NAMESPACE).connect().await.unwrap()
}

#[tokio::test]
async fn keys_channels_and_counters_are_those_of_the_prefixed_name() {
    let server = RedisServer::start();
    let client = inside(&server).await;
    let guard = client.fenced_lock("x").acquire().await.unwrap();
    assert_eq!(server.keys(), ["redisson_lock_token:{shop:locks:x}", "shop:locks:x"]);

    let lock = client.lock("x");
    let waiter = tokio::spawn(async move { lock.acquire().await });
    let channel = channel("shop:locks:x");
    let subscribers = || server.command(&["PUBSUB", "NUMSUB", &channel]).array()[1].int();
    eventually(|| subscribers() == 1).await;
    guard.release().await.unwrap();
    soon(waiter).await.unwrap().unwrap().release().await.unwrap();

    let both = [client.fenced_lock("a"), client.fenced_lock("b")];
    let guard = palisade::FencedMultiLock::new(both).unwrap().acquire().await.unwrap();
    assert_eq!(server.hash("shop:locks:a").len(), 1);
    assert!(server.exists("palisade_lock_token:{shop:locks:a}"));
    guard.release().await.unwrap();
    client.shutdown(crate::support::HANG).await.unwrap();
}

#[tokio::test]
async fn locks_are_the_same_if_their_keys_are() {
    let server = RedisServer::start();
    let client = inside(&server).await;
    let plain = patient(&server).connect().await.unwrap();
    let owner = Owner::new();
    let guard = client.lock("x").acquire_as(&owner).await.unwrap();
    assert!(plain.lock("x").try_acquire().await.unwrap().is_some(), "another key");
    assert!(plain.lock("shop:locks:x").try_acquire().await.unwrap().is_none());
    let again = plain.lock("shop:locks:x").try_acquire_as(&owner).await.unwrap();
    assert!(again.is_some(), "a re-entry");
    drop(again);
    let twice = MultiLock::new([client.lock("x"), plain.lock("shop:locks:x")]).unwrap_err();
    assert!(matches!(twice, ConfigError::DuplicateMember { .. }), "{twice:?}");
    MultiLock::new([client.lock("x"), plain.lock("x")]).unwrap();
    assert!(client.lock("x").is_locked().await.unwrap());
    guard.release().await.unwrap();
}

/// Users know their locks by the names they gave them.
#[tokio::test]
async fn names_are_said_without_their_namespace() {
    let server = RedisServer::start();
    let client = inside(&server).await;
    let lock = client.lock("x");
    let guard = lock.acquire().await.unwrap();
    let fenced = client.fenced_lock("y");
    let both = MultiLock::new([client.lock("a"), client.lock("b")]).unwrap();
    for name in [lock.name(), guard.name()] {
        assert_eq!(name, "x");
    }
    assert_eq!((fenced.name(), both.name()), ("y", "a"));
    server.cli(&["SET", "shop:locks:z", "text"]);
    let foreign = client.lock("z").acquire().await.unwrap_err();
    let AcquireError::Denied { lock: name, .. } = &foreign else { panic!("{foreign:?}") };
    assert_eq!(name.as_str(), "z");
    let InspectError::Node { lock: name, source: NodeError::ForeignKey, .. } =
        client.lock("z").force_release().await.unwrap_err()
    else {
        panic!("it is a string");
    };
    assert_eq!(name.as_str(), "z");
    let bad = client.lock("a}").acquire().await.unwrap_err();
    let said = [format!("{lock:?}"), format!("{guard:?}"), format!("{both:?}"), bad.to_string()];
    for text in said.into_iter().chain([format!("{foreign}"), format!("{fenced:?}")]) {
        assert!(!text.contains("shop"), "{text}");
    }
    guard.release().await.unwrap();
}

#[tokio::test]
async fn masters_share_a_namespace_and_are_blessed_for_it() {
    let servers = Cluster::start(3);
    let wary = || palisade::Client::builder().node_timeout(fleet::NODE_TIMEOUT);
    let masters = Masters::build_with(wary().namespace(NAMESPACE), servers.urls()).unwrap();
    masters.bless().await.unwrap();
    assert!(servers.iter().all(|server| server.keys() == ["shop:locks:palisade:marker"]));
    let guard = masters.red_lock("x").acquire().await.unwrap();
    assert!(servers.iter().filter(|server| server.exists("shop:locks:x")).count() >= 2);
    assert_eq!(masters.inspect("x").await.majority_holder().unwrap().id, guard.holder_id());
    guard.release().await.unwrap();
    masters.fenced_multi_lock("x").acquire().await.unwrap().release().await.unwrap();

    let elsewhere = Masters::build_with(wary(), servers.urls()).unwrap();
    let error = elsewhere.red_lock("x").try_acquire().await.unwrap_err();
    assert!(matches!(error, AcquireError::Quarantined { .. }), "{error:?}");
    elsewhere.bless().await.unwrap();
    let error = masters.bless().await.unwrap_err();
    assert!(matches!(error, BlessError::BlessedBefore { .. }), "{error:?}");
    let strict = wary().namespace(NAMESPACE).quarantine(Quarantine::Strict);
    let strict = Masters::build_with(strict, servers.urls()).unwrap();
    strict.red_lock("y").acquire().await.unwrap().release().await.unwrap();

    let [one, other] = [masters.clients()[0].clone(), elsewhere.clients()[1].clone()];
    let mixed = Masters::new([one, other]).unwrap_err();
    assert!(matches!(mixed, ConfigError::InvalidSetting { setting: "namespace", .. }), "{mixed:?}");
    for masters in [&masters, &elsewhere, &strict] {
        fleet::drained(masters).await;
    }
}

#[test]
fn namespaces_and_names_that_cannot_work_are_errors_before_anything_is_sent() {
    let lazy =
        |namespace: &str| Client::builder().url("redis://127.0.0.1:1").namespace(namespace).build();
    let long = "x".repeat(1025);
    for bad in ["a\0b", "\x1b[1m", "a\n", "{", "a}", "{}", &long] {
        let error = lazy(bad).unwrap_err();
        let is_it = matches!(error, ConfigError::InvalidSetting { setting: "namespace", .. });
        assert!(is_it, "{bad:?}: {error}");
    }
    let client = lazy(NAMESPACE).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let refused = |name: &str| {
        let error = runtime.block_on(client.lock(name).try_acquire()).unwrap_err();
        let AcquireError::Config(error) = error else { panic!("{error:?}") };
        error
    };
    assert_eq!(refused(""), ConfigError::EmptyName);
    let len = 4096 + NAMESPACE.len();
    let too_long = refused(&"x".repeat(4096));
    assert!(
        matches!(too_long, ConfigError::NameTooLong { len: is, max: 4096, .. } if is == len),
        "{too_long:?}"
    );
    let tag = refused("a{");
    assert!(matches!(&tag, ConfigError::BadHashTag { name, .. } if &**name == "a{"), "{tag:?}");
    drop(RedLock::new([client.lock("x")]).unwrap());
}
