//! Users that may not do all that a lock needs.

use palisade::{Client, ReleaseError, Released, error::NodeError};
use testkit::RedisServer;

use super::Any;
use crate::support::{HANG, Look, acquired, causes, client, fixed, patient, soon};

/// Lets the user `app` do everything but what `rules` take away, and connects as that user.
async fn restricted(server: &RedisServer, rules: &[&str]) -> Client {
    let all = ["ACL", "SETUSER", "app", "reset", "on", ">pw", "~*", "&*", "+@all"];
    server.cli(&all.iter().chain(rules).collect::<Vec<_>>());
    patient(server).url(&server.url_with("app", "pw")).connect().await.unwrap()
}

#[tokio::test]
async fn acquire_without_a_right_it_needs_leaves_nothing() {
    let server = RedisServer::start();
    for rules in [
        ["-evalsha"].as_slice(),
        &["-@scripting"],
        &["-hset"],
        &["-pttl"],
        &["-pexpire"],
        &["-@write"],
        &["resetkeys", "~other:*"],
    ] {
        let client = restricted(&server, rules).await;
        for lock in Any::all(&client, "x") {
            let (cause, text) = lock.refused_by_server().await;
            assert!(matches!(cause, NodeError::Permission { .. }), "{rules:?}: {cause:?}");
            assert!(text.contains("the user lacks a permission: "), "{rules:?}: {text}");
        }
        soon(client.shutdown(HANG)).await.unwrap();
        assert_eq!(server.size(), 0, "{rules:?}");
    }
}

#[tokio::test]
async fn refused_command_is_named() {
    let server = RedisServer::start();
    for rule in ["-evalsha", "-@scripting"] {
        let client = restricted(&server, &[rule]).await;
        let (_, text) = Any::Lock(client.lock("x")).refused_by_server().await;
        assert!(text.contains("evalsha"), "{rule}: {text}");
    }
}

#[tokio::test]
async fn client_needs_no_right_but_those_of_its_scripts() {
    let server = RedisServer::start();
    let rules = [
        "-@all",
        "+evalsha",
        "+eval",
        "+time",
        "+hexists",
        "+pttl",
        "+hset",
        "+pexpire",
        "+del",
        "+publish",
        "+subscribe",
        "+unsubscribe",
        "+hello",
        "+ping",
        "resetkeys",
        "~x",
        "resetchannels",
        "&redisson_lock__channel:*",
    ];
    let client = restricted(&server, &rules).await;
    for lock in Any::all(&client, "x") {
        let guard = lock.acquire().await.unwrap();
        assert!(lock.try_acquire().await.unwrap().is_none());
        let again = guard.reenter().unwrap();
        drop(again);
        assert_eq!(soon(guard.release()).await.unwrap(), Released::Freed);
        assert_eq!(server.size(), 0);
    }
}

#[tokio::test]
async fn release_without_the_right_to_it_is_not_confirmed_and_the_key_ends_with_its_lease() {
    let server = RedisServer::start();
    let client = restricted(&server, &["-del", "-hdel"]).await;
    let guard = acquired(&client.lock("x").with_lease(fixed(6_000))).await;
    let error = soon(guard.release()).await.unwrap_err();
    let ReleaseError::Unconfirmed { ballot, .. } = &error else { panic!("{error:?}") };
    let causes: Vec<_> = ballot.failures().map(|(_, cause)| cause).collect();
    assert!(matches!(causes[..], [NodeError::Permission { .. }]), "{error:?}");
    crate::support::eventually(|| server.size() == 0).await;
}

#[tokio::test]
async fn either_right_to_remove_it_is_enough_for_a_release() {
    let server = RedisServer::start();
    for rule in ["-del", "-hdel"] {
        let client = restricted(&server, &[rule]).await;
        let guard = acquired(&client.lock("x")).await;
        assert_eq!(soon(guard.release()).await.unwrap(), Released::Freed, "{rule}");
        assert_eq!(server.size(), 0, "{rule}");
    }
}

#[tokio::test]
async fn right_that_is_given_back_is_enough() {
    let server = RedisServer::start();
    let client = restricted(&server, &["-hset"]).await;
    let error = soon(client.lock("x").acquire()).await.unwrap_err();
    assert!(matches!(causes(&error)[..], [NodeError::Permission { .. }]), "{error:?}");
    server.cli(&["ACL", "SETUSER", "app", "+hset"]);
    soon(client.lock("x").acquire()).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn user_that_is_removed_loses_no_lock_of_others() {
    let server = RedisServer::start();
    let app = restricted(&server, &[]).await;
    let others = client(&server).await;
    let held = others.lock("x").acquire().await.unwrap();
    server.cli(&["ACL", "DELUSER", "app"]);
    let error = soon(app.lock("y").acquire()).await.unwrap_err();
    assert_eq!(causes(&error).len(), 1);
    assert!(held.is_held());
    held.release().await.unwrap();
    assert_eq!(server.size(), 0);
}
