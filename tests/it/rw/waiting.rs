//! A waiter is woken, and writers are not starved.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::future::join_all;
use palisade::{Owner, embedded::Server};
use testkit::{Fault, FaultProxy, RedisServer, Way};
use tokio::time::Instant;

use super::{client, subscribers, wish};
use crate::support::{LONG_LEASE, Look, eventually, ms, patient, promptly, soon};

#[tokio::test]
async fn release_of_a_writer_wakes_all_readers_of_all_processes() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    let writer = lock.write().acquire().await.unwrap();
    let elsewhere = [client(&server).await, client(&server).await];
    let readers = elsewhere.iter().flat_map(|client| (0..4).map(|_| client.rw_lock("x").read()));
    let waiters: Vec<_> =
        readers.map(|read| tokio::spawn(async move { read.acquire().await })).collect();
    eventually(|| subscribers(&server, "x") == 2).await;
    writer.release().await.unwrap();
    let guards = promptly(&server, join_all(waiters)).await;
    let guards: Vec<_> = guards.into_iter().map(|guard| guard.unwrap().unwrap()).collect();
    assert!(guards.iter().all(|guard| guard.is_held()), "all at once");
    assert_eq!(server.hash("x").len(), 1 + 8);
}

#[tokio::test]
async fn release_of_the_last_reader_wakes_a_writer() {
    let server = RedisServer::start();
    let (lock, other) = (client(&server).await.rw_lock("x"), client(&server).await.rw_lock("x"));
    let (one, two) = (lock.read().acquire().await.unwrap(), lock.read().acquire().await.unwrap());
    let write = other.write();
    let waiter = tokio::spawn(async move { write.acquire().await });
    eventually(|| subscribers(&server, "x") == 1).await;
    one.release().await.unwrap();
    assert!(!waiter.is_finished());
    two.release().await.unwrap();
    promptly(&server, waiter).await.unwrap().unwrap().release().await.unwrap();
    assert_eq!(server.size(), 0, "no wish either");
}

#[tokio::test]
async fn new_readers_wait_behind_a_writer_that_waits() {
    let server = RedisServer::start();
    let (lock, other) = (client(&server).await.rw_lock("x"), client(&server).await.rw_lock("x"));
    let owner = Owner::new();
    let reader = lock.read().acquire_as(&owner).await.unwrap();
    let write = other.write();
    let waiter = tokio::spawn(async move { write.acquire().await });
    eventually(|| server.exists(&wish("x"))).await;
    assert!(lock.read().try_acquire().await.unwrap().is_none());
    let again = lock.read().acquire_as(&owner).await.unwrap();
    // It stands for longer than one lasts.
    let began = std::time::Instant::now();
    while began.elapsed() < ms(2_500) {
        assert!(lock.read().try_acquire().await.unwrap().is_none());
        tokio::time::sleep(ms(50)).await;
    }
    drop(again);
    reader.release().await.unwrap();
    let writer = promptly(&server, waiter).await.unwrap().unwrap();
    assert!(!server.exists(&wish("x")), "it has what it wished for");
    writer.release().await.unwrap();
    soon(lock.read().acquire()).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn writer_that_gives_up_lets_waiting_readers_in_at_once() {
    let server = RedisServer::start();
    let (lock, other) = (client(&server).await.rw_lock("x"), client(&server).await.rw_lock("x"));
    let _reader = lock.read().acquire().await.unwrap();
    let write = other.write();
    let waiter = tokio::spawn(async move { write.acquire().await });
    eventually(|| server.exists(&wish("x"))).await;
    let read = lock.read();
    let second = tokio::spawn(async move { read.acquire().await });
    eventually(|| subscribers(&server, "x") == 2).await;
    waiter.abort();
    eventually(|| !server.exists(&wish("x"))).await;
    promptly(&server, second).await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn who_does_not_wait_wishes_nothing() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    let _reader = lock.read().acquire().await.unwrap();
    assert!(lock.write().try_acquire().await.unwrap().is_none());
    assert!(!server.exists(&wish("x")));
    assert!(lock.write().try_acquire_for(ms(50)).await.unwrap().is_none());
    eventually(|| !server.exists(&wish("x"))).await;
    assert!(lock.read().try_acquire().await.unwrap().is_some());
}

/// Sixteen readers whose sections overlap all the time, in paused time.
#[tokio::test(start_paused = true)]
async fn writer_gets_in_among_readers_that_overlap() {
    let server = Server::start_here();
    let is_over = Arc::new(AtomicBool::new(false));
    let section = Duration::from_millis(200);
    let readers: Vec<_> = (0..16_u32)
        .map(|i| {
            let (client, is_over) = (server.client().unwrap(), is_over.clone());
            tokio::spawn(async move {
                tokio::time::sleep(section / 16 * i).await;
                while !is_over.load(Ordering::Relaxed) {
                    let guard = client.rw_lock("x").read().acquire().await.unwrap();
                    tokio::time::sleep(section).await;
                    guard.release().await.unwrap();
                }
            })
        })
        .collect();
    tokio::time::sleep(section * 3).await;
    let client = server.client().unwrap();
    for _ in 0..5 {
        let began = Instant::now();
        let writer = client.rw_lock("x").write().acquire().await.unwrap();
        let waited = began.elapsed();
        assert!(waited <= section * 2 + Duration::from_secs(1), "{waited:?}");
        tokio::time::sleep(section / 4).await;
        writer.release().await.unwrap();
        tokio::time::sleep(section * 3).await;
    }
    is_over.store(true, Ordering::Relaxed);
    join_all(readers).await;
}

/// One reader's acquire does not wait for another's answer.
#[tokio::test(start_paused = true)]
async fn readers_of_one_process_do_not_stand_in_line() {
    let server = Server::start_here();
    let read = server.client().unwrap().rw_lock("x").read();
    drop(read.acquire().await.unwrap());
    server.set_delay(Duration::from_millis(10));
    let began = Instant::now();
    let guards = join_all((0..8).map(|_| read.acquire())).await;
    assert!(guards.iter().all(Result::is_ok));
    assert!(began.elapsed() < Duration::from_millis(80), "{:?}", began.elapsed());
}

#[tokio::test]
async fn reader_whose_answer_was_lost_is_not_kept_out_by_a_writer_that_waits_for_it() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let (far, near) = (patient(&server).url(&proxy.url()), client(&server).await);
    let read = far.redisson_watchdog(LONG_LEASE).connect().await.unwrap().rw_lock("x").read();
    soon(read.acquire()).await.unwrap().release().await.unwrap();
    proxy.set(Fault::Stall(Way::Replies));
    let reader = tokio::spawn(async move { read.try_acquire().await.unwrap() });
    eventually(|| server.exists("x")).await;
    let write = near.rw_lock("x").write();
    let writer = tokio::spawn(async move { write.acquire().await.unwrap() });
    eventually(|| server.exists(&wish("x"))).await;
    proxy.cut();
    proxy.heal();
    let reader = soon(reader).await.unwrap().expect("it reads already");
    assert!(!writer.is_finished());
    reader.release().await.unwrap();
    drop(soon(writer).await.unwrap());
}
