//! What stands on the server and what is said on the channel: Redisson's keys, fields and messages.

use std::collections::BTreeMap;

use testkit::{Connection, RedisServer, Reply};

use super::{channel, client, timer};
use crate::support::{Look, eventually, fixed};

fn fields<const N: usize>(fields: [(&str, &str); N]) -> BTreeMap<String, String> {
    fields.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

fn listen(server: &RedisServer, channel: &str) -> Connection {
    let mut subscriber = server.connect();
    subscriber.command(&["SUBSCRIBE", channel]).unwrap();
    subscriber
}

fn heard(subscriber: &mut Connection) -> String {
    subscriber.read().unwrap().array()[2].to_string()
}

#[tokio::test]
async fn reader_is_a_field_and_a_timer() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let guard = client.rw_lock("x").read().with_lease(fixed(200_000)).acquire().await.unwrap();
    let (id, timer) = (guard.holder_id(), timer("x", guard.holder_id()));
    assert_eq!(server.hash("x"), fields([("mode", "read"), (id, "1")]));
    assert_eq!(server.command(&["GET", &timer]), Reply::Bulk(b"1".to_vec()));
    for key in ["x", &timer] {
        let ttl = server.pttl(key);
        assert!((100_000..=200_000).contains(&ttl), "{key}: {ttl}");
    }
    assert_eq!(server.size(), 2);
}

#[tokio::test]
async fn second_reader_lengthens_the_lease_of_all_and_never_shortens_it() {
    let server = RedisServer::start();
    let read = client(&server).await.rw_lock("x").read();
    let first = read.clone().with_lease(fixed(200_000)).acquire().await.unwrap();
    let brief = read.clone().with_lease(fixed(9_000)).acquire().await.unwrap();
    assert!(server.pttl("x") > 100_000);
    assert!(server.pttl(&timer("x", brief.holder_id())) <= 9_000);
    let long = read.with_lease(fixed(500_000)).acquire().await.unwrap();
    assert!(server.pttl("x") > 400_000);
    // Nor does a release give any of it back, or touch what is another's.
    let left = [timer("x", first.holder_id()), timer("x", brief.holder_id())];
    let before = (server.end_of("x"), left.clone().map(|key| server.pttl(&key)));
    long.release().await.unwrap();
    assert_eq!(server.end_of("x"), before.0);
    assert!(left.iter().zip(before.1).all(|(key, ttl)| (0..=ttl).contains(&server.pttl(key))));
    brief.release().await.unwrap();
    assert_eq!(server.hash("x"), fields([("mode", "read"), (first.holder_id(), "1")]));
    first.release().await.unwrap();
    assert_eq!(server.size(), 0);
}

#[tokio::test]
async fn writer_is_a_field_of_its_own() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let guard = client.rw_lock("x").write().acquire().await.unwrap();
    let id = format!("{}:write", guard.holder_id());
    assert_eq!(server.hash("x"), fields([("mode", "write"), (&id, "1")]));
    assert_eq!(server.size(), 1);
    let again = guard.reenter().unwrap();
    let twice = fields([("mode", "write"), (&id, "2")]);
    eventually(|| server.hash("x") == twice).await;
    drop(again);
    let once = fields([("mode", "write"), (&id, "1")]);
    eventually(|| server.hash("x") == once).await;
}

#[tokio::test]
async fn reentries_of_a_reader_are_counted_in_its_field() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let guard = client.rw_lock("x").read().acquire().await.unwrap();
    let _again = guard.reenter().unwrap();
    let twice = fields([("mode", "read"), (guard.holder_id(), "2")]);
    eventually(|| server.hash("x") == twice).await;
    assert_eq!(server.size(), 2, "one timer");
}

#[tokio::test]
async fn last_reader_announces_a_zero_and_a_writer_a_one_and_a_zero() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let names = [("x", channel("x")), ("{tag}:x", "redisson_rwlock:{tag}:x".to_owned())];
    for (name, channel) in names {
        let mut subscriber = listen(&server, &channel);
        let lock = client.rw_lock(name);
        let (one, other) =
            (lock.read().acquire().await.unwrap(), lock.read().acquire().await.unwrap());
        one.release().await.unwrap();
        other.release().await.unwrap();
        lock.write().acquire().await.unwrap().release().await.unwrap();
        assert_eq!([(); 3].map(|()| heard(&mut subscriber)), ["0", "1", "0"], "{name}");
        assert_eq!(server.size(), 0, "{name}");
    }
}

#[tokio::test]
async fn forced_release_announces_what_the_last_holder_would() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    let mut subscriber = listen(&server, &channel("x"));
    let reader = lock.read().acquire().await.unwrap();
    assert!(lock.read().force_release().await.unwrap());
    let writer = lock.write().acquire().await.unwrap();
    assert!(lock.write().force_release().await.unwrap());
    assert_eq!([(); 3].map(|()| heard(&mut subscriber)), ["0", "1", "0"]);
    drop((reader, writer));
}
