//! Tokens of composites increase from holder to holder, whichever members grant.

use std::{sync::Arc, time::Duration};

use palisade::{FencedMultiLock, FencedRedLock, Lease, OnOutage};
use testkit::{Cluster, Fault, RedisServer, Way};
use tokio::net::TcpStream;

use super::{Off, Proxied, ahead, everywhere, member_counter, value};
use crate::fleet::{Fleet, HANG, client, drained, eventually, within};

/// The majorities share one master, and not always the same: what an increment at each of them and
/// the greatest reply would not survive.
#[tokio::test]
async fn tokens_increase_over_changing_majorities() {
    let field = Proxied::start(3).await;
    let lock = field.masters.fenced_red_lock("x").on_outage(OnOutage::Wait);
    let mut last = None;
    for round in 0..18 {
        let out = &field.proxies[round % 3];
        out.set(Fault::Reset(Way::Both));
        // Lone grants raise one counter only.
        if round % 4 == 0 {
            let server = &field.servers[(round + 1) % 3];
            let raised = value(server, &member_counter("x")) + 3;
            server.cli(&["SET", &member_counter("x"), &raised.to_string()]);
        }
        let guard = within(HANG, "a majority grants", lock.acquire()).await.unwrap();
        let token = guard.fencing_token();
        assert!(Some(token) > last, "{token} after {last:?}");
        last = Some(token);
        let wrote = |server: &&RedisServer| value(server, &member_counter("x")) == token.get();
        assert!(field.servers.iter().filter(wrote).count() >= 2, "a majority wrote it");
        within(HANG, "the release", guard.release()).await.unwrap();
        out.heal();
    }
    drained(&field.masters).await;
}

// proves: counter-rises
/// The same where clients' clocks do not help: they stand.
#[tokio::test]
async fn tokens_increase_over_changing_majorities_without_any_clock() {
    let servers = Cluster::start(3);
    let clock = Arc::new(Off::At(Duration::ZERO));
    // Far ahead of what the servers would lift a hint to.
    for server in &servers {
        server.cli(&["SET", &member_counter("x"), &ahead(2).to_string()]);
    }
    let urls = servers.urls();
    let all: Vec<_> =
        urls.iter().map(|url| client(url).clock(clock.clone()).build().unwrap()).collect();
    let mut last = None;
    for round in 0..12 {
        let (one, other) = (&all[round % 3], &all[(round + 1) % 3]);
        let nobody = || async { Err::<TcpStream, _>(std::io::ErrorKind::ConnectionRefused.into()) };
        let down = client(&urls[0]).clock(clock.clone()).connector("down", nobody).build().unwrap();
        let members = [one, other, &down].map(|client| client.fenced_lock("x"));
        let guard = FencedRedLock::new(members).unwrap().acquire().await.unwrap();
        assert!(Some(guard.fencing_token()) > last, "{guard:?} after {last:?}");
        last = Some(guard.fencing_token());
        // By both: of three one is down, so there are no others to wait for.
        guard.release().await.unwrap();
    }
}

/// Transfers between changing accounts: the token is greater than that of every earlier holder of
/// any of them.
#[tokio::test]
async fn multi_locks_that_share_a_member_have_increasing_tokens() {
    let server = RedisServer::start();
    let client = client(&server.url()).connect().await.unwrap();
    let accounts = ["a", "b", "c"];
    let mut last = [None; 3];
    for round in 0..15 {
        let pair = [round % 3, (round * 2 + 1) % 3];
        let members = std::collections::BTreeSet::from(pair);
        let locks = members.iter().map(|i| client.fenced_lock(accounts[*i]));
        let guard = FencedMultiLock::new(locks).unwrap().acquire().await.unwrap();
        for i in members {
            assert!(Some(guard.fencing_token()) > last[i], "{guard:?} after {last:?}");
            last[i] = Some(guard.fencing_token());
        }
        guard.release().await.unwrap();
    }
}

#[tokio::test]
async fn token_is_kept_through_renewals_and_restarts_of_a_minority() {
    let fleet = Fleet::start(3).await;
    let lease = Lease::WatchdogOf(Duration::from_secs(9));
    let lock = fleet.masters.fenced_red_lock("x").with_lease(lease).on_outage(OnOutage::Wait);
    let guard = within(HANG, "a grant", lock.acquire()).await.unwrap();
    let token = guard.fencing_token();
    everywhere(fleet.servers.iter(), &guard).await;
    fleet.servers.restart_empty(0);
    for _ in 0..2 {
        let before = guard.deadline();
        eventually("a renewal", || guard.deadline() != before).await;
    }
    assert!(guard.is_held());
    assert_eq!(guard.fencing_token(), token);
    guard.release().await.unwrap();
    let next = within(HANG, "it is free", lock.acquire()).await.unwrap();
    assert!(next.fencing_token() > token);
    next.release().await.unwrap();
}
