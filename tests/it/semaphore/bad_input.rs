//! Names that cannot work, other people's keys, users without rights.

use palisade::{
    AcquireError, Client, Semaphore,
    error::{ChangeError, ConfigError, InspectError, NodeError},
};
use testkit::RedisServer;

use super::{CHANNEL, HOLDERS, left};
use crate::support::{Look, causes, client, eventually, patient, soon};

/// What every operation fails with.
async fn refusals(semaphore: &Semaphore) -> Vec<ConfigError> {
    let acquires = [
        soon(semaphore.acquire()).await.map(drop),
        soon(semaphore.acquire_many(0)).await.map(drop),
        soon(semaphore.try_acquire()).await.map(drop),
    ];
    let changes = [
        soon(semaphore.try_set_permits(1)).await.map(drop),
        soon(semaphore.release(1)).await,
        soon(semaphore.release_if_exists(1)).await.map(drop),
        soon(semaphore.add(1)).await,
        soon(semaphore.drain()).await.map(drop),
        soon(semaphore.delete()).await.map(drop),
    ];
    let looks = [
        soon(semaphore.permits()).await.map(drop),
        soon(semaphore.holders()).await.map(drop),
        soon(semaphore.reclaim("me:1")).await.map(drop),
    ];
    let acquires = acquires.into_iter().map(|acquire| match acquire.unwrap_err() {
        AcquireError::Config(error) => error,
        other => panic!("{other:?}"),
    });
    let changes = changes.into_iter().map(|change| match change.unwrap_err() {
        ChangeError::Config(error) => error,
        other => panic!("{other:?}"),
    });
    let looks = looks.into_iter().map(|look| match look.unwrap_err() {
        InspectError::Config(error) => error,
        other => panic!("{other:?}"),
    });
    acquires.chain(changes).chain(looks).collect()
}

#[tokio::test]
async fn bad_name_is_refused_before_anything_is_sent() {
    let server = RedisServer::start();
    let client = Client::connect_lazy(server.url()).unwrap();
    for (name, expected) in [
        ("", "EmptyName"),
        ("a{b", r#"BadHashTag { name: "a{b" }"#),
        ("{}a", r#"BadHashTag { name: "{}a" }"#),
    ] {
        for error in refusals(&client.semaphore(name)).await {
            assert_eq!(format!("{error:?}"), expected);
        }
    }
    assert_eq!(server.connected_clients(), 0);
}

#[tokio::test]
async fn tagged_name_works_in_a_cluster_too() {
    let cluster = RedisServer::builder().arg("--cluster-enabled", "yes").start();
    cluster.serve_slots(0..16_384);
    eventually(|| cluster.cli(&["CLUSTER", "INFO"]).contains("state:ok")).await;
    let client = client(&cluster).await;
    for name in ["x", "{a}x", "x{a}"] {
        let semaphore = client.semaphore(name);
        assert!(soon(semaphore.try_set_permits(2)).await.unwrap());
        let guard = soon(semaphore.acquire()).await.unwrap();
        assert_eq!(semaphore.drain().await.unwrap(), 1);
        semaphore.release(1).await.unwrap();
        assert_eq!(semaphore.holders().await.unwrap().len(), 1);
        guard.release().await.unwrap();
        assert!(semaphore.delete().await.unwrap());
    }
    eventually(|| cluster.size() == 0).await;
}

#[tokio::test]
async fn key_of_somebody_else_is_an_error_and_is_not_touched() {
    let server = RedisServer::start();
    let semaphore = client(&server).await.semaphore("x");
    for (key, write) in [
        ("x", ["SET", "x", "text"].as_slice()),
        ("x", &["HSET", "x", "a", "b"]),
        ("x", &["SET", "x", "1.5"]),
        (HOLDERS, &["SET", HOLDERS, "text"]),
    ] {
        server.flush();
        server.cli(write);
        let before = server.command(&["DUMP", key]);
        if key == "x" {
            for change in [
                soon(semaphore.try_set_permits(1)).await.map(drop),
                soon(semaphore.release(1)).await,
                soon(semaphore.drain()).await.map(drop),
                soon(semaphore.delete()).await.map(drop),
            ] {
                let error = change.unwrap_err();
                let is_foreign =
                    matches!(error, ChangeError::NotMade { source: NodeError::ForeignKey, .. });
                assert!(is_foreign, "{write:?}: {error:?}");
            }
            let error = soon(semaphore.permits()).await.unwrap_err();
            let is_foreign =
                matches!(error, InspectError::Node { source: NodeError::ForeignKey, .. });
            assert!(is_foreign, "{write:?}: {error:?}");
        }
        let error = soon(semaphore.acquire()).await.unwrap_err();
        assert!(matches!(causes(&error)[..], [NodeError::ForeignKey]), "{write:?}: {error:?}");
        assert_eq!(server.command(&["DUMP", key]), before, "{write:?}");
        eventually(|| server.size() == 1).await;
    }
    server.cli(&["SET", "x", "1"]);
    let error = soon(semaphore.reclaim("me:1")).await.unwrap_err();
    assert!(matches!(error, InspectError::Node { source: NodeError::ForeignKey, .. }), "{error:?}");
}

#[tokio::test]
async fn user_without_a_right_it_needs_takes_nothing_and_is_told() {
    let server = RedisServer::start();
    for rules in [
        ["-get"].as_slice(),
        &["-hset"],
        &["-pttl"],
        &["-persist"],
        &["-decrby"],
        &["-evalsha"],
        &["resetkeys", "~x"],
        &["resetkeys", "~{x}:*"],
    ] {
        server.flush();
        server.cli(&["SET", "x", "2"]);
        let all = ["ACL", "SETUSER", "app", "reset", "on", ">pw", "~*", "&*", "+@all"];
        server.cli(&all.iter().chain(rules).collect::<Vec<_>>());
        let settings = patient(&server).url(&server.url_with("app", "pw"));
        let semaphore = settings.connect().await.unwrap().semaphore("x");
        let error = soon(semaphore.acquire()).await.unwrap_err();
        assert!(
            matches!(causes(&error)[..], [NodeError::Permission { .. }]),
            "{rules:?}: {error:?}"
        );
        assert_eq!((server.size(), left(&server).as_str()), (1, "2"), "{rules:?}");
    }
}

#[tokio::test]
async fn client_needs_no_right_but_those_of_its_scripts() {
    let server = RedisServer::start();
    let rights = "+evalsha +eval +script|load +time +get +set +incrby +decrby +del +exists +hget +hset \
                  +hdel +hexists +hgetall +pttl +pexpire +persist +publish +subscribe +unsubscribe +ping";
    let mut rules =
        vec!["ACL", "SETUSER", "app", "reset", "resetchannels", "on", ">pw", "~x", "~{x}:*"];
    rules.extend(["~palisade_once:*", "&redisson_sc:*"]);
    rules.extend(rights.split_ascii_whitespace());
    server.cli(&rules);
    let settings = patient(&server).url(&server.url_with("app", "pw"));
    let semaphore = settings.connect().await.unwrap().semaphore("x");
    assert!(soon(semaphore.try_set_permits(2)).await.unwrap());
    server.cli(&["PEXPIRE", "x", "600000"]);
    let two = soon(semaphore.acquire_many(2)).await.unwrap();
    let wait = tokio::spawn({
        let semaphore = semaphore.clone();
        async move { semaphore.acquire().await.unwrap().forget().await.unwrap() }
    });
    let listeners = || server.command(&["PUBSUB", "NUMSUB", CHANNEL]).array()[1].int();
    eventually(|| listeners() == 1).await;
    assert_eq!(soon(semaphore.holders()).await.unwrap().len(), 1);
    two.release().await.unwrap();
    soon(wait).await.unwrap();
    assert_eq!(semaphore.drain().await.unwrap(), 1);
    assert!(soon(semaphore.delete()).await.unwrap());
}

#[tokio::test]
async fn names_are_redacted_where_they_are_to_be() {
    let server = RedisServer::start();
    let semaphore =
        patient(&server).redact_names(true).connect().await.unwrap().semaphore("secret");
    server.cli(&["SET", "secret", "text"]);
    let (error, change) =
        (semaphore.acquire().await.unwrap_err(), semaphore.release(1).await.unwrap_err());
    let shown = format!("{error} {error:?} {change} {semaphore:?}");
    assert!(!shown.contains("secret"), "{shown}");
}

#[tokio::test]
async fn more_permits_than_are_counted_on_with_are_refused_and_the_semaphore_works_on() {
    let server = RedisServer::start();
    let semaphore = client(&server).await.semaphore("x");
    assert!(soon(semaphore.try_set_permits(5)).await.unwrap());
    for permits in [i64::MAX, i64::MIN, 1 << 53, -(1 << 54)] {
        let error = soon(semaphore.add(permits)).await.unwrap_err();
        assert!(matches!(error, ChangeError::NotMade { .. }), "{permits}: {error:?}");
        assert_eq!(left(&server), "5", "{permits}");
    }
    soon(semaphore.add((1 << 53) - 6)).await.unwrap();
    soon(semaphore.release(1)).await.unwrap_err();
    let guard = soon(semaphore.acquire_many(u32::MAX)).await.unwrap();
    assert_eq!(semaphore.permits().await.unwrap(), (1 << 53) - 1 - i64::from(u32::MAX));
    guard.release().await.unwrap();
    assert!(soon(semaphore.delete()).await.unwrap());
}
