//! Following a leader, on one server.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use palisade::{
    Client,
    election::Observer,
    error::{InspectError, NodeError},
};
use testkit::{Fault, FaultProxy, Way};

use super::{ANNOUNCED, RedisServer, next, patiently, soon, stranger, text, until_value};
use crate::{
    fleet::hold_as_stranger,
    support::{eventually, ms, watchdog},
};

#[tokio::test]
async fn each_change_is_told_without_waiting_for_a_timer() {
    let server = RedisServer::start();
    let election = stranger(&server).await.election("x");
    let mut observer = stranger(&server).await.election("x").observe();
    assert_eq!(next(&mut observer).await, None);
    // The lease is ten minutes: no timer would tell.
    let mut last = None;
    for term in 0..3 {
        let leadership = soon(election.campaign()).await.unwrap();
        leadership.proclaim(format!("{term}")).await.unwrap();
        let leader = until_value(&mut observer, &term.to_string()).await;
        assert_eq!(leader.token, Some(leadership.token()));
        assert!(leader.token > last);
        last = leader.token;
        leadership.proclaim(format!("{term} again")).await.unwrap();
        until_value(&mut observer, &format!("{term} again")).await;
        soon(leadership.resign()).await.unwrap();
        assert_eq!(next(&mut observer).await, None);
    }
}

/// What happened before it listened is seen by its first look.
#[tokio::test]
async fn one_that_comes_late_sees_what_is() {
    let server = RedisServer::start();
    let election = stranger(&server).await.election("x");
    let leadership = soon(election.campaign()).await.unwrap();
    soon(leadership.proclaim("v")).await.unwrap();
    let mut observer = election.observe();
    assert_eq!(text(next(&mut observer).await).as_deref(), Some("v"));
}

/// At most two looks a change: at the end of a term, and at what its successor announces.
#[tokio::test]
async fn a_change_costs_two_commands() {
    let server = RedisServer::start();
    let election = stranger(&server).await.election("x");
    let mut observers = Vec::new();
    for _ in 0..20 {
        let mut observer = stranger(&server).await.election("x").observe();
        next(&mut observer).await;
        observers.push(observer);
    }
    let mut leadership = soon(election.campaign()).await.unwrap();
    soon(leadership.proclaim("0")).await.unwrap();
    for observer in &mut observers {
        until_value(observer, "0").await;
    }
    let before = server.calls_of("hkeys");
    for term in 1..=5 {
        soon(leadership.resign()).await.unwrap();
        leadership = soon(election.campaign()).await.unwrap();
        soon(leadership.proclaim(term.to_string())).await.unwrap();
        for observer in &mut observers {
            until_value(observer, &term.to_string()).await;
        }
    }
    // A busy machine may come between what is announced in one go, and timers between all.
    let looks = server.calls_of("hkeys") - before;
    assert!(looks <= 20 * 5 * 4, "{looks} looks");
}

#[tokio::test]
async fn an_outage_is_told_once_and_so_is_its_end() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let settings = patiently(Client::builder().url(&proxy.url())).node_timeout(ms(300));
    let client = settings.connect_timeout(ms(300)).connect().await.unwrap();
    let mut observer = client.election("x").observe();
    assert_eq!(next(&mut observer).await, None);
    proxy.set(Fault::Reset(Way::Both));
    let stale = soon(observer.changed()).await.unwrap();
    assert!(stale.stale_since.is_some(), "{stale:?}");
    // It leads while the observer is cut off: no message of that will ever come.
    let leadership = soon(stranger(&server).await.election("x").campaign()).await.unwrap();
    soon(leadership.proclaim("v")).await.unwrap();
    proxy.heal();
    let seen = soon(observer.changed()).await.unwrap();
    assert_eq!((text(seen.leader).as_deref(), seen.stale_since), (Some("v"), None));
}

/// The connection for messages alone breaks: what was missed is looked for.
#[tokio::test]
async fn it_looks_again_after_a_gap() {
    let server = RedisServer::start();
    let client = stranger(&server).await;
    let mut observer = client.election("x").observe();
    assert_eq!(next(&mut observer).await, None);
    let changed = tokio::spawn(async move { next(&mut observer).await });
    // Another holds it, which no message tells.
    hold_as_stranger(&server, "x");
    server.cli(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    assert!(soon(changed).await.unwrap().is_some());
}

#[tokio::test]
async fn a_leader_that_died_is_seen_until_its_lease_has_ended() {
    let server = RedisServer::start();
    let client = stranger(&server).await;
    let lock = client.fenced_lock("x").with_lease(watchdog(1_500));
    let election = palisade::election::Election::new(lock);
    let mut observer = stranger(&server).await.election("x").observe();
    assert_eq!(next(&mut observer).await, None);
    let leadership = soon(election.campaign()).await.unwrap();
    assert!(next(&mut observer).await.is_some());
    // Nothing is given back, and no message is sent.
    leadership.guard().reenter().unwrap().orphan();
    drop(leadership);
    loop {
        if next(&mut observer).await.is_none() {
            break;
        }
    }
}

#[tokio::test]
async fn no_observer_sees_an_older_term_after_a_newer_one() {
    let server = RedisServer::start();
    let seen: [Arc<AtomicU32>; 4] = Default::default();
    let mut observing = Vec::new();
    for seen in &seen {
        let mut observer = stranger(&server).await.election("x").observe();
        assert_eq!(next(&mut observer).await, None);
        observing.push(tokio::spawn(follow(observer, seen.clone())));
    }
    let clients = [stranger(&server).await, stranger(&server).await];
    let mut term = 0;
    while term < 30 || seen.iter().any(|seen| seen.load(Ordering::Relaxed) < 5) {
        let leadership = soon(clients[term % 2].election("x").campaign()).await.unwrap();
        for value in 1..4 {
            soon(leadership.proclaim(value.to_string())).await.unwrap();
        }
        soon(leadership.resign()).await.unwrap();
        term += 1;
    }
    let last = soon(clients[0].election("x").campaign()).await.unwrap();
    soon(last.proclaim("99")).await.unwrap();
    for observing in observing {
        soon(observing).await.unwrap();
    }
}

/// Until a leader says 99.
async fn follow(mut observer: Observer, seen: Arc<AtomicU32>) {
    let mut newest = None;
    loop {
        let Some(leader) = soon(observer.changed()).await.unwrap().leader else { continue };
        let at = leader.token.map(|token| {
            let value = leader.value.as_deref().unwrap_or(b"0");
            (token, std::str::from_utf8(value).unwrap().parse::<u32>().unwrap())
        });
        assert!(at.is_none() || at >= newest, "{at:?} after {newest:?}");
        newest = newest.max(at);
        seen.fetch_add(1, Ordering::Relaxed);
        if leader.value.as_deref() == Some(b"99") {
            return;
        }
    }
}

#[tokio::test]
async fn what_does_not_pass_by_itself_is_an_error_and_can_be_asked_again() {
    let server = RedisServer::start();
    let client = stranger(&server).await;
    let mut observer = client.election("x").observe();
    server.cli(&["SET", "x", "not a lock"]);
    let wrong = soon(observer.changed()).await.unwrap_err();
    assert!(matches!(wrong, InspectError::Node { .. }), "{wrong:?}");
    server.cli(&["DEL", "x"]);
    assert_eq!(next(&mut observer).await, None);
    server.cli(&["HSET", "x", "no holder", "1"]);
    let election = client.election("x");
    soon(election.leader()).await.unwrap_err();
    server.cli(&["DEL", "x", ANNOUNCED]);
    client.shutdown(crate::fleet::HANG).await.unwrap();
    let closed = soon(observer.changed()).await.unwrap_err();
    assert!(matches!(closed, InspectError::Node { source: NodeError::Closed, .. }), "{closed:?}");
}

/// Dropped while it looks or waits, it tells the change to the next call.
#[tokio::test]
async fn a_call_that_was_dropped_loses_no_change() {
    let server = RedisServer::start();
    let election = stranger(&server).await.election("x");
    let mut observer = stranger(&server).await.election("x").observe();
    assert_eq!(next(&mut observer).await, None);
    for term in 0..20 {
        let leadership = soon(election.campaign()).await.unwrap();
        for polls in 1..6 {
            let _may_be_told = crate::support::polled(observer.changed(), polls).await;
        }
        soon(leadership.proclaim(term.to_string())).await.unwrap();
        let leader = election.leader().await.unwrap();
        assert_eq!(text(leader), Some(term.to_string()));
        until_value(&mut observer, &term.to_string()).await;
        soon(leadership.resign()).await.unwrap();
    }
}

/// Observers that are dropped leave no subscription.
#[tokio::test]
async fn subscriptions_end_with_the_last_observer() {
    let server = RedisServer::start();
    let client = stranger(&server).await;
    let subscribed = || server.cli(&["PUBSUB", "CHANNELS"]).lines().count();
    let mut observers: Vec<_> = (0..3).map(|_| client.election("x").observe()).collect();
    for observer in &mut observers {
        next(observer).await;
    }
    assert_eq!(subscribed(), 2);
    drop(observers);
    eventually(|| subscribed() == 0).await;
}
