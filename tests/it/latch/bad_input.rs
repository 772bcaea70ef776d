//! Names and numbers that cannot work, other people's keys, users without rights.

use palisade::{
    Client, CountDownLatch,
    error::{ChangeError, ConfigError, InspectError, NodeError},
};
use testkit::RedisServer;

use super::CHANNEL;
use crate::support::{Look, client, ms, patient, soon};

const MAX: u64 = 9_007_199_254_740_991;

/// What every operation fails with.
async fn refusals(latch: &CountDownLatch) -> Vec<ConfigError> {
    let changes = [
        soon(latch.try_set_count(1)).await,
        soon(latch.count_down()).await,
        soon(latch.delete()).await,
    ];
    let looks = [
        soon(latch.count()).await.map(drop),
        soon(latch.wait()).await,
        soon(latch.wait_for(ms(1))).await.map(drop),
    ];
    let changes = changes.into_iter().map(|change| match change.unwrap_err() {
        ChangeError::Config(error) => error,
        other => panic!("{other:?}"),
    });
    let looks = looks.into_iter().map(|look| match look.unwrap_err() {
        InspectError::Config(error) => error,
        other => panic!("{other:?}"),
    });
    changes.chain(looks).collect()
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
        for error in refusals(&client.count_down_latch(name)).await {
            assert_eq!(format!("{error:?}"), expected);
        }
    }
    assert_eq!(server.connected_clients(), 0);
}

#[tokio::test]
async fn count_that_cannot_be_set_is_refused_before_anything_is_sent() {
    let server = RedisServer::start();
    let latch = Client::connect_lazy(server.url()).unwrap().count_down_latch("x");
    for count in [0, MAX + 1, u64::MAX] {
        let error = soon(latch.try_set_count(count)).await.unwrap_err();
        let is_expected = |error: &ConfigError| {
            matches!(
                error,
                ConfigError::CountOutOfRange { count: is, max: MAX, .. } if *is == count
            )
        };
        assert!(matches!(&error, ChangeError::Config(error) if is_expected(error)), "{error:?}");
        assert!(error.to_string().contains(&count.to_string()), "{error}");
    }
    assert_eq!(server.connected_clients(), 0);
}

#[tokio::test]
async fn tagged_name_works_but_in_a_cluster() {
    let server = RedisServer::start();
    let latch = client(&server).await.count_down_latch("{a}x");
    assert!(soon(latch.try_set_count(1)).await.unwrap());
    assert!(soon(latch.count_down()).await.unwrap());
    soon(latch.wait()).await.unwrap();

    let cluster = RedisServer::builder().arg("--cluster-enabled", "yes").start();
    cluster.serve_slots(0..16_384);
    crate::support::eventually(|| cluster.cli(&["CLUSTER", "INFO"]).contains("state:ok")).await;
    let client = client(&cluster).await;
    for error in refusals(&client.count_down_latch("{a}x")).await {
        assert_eq!(format!("{error:?}"), r#"TaggedLatch { name: "{a}x" }"#);
    }
    assert_eq!(cluster.size(), 0);
    let latch = client.count_down_latch("x");
    assert!(soon(latch.try_set_count(1)).await.unwrap());
    assert!(soon(latch.count_down()).await.unwrap());
    assert!(cluster.exists(super::GENERATION));
}

#[tokio::test]
async fn key_of_somebody_else_is_an_error_and_is_not_touched() {
    let server = RedisServer::start();
    let latch = client(&server).await.count_down_latch("x");
    for write in [["SET", "x", "text"].as_slice(), &["HSET", "x", "a", "b"], &["SET", "x", "1.5"]] {
        server.flush();
        server.cli(write);
        let before = server.command(&["DUMP", "x"]);
        for change in [
            soon(latch.try_set_count(1)).await,
            soon(latch.count_down()).await,
            soon(latch.delete()).await,
        ] {
            let error = change.unwrap_err();
            let is_foreign =
                matches!(error, ChangeError::NotMade { source: NodeError::ForeignKey, .. });
            assert!(is_foreign, "{write:?}: {error:?}");
        }
        for look in [soon(latch.count()).await.map(drop), soon(latch.wait()).await] {
            let error = look.unwrap_err();
            let is_foreign =
                matches!(error, InspectError::Node { source: NodeError::ForeignKey, .. });
            assert!(is_foreign, "{write:?}: {error:?}");
        }
        assert_eq!(server.command(&["DUMP", "x"]), before, "{write:?}");
    }
}

#[tokio::test]
async fn user_without_a_right_it_needs_changes_nothing_and_is_told() {
    let server = RedisServer::start();
    for rules in [
        ["-get"].as_slice(),
        &["-set"],
        &["-decr"],
        &["-evalsha"],
        &["resetkeys", "~x"],
        &["resetkeys", "~palisade_once:*"],
    ] {
        server.flush();
        server.cli(&["SET", "x", "2"]);
        let all = ["ACL", "SETUSER", "app", "reset", "on", ">pw", "~*", "&*", "+@all"];
        server.cli(&all.iter().chain(rules).collect::<Vec<_>>());
        let settings = patient(&server).url(&server.url_with("app", "pw"));
        let latch = settings.connect().await.unwrap().count_down_latch("x");
        let error = soon(latch.count_down()).await.unwrap_err();
        let is_told =
            matches!(error, ChangeError::NotMade { source: NodeError::Permission { .. }, .. });
        assert!(is_told, "{rules:?}: {error:?}");
        assert_eq!((server.size(), server.cli(&["GET", "x"]).as_str()), (1, "2"), "{rules:?}");
    }
}

#[tokio::test]
async fn client_needs_no_right_but_those_of_its_scripts() {
    let server = RedisServer::start();
    let rights = "+evalsha +eval +script|load +time +get +set +decr +del +publish +subscribe \
                  +unsubscribe +ping";
    let mut rules = vec![
        "ACL",
        "SETUSER",
        "app",
        "reset",
        "resetchannels",
        "on",
        ">pw",
        "~x",
        "~palisade_once:*",
    ];
    rules.push("&redisson_countdownlatch__channel__*");
    rules.extend(rights.split_ascii_whitespace());
    server.cli(&rules);
    let settings = patient(&server).url(&server.url_with("app", "pw"));
    let latch = settings.connect().await.unwrap().count_down_latch("x");
    assert!(soon(latch.try_set_count(1)).await.unwrap());
    let wait = tokio::spawn({
        let latch = latch.clone();
        async move { latch.wait().await }
    });
    let listeners = || server.command(&["PUBSUB", "NUMSUB", CHANNEL]).array()[1].int();
    crate::support::eventually(|| listeners() == 1).await;
    assert!(soon(latch.count_down()).await.unwrap());
    soon(wait).await.unwrap().unwrap();
    super::only(&server, &[]).await;
    // Versions before this one printed no right to it.
    assert!(!server.exists(super::GENERATION));
}

#[tokio::test]
async fn names_are_redacted_where_they_are_to_be() {
    let server = RedisServer::start();
    let settings = patient(&server).redact_names(true);
    let latch = settings.connect().await.unwrap().count_down_latch("secret");
    server.cli(&["SET", "secret", "text"]);
    let error = soon(latch.count_down()).await.unwrap_err();
    assert!(!format!("{error} {latch:?}").contains("secret"), "{error} {latch:?}");
}
