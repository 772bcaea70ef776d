//! Hashes of other people under the name of a lock.

use palisade::{
    embedded::Server,
    error::{InspectError, NodeError},
};
use testkit::RedisServer;

use super::Any;
use crate::{
    outside::ask,
    scripts::{NEVER, eval, eval_on, restricted},
    sources::{ACQUIRE, FORCE, INSPECT},
    support::{Look, causes, client, soon},
};

fn bob() -> std::collections::BTreeMap<String, String> {
    [("name".to_owned(), "bob".to_owned())].into()
}

#[tokio::test]
async fn hash_of_somebody_else_is_an_error_and_is_not_touched() {
    let server = RedisServer::start();
    let client = client(&server).await;
    server.cli(&["HSET", "user:1", "name", "bob"]);
    for lock in Any::all(&client, "user:1") {
        let (cause, text) = lock.refused_by_server().await;
        assert!(matches!(cause, NodeError::ForeignKey), "{cause:?}");
        assert!(text.contains("the key exists and is not a lock"), "{text}");
    }
    let fenced = soon(client.fenced_lock("user:1").acquire()).await.unwrap_err();
    assert!(fenced.to_string().contains("the key exists and is not a lock"), "{fenced}");
    let lock = client.lock("user:1");
    for error in [
        soon(lock.force_release()).await.unwrap_err(),
        soon(lock.holder()).await.unwrap_err(),
        soon(lock.is_locked()).await.unwrap_err(),
    ] {
        let is_foreign = matches!(error, InspectError::Node { source: NodeError::ForeignKey, .. });
        assert!(is_foreign, "{error:?}");
    }
    assert_eq!(server.hash("user:1"), bob());
    assert_eq!(server.pttl("user:1"), -1);
    assert_eq!(server.keys(), ["user:1"], "no counter either");
}

/// What Redisson writes for transactions is a lock, and what it writes for locks that are read and
/// written is one of another kind.
#[test]
fn hash_is_a_lock_by_its_fields() {
    let server = RedisServer::start();
    let digits = "0123456789abcdefABCDEF0123456789";
    let transaction = format!("id:7:{digits}");
    let numbers = format!("id:7:{}", "1".repeat(32));
    let [short, long] = [format!("id:7:{}", &digits[1..]), format!("id:7:{digits}0")];
    for (fields, is_lock) in [
        (["id:7", "1"].as_slice(), true),
        (&["id:-7", "-1"], true),
        (&["a:b:9223372036854775807", "3"], true),
        (&["id:7:write", "1", "mode", "write"], true),
        (&["id:7", "1", "id:8", "2", "mode", "read"], true),
        (&["mode", "read"], true),
        (&[&transaction, "1"], true),
        (&[&numbers, "1"], true),
        (&["name", "bob"], false),
        (&["", ""], false),
        (&["id:7", "bob"], false),
        (&["id:7", "1.5"], false),
        (&["id:7", ""], false),
        (&["id:7", "1 "], false),
        (&[":7", "1"], false),
        (&["id:", "1"], false),
        (&["id:-", "1"], false),
        (&["7", "1"], false),
        (&["id:7:read", "1"], false),
        (&["id:7x", "1"], false),
        (&[&short, "1"], false),
        (&[&long, "1"], false),
        (&["mode", "dark"], false),
        (&["id:7", "1", "name", "bob"], false),
    ] {
        server.cli(&["DEL", "x"]);
        let set: Vec<_> = ["HSET", "x"].iter().chain(fields).copied().collect();
        server.command(&set);
        let before = server.hash("x");
        let code = eval(&server, ACQUIRE, &["x"], &["9000", NEVER, "me:1"]).array()[1].int();
        let is_other = before.contains_key("mode");
        let refused = if is_other { -5 } else { 0 };
        assert_eq!(code, if is_lock { refused } else { -2 }, "{fields:?}");
        assert_eq!(eval(&server, INSPECT, &["x"], &[]).is_error(), !is_lock, "{fields:?}");
        assert_eq!(server.hash("x"), before);
        let code = eval(&server, FORCE, &["x"], &["c"]).array()[1].int();
        let forced = if is_other { -5 } else { 1 };
        assert_eq!(code, if is_lock { forced } else { -2 }, "{fields:?}");
        assert_eq!(server.exists("x"), !is_lock || is_other, "{fields:?}");
    }
}

#[test]
fn hash_of_very_many_fields_is_looked_at_in_part() {
    let server = RedisServer::start();
    let fill = |field: &str| {
        let text =
            "for i = 1, 100000 do redis.call('HSET', KEYS[1], string.format(ARGV[1], i), i) end";
        server.command(&["EVAL", text, "1", "x", field]);
    };
    let acquire = || eval(&server, ACQUIRE, &["x"], &["9000", NEVER, "me:1"]).array()[1].int();
    fill("field %d");
    assert_eq!(acquire(), -2);
    assert_eq!(eval(&server, FORCE, &["x"], &["c"]).array()[1].int(), -2);
    assert!(eval(&server, INSPECT, &["x"], &[]).is_error());
    assert_eq!(server.command(&["HLEN", "x"]).int(), 100_000);
    server.cli(&["DEL", "x"]);
    fill("id:%d");
    assert_eq!(acquire(), 0);
    assert_eq!(server.calls_of("hgetall"), 0);
    assert_eq!(server.calls_of("hrandfield"), 4);
}

#[tokio::test(start_paused = true)]
async fn embedded_server_tells_hashes_of_others_from_locks_too() {
    let server = Server::start_here();
    let lock = server.client().unwrap().lock("x");
    for (field, many) in [("name", 1), ("name", 100), ("id:", 100)] {
        let _removed: i64 = ask(&server, &["DEL", "x"]).await;
        for i in 0..many {
            let _added: i64 = ask(&server, &["HSET", "x", &format!("{field}{i}"), "1"]).await;
        }
        let tried = lock.try_acquire().await;
        if field == "id:" {
            assert!(tried.unwrap().is_none());
            assert!(lock.force_release().await.unwrap());
        } else {
            assert!(matches!(causes(&tried.unwrap_err())[..], [NodeError::ForeignKey]));
            lock.force_release().await.unwrap_err();
            lock.holder().await.unwrap_err();
            assert_eq!(ask::<i64>(&server, &["HLEN", "x"]).await, many);
        }
    }
}

/// Nothing is deleted that one was not allowed to look at.
#[test]
fn user_who_may_not_look_takes_a_hash_for_a_lock_and_cannot_force_it_open() {
    let server = RedisServer::start();
    server.cli(&["HSET", "user:1", "name", "bob"]);
    for rule in ["-hgetall", "-hlen"] {
        let mut user = restricted(&server, &[rule]);
        let refused = eval_on(&mut user, ACQUIRE, &["user:1"], &["9000", NEVER, "me:1"]);
        assert_eq!(refused.array()[1].int(), 0, "{rule}");
        let forced = eval_on(&mut user, FORCE, &["user:1"], &["c"]);
        assert!(forced.is_error(), "{rule}: {forced}");
        assert_eq!(server.hash("user:1"), bob());
    }
}

#[tokio::test]
async fn only_who_is_refused_pays_for_the_look() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let looks = || server.calls_of("hlen") + server.calls_of("hgetall");
    let before = looks();
    let guard = client.lock("x").acquire().await.unwrap();
    client.fenced_lock("y").acquire().await.unwrap().release().await.unwrap();
    assert_eq!(looks() - before, 0);
    assert!(client.lock("x").try_acquire().await.unwrap().is_none());
    assert_eq!(looks() - before, 2);
    guard.release().await.unwrap();
}
