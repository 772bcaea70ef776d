//! What is shown of each kind of lock.

use std::{fmt::Debug, time::Duration};

use palisade::{
    AnyGuard,
    inspect::{Access, ListOptions, SortOfLock},
    settings::Presence,
};
use testkit::RedisServer;

use super::{UUID, all, found, hash, ids, names, only};
use crate::support::{Look, client, eventually, ms, patient, soon, within};

#[tokio::test]
async fn each_kind_is_told_from_the_others() {
    let server = RedisServer::start();
    // What Redisson's readers may share.
    let here = patient(&server).watchdog_lease(Duration::from_secs(30)).connect().await.unwrap();
    let there = client(&server).await;
    let plain = soon(here.lock("plain").acquire()).await.unwrap();
    let fenced = soon(here.fenced_lock("fenced").acquire()).await.unwrap();
    let read = soon(here.rw_lock("read").read().acquire()).await.unwrap();
    let write = soon(here.rw_lock("write").write().acquire()).await.unwrap();
    let fair = soon(here.fair_lock("fair").acquire()).await.unwrap();
    let queue = there.fair_lock("fair");
    let waits = tokio::spawn(async move { soon(queue.acquire()).await.unwrap() });
    eventually(|| server.exists("redisson_lock_queue:{fair}")).await;

    let list = all(&here).await;
    assert!(list.is_complete() && list.asked == 1, "{list:?}");
    let told: Vec<_> = list.locks.iter().map(|it| (&*it.name, it.sort, it.votes)).collect();
    assert_eq!(
        told,
        [
            ("fair", SortOfLock::Fair, 1),
            ("fenced", SortOfLock::Fenced, 1),
            ("plain", SortOfLock::Lock, 1),
            ("read", SortOfLock::ReadWrite, 1),
            ("write", SortOfLock::ReadWrite, 1),
        ]
    );
    let guards: [(&str, Access); 5] = [
        (fair.holder_id(), Access::Alone),
        (fenced.holder_id(), Access::Alone),
        (plain.holder_id(), Access::Alone),
        (read.holder_id(), Access::Read),
        (write.holder_id(), Access::Write),
    ];
    for (lock, (id, access)) in list.locks.iter().zip(guards) {
        let [holder] = &lock.holders[..] else { panic!("{lock:?}") };
        assert_eq!((&*holder.holder.id, holder.holder.access, holder.is_dead), (id, access, false));
        assert!(holder.holder.ttl.is_some_and(|ttl| ttl > Duration::ZERO), "{lock:?}");
        assert_eq!((lock.more_holders, holder.votes), (0, 1));
    }
    assert_eq!(list.locks[0].waiting, Some(1), "one process in the queue");
    fair.release().await.unwrap();
    waits.await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn processes_that_wait_are_counted() {
    let server = RedisServer::start();
    let here = client(&server).await;
    let guard = soon(here.lock("x").acquire()).await.unwrap();
    let mut waiters = Vec::new();
    for _ in 0..2 {
        let there = client(&server).await;
        waiters.push(tokio::spawn(async move { soon(there.lock("x").acquire()).await }));
    }
    eventually(|| server.subscribers("x") == 2).await;
    assert_eq!(only(&all(&here).await).waiting, Some(2));
    waiters.iter().for_each(|waiter| waiter.abort());
    guard.release().await.unwrap();
}

#[tokio::test]
async fn holders_tell_their_process_and_since_when() {
    let server = RedisServer::start();
    let telling = patient(&server).presence(Presence::EachHold).note("nightly billing");
    let telling = telling.connect().await.unwrap();
    let began = std::time::Instant::now();
    let guards = [
        soon(telling.lock("a").acquire()).await.unwrap(),
        soon(telling.lock("b").acquire()).await.unwrap(),
    ];
    let silent = client(&server).await;
    let _hidden = soon(silent.lock("c").acquire()).await.unwrap();
    let told = async {
        loop {
            let list = all(&silent).await;
            if list.locks.iter().filter(|lock| lock.held_for().is_some()).count() == 2 {
                return list;
            }
        }
    };
    let list = soon(told).await;
    for lock in &list.locks[..2] {
        let process = lock.holders[0].process.as_ref().unwrap();
        assert_eq!(process.pid, Some(std::process::id()));
        assert_eq!(process.note.as_deref(), Some("nightly billing"));
        assert!(process.host.is_some() && process.program.is_some());
        assert!(lock.held_for().unwrap() <= began.elapsed());
        assert_eq!(lock.is_held_longer_than(Duration::from_secs(3_600)), Some(false));
        assert_eq!(lock.is_held_longer_than(Duration::ZERO), Some(true));
    }
    assert_eq!(list.locks[2].held_for(), None);
    assert_eq!(list.is_any_held_longer_than(Duration::from_secs(3_600)), None);
    assert_eq!(list.is_any_held_longer_than(Duration::ZERO), Some(true));
    drop(guards);
}

/// By their timers: the hash has them for as long as any of them lives.
#[tokio::test]
async fn readers_that_have_died_are_marked() {
    let server = RedisServer::start();
    let (one, two) = (format!("{UUID}:1"), format!("{UUID}:2"));
    hash(&server, "x", &["mode", "read", &one, "2", &two, "1"]);
    server.cli(&["PEXPIRE", "x", "600000"]);
    // Redisson's, of which the second re-entry lives longest.
    server.cli(&["SET", &format!("{{x}}:{one}:rwlock_timeout:2"), "1", "PX", "300000"]);
    let list = all(&client(&server).await).await;
    let lock = only(&list);
    assert_eq!(ids(lock), [&*one, &*two]);
    let [lives, died] = &lock.holders[..] else { panic!("{lock:?}") };
    assert!(!lives.is_dead && lives.holder.ttl.unwrap() <= ms(300_000));
    assert!(died.is_dead && died.holder.ttl == Some(Duration::ZERO));
    assert_eq!(lock.holders[0].holder.count, 2);
}

#[tokio::test]
async fn holds_of_redisson_and_of_operators_are_shown() {
    let server = RedisServer::start();
    let transaction = format!("{UUID}:7:{}", "0123456789abcdef".repeat(2));
    hash(&server, "java", &[&format!("{UUID}:51"), "3"]);
    hash(&server, "transaction", &[&transaction, "1"]);
    hash(&server, "unlocked", &["palisade-unlock:9", "1"]);
    server.cli(&["PEXPIRE", "java", "30000"]);
    let list = all(&client(&server).await).await;
    assert_eq!(names(&list), ["java", "transaction", "unlocked"]);
    let java = &list.locks[0].holders[0];
    assert_eq!((java.holder.count, java.holder.is_revoked()), (3, false));
    assert!(java.holder.ttl.is_some());
    assert_eq!(list.locks[1].holders[0].holder.id, transaction);
    let operator = &list.locks[2].holders[0];
    assert!(operator.holder.is_revoked() && operator.holder.ttl.is_none());
}

#[tokio::test]
async fn names_are_those_of_the_namespace_and_the_pattern() {
    let server = RedisServer::start();
    let shop = patient(&server).namespace("shop*:").connect().await.unwrap();
    let outside = client(&server).await;
    let mut held: Vec<Box<dyn Debug>> = Vec::new();
    for name in ["a:1", "a:2", "b:1"] {
        held.push(Box::new(soon(shop.lock(name).acquire()).await.unwrap()));
    }
    held.push(Box::new(soon(outside.lock("shops:a:1").acquire()).await.unwrap()));
    assert_eq!(names(&all(&shop).await), ["a:1", "a:2", "b:1"]);
    assert_eq!(names(&found(&shop, "a:*").await), ["a:1", "a:2"]);
    let scans = server.calls_of("scan");
    assert_eq!(names(&found(&shop, "b:1").await), ["b:1"]);
    assert_eq!(names(&found(&shop, "nothing").await), [""; 0]);
    assert_eq!(server.calls_of("scan"), scans, "one name needs none");
    assert_eq!(all(&outside).await.locks.len(), 4);
    let empty = ListOptions::new().matching("");
    assert!(within(ms(60_000), shop.list(&empty)).await.is_err());
}

/// They are numbers, as those of any program.
#[tokio::test]
async fn permits_and_counters_are_shown_where_they_are_named() {
    let server = RedisServer::start();
    let here = client(&server).await;
    let leased = here.expirable_semaphore("leased");
    soon(leased.try_set_permits(3)).await.unwrap();
    let permit = soon(leased.acquire()).await.unwrap();
    let simple = here.semaphore("simple");
    soon(simple.try_set_permits(5)).await.unwrap();
    let _permits = soon(simple.acquire_many(2)).await.unwrap();
    soon(here.count_down_latch("latch").try_set_count(7)).await.unwrap();
    server.cli(&["SET", "text", "x"]);
    assert_eq!(names(&all(&here).await), [""; 0]);
    for (name, sort, left, counts) in [
        ("leased", SortOfLock::Permits, 2, &[1][..]),
        ("simple", SortOfLock::Semaphore, 3, &[2]),
        ("latch", SortOfLock::Counter, 7, &[]),
    ] {
        let list = found(&here, name).await;
        let lock = only(&list);
        assert_eq!((&*lock.name, lock.sort, lock.left), (name, sort, Some(left)));
        let held: Vec<_> = lock.holders.iter().map(|it| it.holder.count).collect();
        assert_eq!((&*held, lock.more_holders), (counts, 0));
        assert!(lock.holders.iter().all(|it| it.holder.access == Access::Permits && !it.is_dead));
    }
    assert_eq!(ids(only(&found(&here, "leased").await)), [permit.holder_id()]);
    assert_eq!(names(&found(&here, "text").await), [""; 0]);
}
