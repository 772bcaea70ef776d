//! What a recorder is told, by faults as they come.

mod faults;
mod recorder;
mod trouble;

use futures::future::join_all;
use palisade::{Client, Masters, Quarantine, error::AcquireError, metering};
use recorder::{count, measured, told, value};
use testkit::RedisServer;

use crate::{
    fleet::HANG,
    support::{eventually, fixed, ms, patient, soon, watchdog},
};

async fn client(server: &RedisServer, group: &str) -> Client {
    measured(patient(server), group).connect().await.unwrap()
}

#[tokio::test]
async fn acquires_are_counted_by_what_came_of_them() {
    let server = RedisServer::start();
    let lock = client(&server, "outcomes").await.lock("x");
    let other = patient(&server).connect().await.unwrap().lock("x");
    let of =
        |outcome: &str| count(&format!("palisade_acquires_total group=outcomes outcome={outcome}"));
    let guard = soon(lock.acquire()).await.unwrap();
    assert_eq!((of("granted"), of("refused"), of("outage")), (1, 0, 0));
    guard.release().await.unwrap();
    let held = soon(other.acquire()).await.unwrap();
    assert!(lock.try_acquire().await.unwrap().is_none());
    assert_eq!((of("granted"), of("refused")), (1, 1));

    let waiting = || count("palisade_waiting group=outcomes");
    let waiter = tokio::spawn({
        let lock = lock.clone();
        async move { lock.acquire().await.map(drop) }
    });
    eventually(|| waiting() == 1).await;
    held.release().await.unwrap();
    soon(waiter).await.unwrap().unwrap();
    assert_eq!((waiting(), of("granted")), (0, 2));

    server.command(&["SET", "foreign", "1"]);
    let foreign = client(&server, "outcomes").await.lock("foreign");
    assert!(matches!(foreign.try_acquire().await, Err(AcquireError::Denied { .. })));
    assert_eq!(of("denied"), 1);
    let waited = value("palisade_acquire_seconds group=outcomes");
    assert_eq!(waited.1, 2, "only those that were granted");
}

#[tokio::test]
async fn holds_are_measured_until_they_are_given_back() {
    let server = RedisServer::start();
    let lock = client(&server, "holds").await.lock("x");
    let guard = soon(lock.acquire()).await.unwrap();
    tokio::time::sleep(ms(50)).await;
    assert_eq!(value("palisade_hold_seconds group=holds"), (0, 0));
    let waiter = tokio::spawn({
        let lock = lock.clone();
        async move { lock.acquire().await.unwrap().release().await }
    });
    eventually(|| count("palisade_waiting group=holds") == 1).await;
    guard.release().await.unwrap();
    soon(waiter).await.unwrap().unwrap();
    let (held, times) = value("palisade_hold_seconds group=holds");
    assert!(held >= 50 && times == 2, "{held} ms {times} times");
    assert!(count("palisade_handovers_total group=holds") <= 1);
}

#[tokio::test]
async fn gauge_has_what_is_held_now() {
    let server = RedisServer::start();
    let client = client(&server, "held").await;
    let held = || count("palisade_held group=held");
    let [one, two] = ["a", "b"].map(|name| client.lock(name).with_lease(watchdog(3_000)));
    let (one, two) = (soon(one.acquire()).await.unwrap(), soon(two.acquire()).await.unwrap());
    assert_eq!(held(), 2);
    let again = one.reenter().unwrap();
    drop(one);
    assert_eq!(held(), 2, "a re-entry is no other hold");
    again.release().await.unwrap();
    assert_eq!(held(), 1);
    server.command(&["DEL", "b"]);
    soon(two.lost()).await;
    eventually(|| held() == 0).await;
    drop(two);
    assert_eq!(held(), 0, "what was lost is not given back");
}

/// More than go into one call.
#[tokio::test]
async fn renewals_are_measured_by_their_calls() {
    const LOCKS: usize = 70;
    let server = RedisServer::start();
    let client = client(&server, "renewals").await;
    let lock = |i: usize| client.lock(format!("x{i}")).with_lease(watchdog(9_000));
    let holds = join_all((0..LOCKS).map(|i| async move { lock(i).acquire().await.unwrap() }));
    let holds = soon(holds).await;
    let late = || value("palisade_renewal_lateness_seconds group=renewals");
    let batches = |of| value(&format!("palisade_batch_size group=renewals of={of}"));
    let (granted, calls) = batches("acquires");
    assert!(granted == 70_000 && calls < 70, "{granted} in {calls}");
    eventually(|| late().1 >= 70 && batches("renewals").0 >= 70_000).await;
    let (renewed, calls) = batches("renewals");
    assert!(calls * 64_000 >= renewed.cast_unsigned(), "{renewed} in {calls}");
    assert!((calls as i64) * 2_000 < renewed, "{renewed} in {calls}");
    let trips = format!("palisade_round_trip_seconds group=renewals server={}", client.node_id());
    assert!(value(&trips).1 > 70, "each acquire has waited for its answer");
    drop(holds);
}

/// And none of it by the watchdog's thread, on which no recorder's code is to run.
#[tokio::test]
async fn losses_and_servers_that_are_down_are_counted() {
    let server = RedisServer::start();
    let client = client(&server, "losses").await;
    let up = format!("palisade_server_up group=losses server={}", client.node_id());
    eventually(|| value(&up).0 == 1_000).await;
    let lock = client.lock("x").with_lease(watchdog(3_000));
    let guard = soon(lock.acquire()).await.unwrap();
    server.command(&["DEL", "x"]);
    soon(guard.lost()).await;
    eventually(|| count("palisade_losses_total cause=gone group=losses") == 1).await;

    let fixed = soon(client.lock("y").with_lease(fixed(1_000)).acquire()).await.unwrap();
    let renewed = soon(client.lock("z").with_lease(watchdog(3_000)).acquire()).await.unwrap();
    server.kill();
    soon(fixed.lost()).await;
    eventually(|| count("palisade_losses_total cause=expired group=losses") >= 1).await;
    eventually(|| value(&up).0 == 0).await;
    drop(renewed);

    for (name, value) in told().iter().filter(|(name, _)| name.contains("group=losses")) {
        let by = value.by.lock().unwrap();
        let watchdog = by.iter().find(|(_, name)| name.as_deref() == Some("palisade-watchdog"));
        assert_eq!(watchdog, None, "{name}");
    }
}

#[tokio::test]
async fn data_that_a_server_has_forgotten_and_too_few_votes_are_counted() {
    let servers = [(); 3].map(|()| RedisServer::start());
    let wary = |server| patient(server).quarantine(Quarantine::Composites);
    let clients = servers.iter().map(|server| measured(wary(server), "votes").build().unwrap());
    let masters = Masters::new(clients).unwrap();
    masters.bless().await.unwrap();
    let lock = masters.red_lock("x");
    soon(lock.acquire()).await.unwrap().release().await.unwrap();
    servers[0].flush();
    let forgotten = masters.clients()[0].node_id().to_string();
    let forgotten = format!("palisade_forgotten_data_total group=votes server={forgotten}");
    eventually_asked(&lock, || count(&forgotten) >= 1).await;
    servers[1].kill();
    servers[2].kill();
    assert!(lock.try_acquire().await.is_err());
    let of =
        |outcome: &str| count(&format!("palisade_acquires_total group=votes outcome={outcome}"));
    assert!(of("outage") + of("quarantined") >= 1);
}

/// Asks for the lock until that holds: a server is looked at when it is asked.
async fn eventually_asked(lock: &palisade::RedLock, holds: impl Fn() -> bool) {
    let asking = async {
        while !holds() {
            if let Ok(Some(guard)) = lock.try_acquire().await {
                guard.release().await.unwrap();
            }
        }
    };
    tokio::time::timeout(HANG, asking).await.unwrap();
}

/// Dashboards go by the names.
#[test]
fn names_are_those_of_the_table() {
    let page = include_str!("../../../src/metering/mod.rs");
    for name in metering::NAMES {
        assert!(page.contains(&format!("//! | `{name}` |")), "{name} is not in the table");
    }
}
