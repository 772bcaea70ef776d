//! What becomes of a hold of each kind, and what its holder and others see of it.

use palisade::{
    AnyGuard, LockGuard, LostCause, ReleaseError,
    acl::{Rights, Use},
    error::{InspectError, NodeError},
    inspect::{Access, Holder, Revoked},
};
use testkit::{RedisServer, SlotCluster};

use super::{listening, stand_in, tracking, untold};
use crate::support::{
    Look, acquired, client, eventually, fixed, ms, patient, polled, soon, watchdog,
};

/// Its renewals fail, and its release changes nothing.
async fn is_lost(server: &RedisServer, guard: LockGuard) {
    let before = server.hash("x");
    assert_eq!(soon(guard.lost()).await, LostCause::Taken);
    assert!(matches!(soon(guard.release()).await, Err(ReleaseError::Lost(_))));
    assert_eq!(server.hash("x"), before);
}

#[tokio::test]
async fn holder_is_replaced_in_place_and_its_ttl_stays() {
    let server = RedisServer::start();
    let (client, others) = (tracking(&server).await, client(&server).await);
    let guard = acquired(&client.lock("x")).await;
    let again = guard.reenter().unwrap();
    eventually(|| server.hash("x").values().all(|count| count == "2")).await;
    listening(&server).await;
    let end = server.end_of("x");
    let revoked = others.lock("x").revoke(guard.holder_id()).await.unwrap();
    assert_eq!(server.end_of("x"), end);
    assert!(stand_in(&revoked).starts_with("palisade-unlock:"), "{revoked:?}");
    assert_eq!(
        server.hash("x").into_iter().collect::<Vec<_>>(),
        [(stand_in(&revoked).to_owned(), "1".to_owned())]
    );
    let holder = others.lock("x").holder().await.unwrap().unwrap();
    assert!(holder.is_revoked() && !client.is_own(&holder));
    assert!(others.lock("x").try_acquire().await.unwrap().is_none());
    drop(again);
    is_lost(&server, guard).await;
    assert_eq!(server.end_of("x"), end);
}

#[tokio::test]
async fn holder_goes_before_another_is_granted_it() {
    let server = RedisServer::start();
    let (mine, theirs) = (client(&server).await, client(&server).await);
    for lease in [watchdog(2_000), fixed(2_000)] {
        let guard = acquired(&mine.lock("x").with_lease(lease)).await;
        theirs.lock("x").revoke(guard.holder_id()).await.unwrap();
        let theirs = soon(theirs.lock("x").acquire()).await.unwrap();
        assert!(!guard.is_held(), "{lease:?}");
        assert!(guard.release().await.is_err());
        theirs.release().await.unwrap();
    }
}

#[tokio::test]
async fn other_holders_free_locks_and_what_is_no_lock_stay() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let lock = client.lock("x");
    assert_eq!(lock.revoke("a:1").await.unwrap(), Revoked::NotHeld { is_free: true });
    let guard = acquired(&lock).await;
    let before = server.hash("x");
    for other in ["a:1", "mode", "", &guard.holder_id()[1..]] {
        let revoked = lock.revoke(other).await.unwrap();
        assert_eq!(revoked, Revoked::NotHeld { is_free: false }, "{other}");
    }
    assert_eq!(server.hash("x"), before);
    lock.revoke(guard.holder_id()).await.unwrap();
    let again = lock.revoke(guard.holder_id()).await.unwrap();
    assert!(matches!(again, Revoked::Before { .. }), "{again:?}");
    server.command(&["SET", "text", "1"]);
    server.command(&["HSET", "hash", "a:1", "not a count"]);
    for name in ["text", "hash"] {
        let refused = client.lock(name).revoke("a:1").await;
        let is_foreign =
            matches!(refused, Err(InspectError::Node { source: NodeError::ForeignKey, .. }));
        assert!(is_foreign, "{refused:?}");
    }
}

#[tokio::test]
async fn hold_without_a_ttl_gets_a_lease() {
    let server = RedisServer::start();
    let client = patient(&server).watchdog_lease(ms(20_000)).connect().await.unwrap();
    server.command(&["HSET", "x", "a:1", "1"]);
    client.lock("x").revoke("a:1").await.unwrap();
    assert!((1..=20_000).contains(&server.pttl("x")));
}

#[tokio::test]
async fn counter_of_a_fenced_lock_rises_with_it() {
    let server = RedisServer::start();
    let (client, others) = (tracking(&server).await, client(&server).await);
    let guard = soon(client.fenced_lock("x").acquire()).await.unwrap();
    listening(&server).await;
    let token = guard.fencing_token();
    let counter = || server.command(&["GET", "redisson_lock_token:{x}"]).to_string().parse::<u64>();
    assert_eq!(counter(), Ok(token.get()));
    let revoked = others.lock("x").revoke_now(guard.holder_id()).await.unwrap();
    assert_eq!(revoked, Revoked::Freed);
    assert_eq!(counter(), Ok(token.get() + 1));
    assert_eq!(server.pttl("redisson_lock_token:{x}"), -1);
    let next = soon(others.fenced_lock("x").acquire()).await.unwrap();
    assert!(next.fencing_token().get() > token.get() + 1);
    soon(guard.lost()).await;
}

#[tokio::test]
async fn fair_waiter_is_next_at_the_end_of_the_ttl_or_at_once() {
    let server = RedisServer::start();
    let (client, others) = (client(&server).await, client(&server).await);
    let lock = client.fair_lock("x").with_lease(watchdog(3_000));
    let guard = soon(lock.acquire()).await.unwrap();
    let fair = others.fair_lock("x");
    let mut waiter = Box::pin(fair.acquire());
    while !polled(&mut waiter, 1).await && fair.waiting().await.unwrap().is_empty() {}
    others.lock("x").revoke(guard.holder_id()).await.unwrap();
    let next = soon(waiter).await.unwrap();
    assert!(!guard.is_held());
    let mut waiter = Box::pin(lock.acquire());
    while !polled(&mut waiter, 1).await && lock.waiting().await.unwrap().is_empty() {}
    let revoked = client.lock("x").revoke_now(next.holder_id()).await.unwrap();
    assert_eq!(revoked, Revoked::Freed);
    soon(waiter).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn one_reader_of_many_goes_and_others_read_on() {
    let server = RedisServer::start();
    let (client, others) = (tracking(&server).await, untold(&server).await);
    // Its lease is shorter than that of the other reader, whose ttl the lock has.
    let read = client.rw_lock("x").read().with_lease(watchdog(200_000));
    let guard = soon(read.acquire()).await.unwrap();
    let other = soon(others.rw_lock("x").read().acquire()).await.unwrap();
    listening(&server).await;
    let timer = |holder: &str| format!("{{x}}:{holder}:rwlock_timeout:1");
    let nothing = others.lock("x").revoke("mode").await.unwrap();
    assert_eq!(nothing, Revoked::NotHeld { is_free: false });
    let end = server.end_of(&timer(guard.holder_id()));
    let revoked = others.lock("x").revoke(guard.holder_id()).await.unwrap();
    assert!(!server.exists(&timer(guard.holder_id())));
    assert_eq!(server.end_of(&timer(stand_in(&revoked))), end);
    let holders = others.lock("x").holders().await.unwrap();
    assert!(holders.iter().all(|holder| holder.access == Access::Read));
    assert_eq!(holders.iter().filter(|holder| holder.is_revoked()).count(), 1);
    soon(guard.lost()).await;
    assert!(soon(guard.release()).await.is_err());
    // Nothing renews the stand-in's timer, and what is left of it keeps writers out no longer.
    server.command(&["PEXPIRE", &timer(stand_in(&revoked)), "1"]);
    eventually(|| !server.exists(&timer(stand_in(&revoked)))).await;
    assert!(other.is_held());
    other.release().await.unwrap();
    soon(others.rw_lock("x").write().acquire()).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn writer_is_replaced_with_what_it_reads_and_given_back_at_once() {
    let server = RedisServer::start();
    let (client, others) = (tracking(&server).await, untold(&server).await);
    let guard = soon(client.rw_lock("x").write().acquire()).await.unwrap();
    listening(&server).await;
    let end = server.end_of("x");
    let revoked = others.lock("x").revoke(guard.holder_id()).await.unwrap();
    assert_eq!(server.end_of("x"), end);
    let holder = others.rw_lock("x").write().holder().await.unwrap().unwrap();
    assert_eq!(holder.id, stand_in(&revoked));
    assert!(others.rw_lock("x").read().try_acquire().await.unwrap().is_none());
    soon(guard.lost()).await;
    let lock = others.rw_lock("x");
    let read = lock.read();
    let mut waiter = Box::pin(read.acquire());
    assert!(!polled(&mut waiter, 3).await);
    // A stand-in is a holder, and can be given back, too.
    let freed = others.lock("x").revoke_now(&holder.id).await.unwrap();
    assert_eq!(freed, Revoked::Freed);
    soon(waiter).await.unwrap().release().await.unwrap();
    let reader = soon(client.rw_lock("x").read().acquire()).await.unwrap();
    let freed = others.lock("x").revoke_now(reader.holder_id()).await.unwrap();
    assert_eq!((freed, server.size()), (Revoked::Freed, 0));
}

/// The claim that was lost is not passed on to the next user of the process.
#[tokio::test]
async fn waiter_of_the_same_process_is_not_handed_what_was_lost() {
    let server = RedisServer::start();
    let client = tracking(&server).await;
    let lock = client.lock("x").with_lease(watchdog(3_000));
    let guard = soon(lock.acquire()).await.unwrap();
    let mut waiter = Box::pin(lock.acquire());
    assert!(!polled(&mut waiter, 3).await);
    let end = server.end_of("x");
    let revoked = lock.revoke(guard.holder_id()).await.unwrap();
    soon(guard.lost()).await;
    drop(guard);
    let next = soon(waiter).await.unwrap();
    assert_ne!(next.holder_id(), stand_in(&revoked));
    let ids: Vec<_> = server.hash("x").into_keys().collect();
    assert_eq!(ids, [next.holder_id()]);
    assert!(server.end_of("x") > end, "it was granted anew");
}

#[tokio::test]
async fn holds_in_a_cluster_are_taken_away_too() {
    let cluster = SlotCluster::start(3);
    let settings = crate::deployment::cluster::settings(&cluster);
    let client = soon(settings.connect()).await.unwrap();
    for name in ["a", "b", "{c}:d"] {
        let guard = soon(client.lock(name).acquire()).await.unwrap();
        let revoked = client.lock(name).revoke(guard.holder_id()).await.unwrap();
        let Holder { id, .. } = client.lock(name).holder().await.unwrap().unwrap();
        assert_eq!(id, stand_in(&revoked));
        assert_eq!(soon(guard.lost()).await, LostCause::Taken);
    }
    let reader = soon(client.rw_lock("r").read().acquire()).await.unwrap();
    client.lock("r").revoke(reader.holder_id()).await.unwrap();
    let lost = soon(reader.lost()).await;
    assert!(matches!(lost, LostCause::Taken | LostCause::Gone), "{lost:?}");
    let holders = client.lock("r").holders().await.unwrap();
    assert!(holders.iter().all(Holder::is_revoked), "{holders:?}");
}

#[tokio::test]
async fn rights_that_are_printed_are_enough_and_those_of_a_user_are_not() {
    let server = RedisServer::start();
    let holders = tracking(&server).await;
    let guards = [
        soon(holders.lock("x").acquire()).await.unwrap(),
        soon(holders.fenced_lock("y").acquire()).await.unwrap().into(),
        soon(holders.fair_lock("z").acquire()).await.unwrap(),
        soon(holders.rw_lock("r").read().acquire()).await.unwrap().into(),
        soon(holders.rw_lock("w").write().acquire()).await.unwrap().into(),
    ];
    let rights = Rights::new().with(Use::Lock, "x").with(Use::FencedLock, "y");
    let rights = rights.with(Use::FairLock, "z").with(Use::RwLock, "r").with(Use::RwLock, "w");
    for (rights, may) in [(rights.clone(), false), (rights.revoking(), true)] {
        let rules = rights.rules();
        let user = ["ACL", "SETUSER", "operator", "reset", "on", ">pw"];
        server.cli(&user.into_iter().chain(rules.iter().map(String::as_str)).collect::<Vec<_>>());
        let operator = patient(&server).user("operator").password("pw").connect().await.unwrap();
        for (guard, name) in guards.iter().zip(["x", "y", "z", "r", "w"]) {
            let revoked = operator.lock(name).revoke_now(guard.holder_id()).await;
            let is_refused = matches!(
                revoked,
                Err(InspectError::Node { source: NodeError::Permission { .. }, .. })
            );
            assert_eq!(!is_refused, may, "{name}: {revoked:?}");
            assert_eq!(matches!(revoked, Ok(Revoked::Freed)), may, "{name}: {revoked:?}");
        }
    }
}

/// Memory is asked for by the stand-in alone, which takes no more than the holder did.
#[tokio::test]
async fn holder_is_replaced_on_a_server_that_is_out_of_memory() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let guard = soon(client.fenced_lock("x").acquire()).await.unwrap();
    assert!(!client.lock("x").revoke("a:1").await.unwrap().is_taken_away());
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    assert!(server.command(&["SET", "full", "1"]).is_error());
    let revoked = client.lock("x").revoke(guard.holder_id()).await.unwrap();
    assert!(revoked.is_taken_away(), "{revoked:?}");
}
