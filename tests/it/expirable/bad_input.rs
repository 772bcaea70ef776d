//! Names, numbers and ids that cannot work, users without rights.

use palisade::{
    AcquireError, Client,
    error::{ChangeError, ConfigError, NodeError},
};
use testkit::RedisServer;

use super::{LEASES, leases, left, semaphore};
use crate::support::{Look, causes, client, eventually, fixed, ms, patient, soon};

#[tokio::test]
async fn what_cannot_work_is_refused_before_anything_is_sent() {
    let server = RedisServer::start();
    let client = Client::connect_lazy(server.url()).unwrap();
    let semaphore = client.expirable_semaphore("x");
    for permits in [0, 1_025, u32::MAX] {
        let error = semaphore.acquire_many(permits).await.unwrap_err();
        let AcquireError::Config(ConfigError::PermitsOutOfRange { permits: is, max, .. }) = error
        else {
            panic!("{error:?}");
        };
        assert_eq!((is, max), (permits, 1_024));
    }
    let error = semaphore.clone().with_lease(fixed(19)).acquire().await.unwrap_err();
    assert!(matches!(error, AcquireError::Config(ConfigError::LeaseTooShort { .. })), "{error:?}");
    let some = "0".repeat(32);
    for (change, is_expected) in [
        (
            semaphore.release_permit("0").await,
            (|error| matches!(error, ConfigError::InvalidPermitId { .. })) as fn(&ConfigError) -> _,
        ),
        (semaphore.update_lease("+0", ms(1_000)).await, |error| {
            matches!(error, ConfigError::InvalidPermitId { .. })
        }),
        (semaphore.update_lease(&some, ms(1)).await, |error| {
            matches!(error, ConfigError::LeaseTooShort { .. })
        }),
        (client.expirable_semaphore("a{").release_permit(&some).await, |error| {
            matches!(error, ConfigError::BadHashTag { .. })
        }),
    ] {
        let error = change.unwrap_err();
        assert!(matches!(&error, ChangeError::Config(error) if is_expected(error)), "{error:?}");
    }
    assert_eq!(server.connected_clients(), 0);
}

#[tokio::test]
async fn unknown_permit_is_false() {
    let server = RedisServer::start();
    let semaphore = semaphore(&server, 1).await;
    let nobodys = "00112233445566778899aabbccddeeff";
    assert!(!semaphore.release_permit(nobodys).await.unwrap());
    assert!(!semaphore.update_lease(nobodys, ms(1_000)).await.unwrap());
    assert_eq!(left(&server), "1");
}

#[tokio::test]
async fn tagged_name_works_in_a_cluster_too() {
    let cluster = RedisServer::builder().arg("--cluster-enabled", "yes").start();
    cluster.serve_slots(0..16_384);
    eventually(|| cluster.cli(&["CLUSTER", "INFO"]).contains("state:ok")).await;
    let client = client(&cluster).await;
    for name in ["x", "{a}x", "x{a}"] {
        let semaphore = client.expirable_semaphore(name);
        assert!(soon(semaphore.try_set_permits(2)).await.unwrap());
        let (one, other) =
            (soon(semaphore.acquire()).await.unwrap(), soon(semaphore.acquire()).await.unwrap());
        assert!(semaphore.update_lease(one.holder_id(), ms(90_000)).await.unwrap());
        assert!(semaphore.release_permit(other.holder_id()).await.unwrap());
        one.release().await.unwrap();
        assert!(semaphore.delete().await.unwrap());
    }
}

#[tokio::test]
async fn key_of_somebody_else_is_an_error_and_is_not_touched() {
    let server = RedisServer::start();
    let semaphore = client(&server).await.expirable_semaphore("x");
    for (key, write) in [
        ("x", ["SET", "x", "text"].as_slice()),
        ("x", &["HSET", "x", "a", "b"]),
        (LEASES, &["SET", LEASES, "text"]),
    ] {
        server.flush();
        server.cli(write);
        let before = server.command(&["DUMP", key]);
        let error = soon(semaphore.acquire()).await.unwrap_err();
        assert!(matches!(causes(&error)[..], [NodeError::ForeignKey]), "{write:?}: {error:?}");
        let error = semaphore.release_permit(&"0".repeat(32)).await.unwrap_err();
        let is_foreign =
            matches!(error, ChangeError::NotMade { source: NodeError::ForeignKey, .. });
        assert!(is_foreign, "{write:?}: {error:?}");
        assert_eq!(server.command(&["DUMP", key]), before, "{write:?}");
    }
}

#[tokio::test]
async fn client_needs_no_right_but_those_of_its_scripts() {
    let server = RedisServer::start();
    let rights = "+evalsha +eval +script|load +time +get +set +incrby +decrby +del +exists +zadd +zrem \
                  +zscore +zrange +zrangebyscore +pttl +pexpire +publish +ping";
    let mut rules =
        vec!["ACL", "SETUSER", "app", "reset", "resetchannels", "on", ">pw", "~x", "~{x}:*"];
    rules.extend(["~palisade_once:*", "&redisson_sc:*"]);
    rules.extend(rights.split_ascii_whitespace());
    server.cli(&rules);
    let settings = patient(&server).url(&server.url_with("app", "pw"));
    let semaphore = settings.connect().await.unwrap().expirable_semaphore("x");
    assert!(soon(semaphore.try_set_permits(2)).await.unwrap());
    server.cli(&["PEXPIRE", "x", "600000"]);
    let one = soon(semaphore.acquire()).await.unwrap();
    assert!(soon(semaphore.try_acquire_many(2)).await.unwrap().is_none());
    assert_eq!((soon(semaphore.holders()).await.unwrap().len(), leases(&server)), (1, 1));
    assert!(semaphore.update_lease(one.holder_id(), ms(1_000)).await.unwrap());
    one.release().await.unwrap();
    assert!(soon(semaphore.delete()).await.unwrap());
    eventually(|| server.size() == 0).await;
}
