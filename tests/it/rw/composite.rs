//! Sides of read/write locks as members of composites.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::future::join_all;
use palisade::{
    AcquireError, Masters, Member, MultiLock, Owner, RedLock,
    embedded::Server,
    error::{ConfigError, DowngradeError},
    rw::{ReadLock, WriteLock},
};
use testkit::RedisServer;
use tokio::time::Instant;

use super::client;
use crate::{
    fleet::{self, Fleet, HANG, LONG_LEASE},
    support::{Look, eventually, soon},
};

async fn fleet(n: usize) -> Fleet {
    let servers = testkit::Cluster::start(n);
    let clients = servers.urls();
    let clients = clients.iter().map(|url| fleet::client(url).redisson_watchdog(LONG_LEASE));
    let masters = fleet::masters(clients).await;
    Fleet::of(servers, masters)
}

fn red_read(masters: &Masters) -> RedLock<ReadLock> {
    masters.red_read_lock("x")
}

fn red_write(masters: &Masters) -> RedLock<WriteLock> {
    masters.red_write_lock("x")
}

#[tokio::test]
async fn majority_of_readers_shares_and_keeps_a_writer_out() {
    let fleet = fleet(3).await;
    let (read, write) = (red_read(&fleet.masters), red_write(&fleet.masters));
    let (one, other) = (soon(read.acquire()).await.unwrap(), soon(read.acquire()).await.unwrap());
    assert!(write.try_acquire().await.unwrap().is_none());
    one.release().await.unwrap();
    assert!(write.try_acquire().await.unwrap().is_none());
    other.release().await.unwrap();
    // A majority has confirmed; the last one may still be on its way.
    eventually(|| fleet.servers.iter().all(|server| !server.exists("x"))).await;
    let writer = soon(write.acquire()).await.unwrap();
    eventually(|| writer.votes() == 3).await;
    assert!(read.try_acquire().await.unwrap().is_none());
    writer.release().await.unwrap();
    fleet.end(&[]).await;
}

#[tokio::test]
async fn majority_of_readers_survives_a_dead_server_and_wins_it_back() {
    let fleet = fleet(3).await;
    let lease = palisade::Lease::WatchdogOf(crate::support::ms(24_000));
    let read = red_read(&fleet.masters).with_lease(lease).on_outage(palisade::OnOutage::Wait);
    let reader = soon(read.acquire()).await.unwrap();
    eventually(|| reader.votes() == 3).await;
    let wishes = &fleet.servers.iter().next().unwrap();
    // A writer waits: a member that is won back passes its wish.
    wishes.command(&["FLUSHALL"]);
    wishes.command(&["SET", "{x}:palisade_writer", "other", "PX", "600000"]);
    eventually(|| wishes.exists("x")).await;
    assert!(reader.is_held());
    wishes.command(&["DEL", "{x}:palisade_writer"]);
    reader.release().await.unwrap();
    fleet.end(&[]).await;
}

#[tokio::test]
async fn majority_of_writers_is_downgraded_everywhere() {
    let fleet = fleet(3).await;
    let (read, write) = (red_read(&fleet.masters), red_write(&fleet.masters));
    let writer = soon(write.acquire()).await.unwrap();
    eventually(|| writer.votes() == 3).await;
    let reader = writer.downgrade().await.unwrap();
    let reads = |server: &RedisServer| server.hash("x").get("mode").is_some_and(|it| it == "read");
    eventually(|| fleet.servers.iter().all(reads)).await;
    let other = soon(read.acquire()).await.unwrap();
    assert!(write.try_acquire().await.unwrap().is_none());
    other.release().await.unwrap();
    reader.release().await.unwrap();
    fleet.end(&[]).await;
}

#[tokio::test]
async fn member_that_was_frozen_is_downgraded_by_its_renewal() {
    let fleet = fleet(3).await;
    let writer = soon(red_write(&fleet.masters).acquire()).await.unwrap();
    eventually(|| writer.votes() == 3).await;
    let frozen = fleet.servers.iter().next().unwrap();
    frozen.freeze();
    let reader = soon(writer.downgrade()).await.unwrap();
    frozen.thaw();
    eventually(|| frozen.hash("x").get("mode").is_some_and(|mode| mode == "read")).await;
    reader.release().await.unwrap();
    tokio::time::timeout(HANG, fleet.end(&[])).await.unwrap();
}

#[tokio::test]
async fn whole_of_any_mixture_is_held_together() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let mixed = || -> MultiLock<Member> {
        let members: [Member; 4] = [
            client.lock("a").into(),
            client.rw_lock("b").read().into(),
            client.rw_lock("c").write().into(),
            client.fenced_lock("d").into(),
        ];
        MultiLock::new(members).unwrap()
    };
    let guard = soon(mixed().acquire()).await.unwrap();
    assert!(mixed().try_acquire().await.unwrap().is_none());
    assert!(client.rw_lock("b").write().try_acquire().await.unwrap().is_none());
    client.rw_lock("b").read().try_acquire().await.unwrap().unwrap().release().await.unwrap();
    assert!(client.rw_lock("c").read().try_acquire().await.unwrap().is_none());
    let again = guard.reenter().unwrap();
    guard.release().await.unwrap();
    again.release().await.unwrap();
    let inspection = mixed().inspect().await;
    assert!(
        inspection.iter().all(|(_, holder)| matches!(holder, Ok(holders) if holders.is_empty()))
    );
    let one = server.keys();
    assert!(one.iter().all(|key| key.contains("token")), "{one:?}");
}

#[tokio::test]
async fn wholes_of_readers_do_not_exclude_each_other() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let read = || MultiLock::new([client.rw_lock("a").read(), client.rw_lock("b").read()]).unwrap();
    let write =
        || MultiLock::new([client.rw_lock("b").write(), client.rw_lock("a").write()]).unwrap();
    let (one, other) =
        (soon(read().acquire()).await.unwrap(), soon(read().acquire()).await.unwrap());
    let waiter = write();
    let waiter = tokio::spawn(async move { waiter.acquire().await });
    one.release().await.unwrap();
    other.release().await.unwrap();
    let writer = soon(waiter).await.unwrap().unwrap();
    let reader = writer.downgrade().await.unwrap();
    soon(read().acquire()).await.unwrap().release().await.unwrap();
    reader.release().await.unwrap();
    eventually(|| server.size() == 0).await;
}

#[tokio::test]
async fn owner_of_a_whole_may_read_where_it_writes_and_no_other_mixture_is_a_reentry() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let sides = |name: &str| (client.rw_lock(name).read(), client.rw_lock(name).write());
    let ((read_a, write_a), (read_b, write_b)) = (sides("a"), sides("b"));
    let owner = Owner::new();
    let write = MultiLock::new([write_a.clone(), write_b.clone()]).unwrap();
    let writer = write.acquire_as(&owner).await.unwrap();
    let read = MultiLock::new([read_a.clone(), read_b.clone()]).unwrap();
    let reader = read.acquire_as(&owner).await.unwrap();
    assert_eq!(reader.holder_id(), writer.holder_id());
    let mixed: [Member; 2] = [read_a.into(), write_b.into()];
    let mixed = MultiLock::new(mixed).unwrap();
    let refused = mixed.try_acquire_as(&owner).await;
    let is_told = |error: &AcquireError| {
        matches!(error, AcquireError::Config(ConfigError::HeldByAnother { .. }))
    };
    assert!(refused.as_ref().is_err_and(is_told), "{refused:?}");
    let Err(DowngradeError::WriteGuards { guard, .. }) = ({
        let _again = writer.reenter().unwrap();
        writer.downgrade().await
    }) else {
        panic!("another writes")
    };
    guard.release().await.unwrap();
    eventually(|| server.hash("a")["mode"] == "read").await;
    let refused = write.acquire_as(&owner).await;
    let is_typed = |error: &AcquireError| {
        matches!(error, AcquireError::Config(ConfigError::HeldForReading { .. }))
    };
    assert!(refused.as_ref().is_err_and(is_typed), "{refused:?}");
    reader.release().await.unwrap();
}

/// Of readers whose sections overlap on three servers, in paused time.
#[tokio::test(start_paused = true)]
async fn writer_of_a_majority_gets_in_among_readers_that_overlap() {
    let servers = [Server::start_here(), Server::start_here(), Server::start_here()];
    let masters = || Masters::new(servers.iter().map(|server| server.client().unwrap())).unwrap();
    let section = Duration::from_millis(200);
    let is_over = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..8_u32)
        .map(|i| {
            let (lock, is_over) = (red_read(&masters()), is_over.clone());
            tokio::spawn(async move {
                tokio::time::sleep(section / 8 * i).await;
                while !is_over.load(Ordering::Relaxed) {
                    let guard = lock.acquire().await.unwrap();
                    tokio::time::sleep(section).await;
                    guard.release().await.unwrap();
                }
            })
        })
        .collect();
    tokio::time::sleep(section * 3).await;
    let write = red_write(&masters());
    for _ in 0..3 {
        let began = Instant::now();
        write.acquire().await.unwrap().release().await.unwrap();
        let waited = began.elapsed();
        assert!(waited <= section * 2 + Duration::from_secs(1), "{waited:?}");
    }
    is_over.store(true, Ordering::Relaxed);
    join_all(readers).await;
}

/// What a writer takes back of a round must not wake it to the next one.
#[tokio::test(start_paused = true)]
async fn writer_of_several_members_asks_now_and_then_while_somebody_reads() {
    let servers = [Server::start_here(), Server::start_here(), Server::start_here()];
    let masters = Masters::new(servers.iter().map(|server| server.client().unwrap())).unwrap();
    let reader = red_read(&masters).acquire().await.unwrap();
    let calls = || servers.iter().map(Server::commands_processed).sum::<u64>();
    for is_red in [true, false] {
        let before = calls();
        let waited = if is_red {
            red_write(&masters).try_acquire_for(Duration::from_secs(10)).await.unwrap().is_some()
        } else {
            let locks = masters.clients().iter().map(|client| client.rw_lock("x").write());
            let lock = MultiLock::new(locks).unwrap();
            lock.try_acquire_for(Duration::from_secs(10)).await.unwrap().is_some()
        };
        assert!(!waited);
        // Twenty rounds of three calls with their commands, and the pings.
        assert!(calls() - before < 1_500, "{} commands, {is_red}", calls() - before);
    }
    reader.release().await.unwrap();
}
