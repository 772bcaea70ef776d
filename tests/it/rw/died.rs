//! Readers that died, beside others that live.

use testkit::{Actor, RedisServer, Reply};

use super::{client, timer};
use crate::{
    scripts::{NEVER, assert_about, eval},
    sources::{RW_COUNT, RW_READ, RW_WRITE},
    support::{HANG, Look, eventually, fixed, soon},
};

const WISH: &str = "{x}:palisade_writer";
/// Readers of ours, by their uuids.
const OURS: [&str; 3] = [
    "f9c8d5d5-26b4-8c0c-8a3c-0a1c3d6f9b6e:1",
    "f9c8d5d5-26b4-8c0c-8a3c-0a1c3d6f9b6e:2",
    "00000000-0000-8000-8000-000000000000:30",
];
/// One of Redisson's.
const JAVA: &str = "f9c8d5d5-26b4-4c0c-8a3c-0a1c3d6f9b6e:57";

/// The timer of a reader that died with a lease of three seconds, which nothing renews.
async fn dead_reader(server: &RedisServer) -> String {
    let mut reader = Actor::spawn(env!("CARGO_BIN_EXE_actor"), &[server.url()]);
    assert_eq!(reader.ask("read x 3000", HANG), "acquired");
    drop(reader);
    let id = server.hash("x").into_keys().find(|field| field != "mode").unwrap();
    timer("x", &id)
}

#[tokio::test]
async fn reader_that_died_keeps_a_writer_out_no_longer_than_its_lease_whoever_reads_with_it() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    let timer = dead_reader(&server).await;
    // It gives the lock a lease of minutes.
    lock.read().acquire().await.unwrap().release().await.unwrap();
    assert!(server.exists(&timer) && server.pttl("x") > 300_000);
    assert!(lock.write().try_acquire().await.unwrap().is_none());
    soon(lock.write().acquire()).await.unwrap().release().await.unwrap();
    assert_eq!(server.size(), 0);
}

#[tokio::test]
async fn last_release_of_those_who_live_leaves_nothing_of_a_reader_that_died() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    let timer = dead_reader(&server).await;
    let read = lock.read().with_lease(fixed(500_000));
    let (one, other) = (read.acquire().await.unwrap(), read.acquire().await.unwrap());
    eventually(|| !server.exists(&timer)).await;
    one.release().await.unwrap();
    assert!(other.is_held() && lock.write().try_acquire().await.unwrap().is_none());
    other.release().await.unwrap();
    assert_eq!(server.size(), 0);
}

fn read(server: &RedisServer, holder: &str) {
    let keys = ["x", &timer("x", holder), WISH];
    assert!(matches!(eval(server, RW_READ, &keys, &["30000", NEVER, holder, "0"]), Reply::Int(_)));
}

/// The code of the answer to a writer.
fn write(server: &RedisServer) -> i64 {
    match eval(server, RW_WRITE, &["x", WISH], &["9000", NEVER, "me:1", "0"]) {
        Reply::Int(_) => 1,
        refused => refused.array()[1].int(),
    }
}

/// What is announced for a release.
fn release(server: &RedisServer, holder: &str) -> i64 {
    let keys = ["x", &timer("x", holder), WISH];
    eval(server, RW_COUNT, &keys, &[holder, "0", "c"]).array()[2].int()
}

#[test]
fn writer_is_granted_once_all_readers_of_ours_died() {
    let server = RedisServer::start();
    OURS.iter().for_each(|reader| read(&server, reader));
    for reader in OURS {
        assert_eq!(write(&server), 0, "{reader} lives");
        server.command(&["DEL", &timer("x", reader)]);
    }
    assert_eq!(write(&server), 1);
    assert_eq!((&*server.hash("x")["mode"], server.hash("x").len()), ("write", 2));
    assert_about(server.pttl("x"), 9_000);
}

#[test]
fn writer_is_granted_among_more_dead_readers_than_are_looked_at_at_once() {
    let server = RedisServer::start();
    let readers: Vec<_> =
        (0..150).map(|i| format!("f9c8d5d5-26b4-8c0c-8a3c-0a1c3d6f9b6e:{i}")).collect();
    readers.iter().for_each(|reader| read(&server, reader));
    readers[1..].iter().for_each(|reader| _ = server.command(&["DEL", &timer("x", reader)]));
    assert_eq!(write(&server), 0);
    server.command(&["DEL", &timer("x", &readers[0])]);
    assert_eq!(write(&server), 1);
}

#[test]
fn reader_of_redissons_without_a_timer_is_not_known_to_be_dead() {
    let server = RedisServer::start();
    for reader in [OURS[0], JAVA] {
        read(&server, reader);
        server.command(&["DEL", &timer("x", reader)]);
    }
    assert_eq!(write(&server), 0);
    read(&server, OURS[1]);
    assert_eq!(release(&server, OURS[1]), -1);
    assert_eq!(server.hash("x")[JAVA], "1");
}

#[test]
fn release_is_announced_if_those_who_are_left_died() {
    let server = RedisServer::start();
    let mut listener = server.connect();
    listener.command(&["SUBSCRIBE", "c"]).unwrap();
    OURS.iter().for_each(|reader| read(&server, reader));
    server.command(&["DEL", &timer("x", OURS[0])]);
    assert_eq!(release(&server, OURS[1]), -1, "one lives");
    assert_eq!(release(&server, OURS[2]), 1);
    assert!(!server.exists("x"));
    assert_eq!(listener.read().unwrap().array()[2].to_string(), "0");
}
