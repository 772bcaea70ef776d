//! Names and keys that cannot work.

use palisade::{
    AcquireError,
    error::{ConfigError, InspectError, NodeError},
};
use testkit::RedisServer;

use super::{DEADLINES, QUEUE};
use crate::support::{Look, causes, client, eventually, fixed, patient, soon};

#[tokio::test]
async fn names_and_leases_are_checked_before_anything_is_sent() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let before = server.top_level_commands();
    for (name, is_empty) in [("", true), ("a{", false), ("a}b", false)] {
        let lock = client.fair_lock(name);
        let Err(AcquireError::Config(error)) = lock.acquire().await else { panic!("{name:?}") };
        assert_eq!(error == ConfigError::EmptyName, is_empty, "{error}");
        lock.waiting().await.unwrap_err();
        lock.force_release().await.unwrap_err();
    }
    let brief = client.fair_lock("x").with_lease(fixed(1));
    let refused = brief.acquire().await;
    assert!(matches!(refused, Err(AcquireError::Config(ConfigError::LeaseTooShort { .. }))));
    assert_eq!(server.top_level_commands(), before);
}

#[tokio::test]
async fn lock_of_another_kind_under_the_name_is_an_error_and_is_not_touched() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let reader = client.rw_lock("x").read().with_lease(fixed(9_000)).acquire().await.unwrap();
    let before = (server.hash("x"), server.keys());
    let lock = client.fair_lock("x");
    for error in [lock.acquire().await.unwrap_err(), lock.try_acquire().await.unwrap_err()] {
        assert!(matches!(causes(&error)[..], [NodeError::OtherKind]), "{error}");
    }
    let forced = lock.force_release().await;
    assert!(matches!(forced, Err(InspectError::Node { source: NodeError::OtherKind, .. })));
    assert_eq!((server.hash("x"), server.keys()), before);
    reader.release().await.unwrap();
}

#[tokio::test]
async fn plain_lock_of_the_name_excludes_the_fair_one_and_wakes_it_within_its_look() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let plain = client.lock("x").acquire().await.unwrap();
    assert!(client.fair_lock("x").try_acquire().await.unwrap().is_none());
    let lock = client.fair_lock("x");
    let waiter = tokio::spawn(async move { lock.acquire().await.unwrap() });
    while client.fair_lock("x").waiting().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    plain.release().await.unwrap();
    let fair = soon(waiter).await.unwrap();
    assert!(client.lock("x").try_acquire().await.unwrap().is_none());
    fair.release().await.unwrap();
}

#[tokio::test]
async fn key_that_is_no_lock_is_an_error_and_is_not_touched() {
    let server = RedisServer::start();
    let lock = client(&server).await.fair_lock("x");
    for set in
        [["SET", "x", "hello"].as_slice(), &["HSET", "x", "name", "bob"], &["SET", QUEUE, "hello"]]
    {
        server.command(set);
        let dump = server.command(&["DUMP", set[1]]);
        for error in [lock.acquire().await.unwrap_err(), lock.try_acquire().await.unwrap_err()] {
            assert!(matches!(causes(&error)[..], [NodeError::ForeignKey]), "{set:?}: {error}");
        }
        assert!(!lock.force_release().await.unwrap_or(false), "{set:?}");
        assert_eq!((server.command(&["DUMP", set[1]]), server.size()), (dump, 1), "{set:?}");
        server.flush();
    }
    let held = lock.acquire().await.unwrap();
    server.command(&["SET", DEADLINES, "hello"]);
    let refused = lock.acquire().await.unwrap_err();
    assert!(matches!(causes(&refused)[..], [NodeError::ForeignKey]), "{refused}");
    held.release().await.unwrap();
    assert_eq!(server.keys(), [DEADLINES]);
}

#[tokio::test]
async fn client_needs_no_right_but_those_of_its_scripts() {
    let server = RedisServer::start();
    let rights = "+evalsha +eval +script|load +time +hset +hget +hdel +hexists +hlen +hgetall +del +exists \
                  +pexpire +pttl +publish +subscribe +unsubscribe +ping +lindex +llen +lrange +lpop +rpush +lrem \
                  +zcard +zscore +zadd +zrem +zremrangebyscore +persist +get +set";
    let mut rules =
        vec!["ACL", "SETUSER", "app", "reset", "resetchannels", "on", ">pw", "~x", "~{x}:*"];
    rules.extend(["~redisson_lock_*:{x}", "&redisson_lock__channel:*"]);
    rules.extend(rights.split_ascii_whitespace());
    server.cli(&rules);
    let settings = patient(&server).url(&server.url_with("app", "pw"));
    let lock = settings.connect().await.unwrap().fair_lock("x");
    let held = soon(lock.acquire()).await.unwrap();
    let wait = || {
        let lock = lock.clone();
        tokio::spawn(async move { lock.acquire().await.unwrap() })
    };
    let waits = [wait(), wait()];
    eventually(|| super::queue(&server).len() == 2).await;
    server.cli(&["DEL", QUEUE]);
    eventually(|| super::queue(&server).len() == 2).await;
    held.release().await.unwrap();
    let serve = waits.map(|wait| async { soon(wait).await.unwrap().release().await.unwrap() });
    futures::future::join_all(serve).await;
    super::nothing_is_left(&server).await;
    let log = server.cli(&["ACL", "LOG"]);
    for right in rights.split_ascii_whitespace() {
        assert!(!log.contains(&format!("\"{}\"", &right[1..])), "{right}: {log}");
    }
}

#[tokio::test]
async fn user_without_a_right_it_needs_leaves_no_place_behind() {
    let server = RedisServer::start();
    let held = client(&server).await.fair_lock("x").acquire().await.unwrap();
    for rules in [
        ["-lindex"].as_slice(),
        &["-zscore"],
        &["-zadd"],
        &["-rpush"],
        &["resetkeys", "~x", "~{x}:*"],
        &["resetkeys", "~x", "~redisson_lock_*:{x}"],
    ] {
        let all = ["ACL", "SETUSER", "app", "reset", "on", ">pw", "~*", "&*", "+@all"];
        server.cli(&all.iter().chain(rules).collect::<Vec<_>>());
        let settings = patient(&server).url(&server.url_with("app", "pw"));
        let lock = settings.connect().await.unwrap().fair_lock("x");
        let error = soon(lock.try_acquire_for(crate::support::ms(100))).await;
        if rules.len() == 1 || rules.contains(&"~{x}:*") {
            let error = error.unwrap_err();
            assert!(matches!(causes(&error)[..], [NodeError::Permission { .. }]), "{rules:?}");
        }
        eventually(|| server.keys() == ["x"]).await;
    }
    held.release().await.unwrap();
}

#[tokio::test]
async fn user_who_may_not_leave_the_queue_is_granted_nothing_and_told() {
    let server = RedisServer::start();
    let held = client(&server).await.fair_lock("x").acquire().await.unwrap();
    server.cli(&["ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all", "-lpop"]);
    let settings = patient(&server).url(&server.url_with("app", "pw"));
    let lock = settings.connect().await.unwrap().fair_lock("x");
    let wait = tokio::spawn(async move { lock.acquire().await });
    eventually(|| super::queue(&server).len() == 1).await;
    held.release().await.unwrap();
    let error = soon(wait).await.unwrap().unwrap_err();
    assert!(matches!(causes(&error)[..], [NodeError::Permission { .. }]), "{error:?}");
    super::nothing_is_left(&server).await;
}
