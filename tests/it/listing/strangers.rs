//! What is not shown: hashes of other programs, and what a user may not read.

use std::time::Duration;

use palisade::acl::Rights;
use testkit::RedisServer;

use super::{UUID, all, found, hash, names};
use crate::support::{client, patient, soon};

#[tokio::test]
async fn hashes_of_others_are_not_shown_and_no_value_of_theirs_is_read() {
    let server = RedisServer::start();
    let here = client(&server).await;
    let holder = format!("{UUID}:1");
    for (key, fields) in [
        ("user", &["name", "x"][..]),
        ("numbers", &["user:1", "1"]),
        ("id", &[UUID, "1"]),
        ("two", &[&holder, "1", &format!("{UUID}:2"), "1"]),
        ("mode", &["mode", "dark", &holder, "1"]),
        ("modes", &["mode", "read"]),
        ("words", &[&format!("{UUID}:x"), "1"]),
    ] {
        hash(&server, key, fields);
    }
    // What is beside locks, and what is none.
    let permits = soon(here.semaphore("permits").try_set_permits(2)).await.unwrap();
    assert!(permits);
    let _permit = soon(here.semaphore("permits").acquire()).await.unwrap();
    soon(here.count_down_latch("latch").try_set_count(2)).await.unwrap();
    let election = here.election("elected");
    let leadership = soon(election.campaign()).await.unwrap();
    soon(leadership.proclaim("v")).await.unwrap();
    let guard = soon(here.lock("x").acquire()).await.unwrap();
    let reads = || server.calls_of("hgetall");
    let before = reads();
    assert_eq!(names(&all(&here).await), ["elected", "x"]);
    assert_eq!(reads() - before, 2);
    // Not even where the mode is one: then it has fields of others.
    hash(&server, "modes", &["other", "1"]);
    assert_eq!(names(&found(&here, "m*").await), [""; 0]);
    guard.release().await.unwrap();
    soon(leadership.resign()).await.unwrap();
    assert_eq!(names(&all(&here).await), [""; 0]);
}

/// What has one field that looks like a holder, and a value that is no count.
#[tokio::test]
async fn fields_that_count_nothing_are_no_holders() {
    let server = RedisServer::start();
    hash(&server, "x", &[&format!("{UUID}:1"), "many"]);
    hash(&server, "y", &[&format!("{UUID}:1"), "-1"]);
    assert_eq!(names(&all(&client(&server).await).await), [""; 0]);
}

fn user(server: &RedisServer, rules: &[String]) {
    let mut words: Vec<String> =
        ["ACL", "SETUSER", "app", "reset", "on", ">pw"].map(str::to_owned).into();
    words.extend_from_slice(rules);
    server.cli(&words);
    server.cli(&["ACL", "LOG", "RESET"]);
}

#[tokio::test]
async fn names_that_may_not_be_read_are_counted() {
    let server = RedisServer::start();
    let here = client(&server).await;
    let mut guards = Vec::new();
    for name in ["a:1", "a:2", "b:1"] {
        guards.push(soon(here.lock(name).acquire()).await.unwrap());
    }
    user(&server, &Rights::new().listing("a:*").rules());
    let there = patient(&server).url(&server.url_with("app", "pw")).connect().await.unwrap();
    let list = all(&there).await;
    assert_eq!(names(&list), ["a:1", "a:2"]);
    assert_eq!((list.unread, list.is_complete()), (1, false), "{list:?}");
    assert!(list.failed.is_empty());
    let single = found(&there, "b:1").await;
    assert_eq!((names(&single).len(), single.unread), (0, 1));
    // The one that may not scan learns nothing, and is told so.
    server.cli(&["ACL", "SETUSER", "app", "-scan"]);
    let none = all(&there).await;
    assert_eq!((none.locks.len(), none.failed.len()), (0, 1), "{none:?}");
}

/// What goes by patterns alone needs no right to permits, and nothing that runs a script.
#[tokio::test]
async fn rights_to_count_are_enough_where_nothing_is_looked_at_by_its_name() {
    let server = RedisServer::start();
    let here = patient(&server).namespace("shop:").connect().await.unwrap();
    let _plain = soon(here.lock("x").acquire()).await.unwrap();
    soon(here.expirable_semaphore("permits").try_set_permits(2)).await.unwrap();
    let _permit = soon(here.expirable_semaphore("permits").acquire()).await.unwrap();
    let rules = |rights: Rights| rights.namespace("shop:").rules();
    let (counting, listing) =
        (rules(Rights::new().counting("*")), rules(Rights::new().listing("*")));
    let less: Vec<_> = listing.iter().filter(|rule| !counting.contains(rule)).collect();
    assert!(less.contains(&&"+zrange".to_owned()) && less.len() > 2, "{less:?}");
    assert!(counting.iter().all(|rule| listing.contains(rule) && !rule.contains("eval")));
    user(&server, &counting);
    let there = patient(&server).namespace("shop:").url(&server.url_with("app", "pw"));
    let there = there.build().unwrap();
    assert_eq!(names(&all(&there).await), ["x"]);
    assert_eq!(server.cli(&["ACL", "LOG"]), "", "{counting:?}");
    found(&there, "permits").await;
    assert!(server.cli(&["ACL", "LOG"]).contains("zrange"), "{counting:?}");
}

/// All that is asked is allowed; and each of the commands of a list is needed.
#[tokio::test]
async fn rights_to_list_are_enough_and_the_least() {
    let server = RedisServer::start();
    let here = patient(&server).namespace("shop:").presence(palisade::settings::Presence::EachHold);
    // What Redisson's readers may share.
    let here = here.watchdog_lease(Duration::from_secs(30)).connect().await.unwrap();
    let _plain = soon(here.fenced_lock("x").acquire()).await.unwrap();
    let _reader = soon(here.rw_lock("y").read().acquire()).await.unwrap();
    let script = "for i = 1, 100 do redis.call('HSET', KEYS[1], ARGV[1] .. ':' .. i, 1) end";
    server.cli(&["EVAL", script, "1", "shop:z", UUID]);
    soon(here.semaphore("permits").try_set_permits(2)).await.unwrap();
    hash(&server, "shop:z", &["mode", "read"]);
    let rules = Rights::new().namespace("shop:").listing("*").rules();
    for rule in &rules {
        let more = ["+hset", "+hdel", "+set", "+del", "+publish", "+pexpire", "+eval", "+evalsha"];
        assert!(!more.contains(&&**rule), "{rules:?}");
    }
    let look = async |rules: &[String]| {
        user(&server, rules);
        let there = patient(&server).namespace("shop:").url(&server.url_with("app", "pw"));
        let there = there.build().unwrap();
        found(&there, "permits").await;
        all(&there).await
    };
    let told = loop {
        let list = look(&rules).await;
        if list.locks.iter().filter(|lock| lock.held_for().is_some()).count() == 2 {
            break list;
        }
    };
    assert_eq!(names(&told), ["x", "y", "z"]);
    assert!(told.is_complete(), "{told:?}");
    assert_eq!(server.cli(&["ACL", "LOG"]), "", "{rules:?}");
    let of_list = [
        "exists",
        "hget",
        "hgetall",
        "hkeys",
        "hlen",
        "hmget",
        "hscan",
        "lrange",
        "pttl",
        "pubsub|numsub",
        "scan",
        "time",
        "zcard",
        "zrange",
    ];
    for command in of_list {
        let less: Vec<_> =
            rules.iter().filter(|rule| **rule != format!("+{command}")).cloned().collect();
        assert_eq!(less.len() + 1, rules.len(), "{command}");
        look(&less).await;
        assert!(server.cli(&["ACL", "LOG"]).contains(command), "{command} is not needed");
    }
}
