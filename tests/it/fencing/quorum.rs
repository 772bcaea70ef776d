//! Tokens of composites: over changing majorities, agreed on in a second round trip where counters
//! differ, and not at all where they cannot be agreed on.

use std::{sync::Arc, time::Duration};

use palisade::{
    AcquireError, Client, FencedGuard, FencedMultiLock, FencedRedLock, FencingToken, Lease,
    Masters, NodeError,
};
use testkit::{Cluster, Fault, FaultProxy, RedisServer, Way};
use tokio::net::TcpStream;

use super::{Off, calls, calls_since, member_counter, value};
use crate::{
    fleet::{Fleet, HANG, client, drained, eventually, holder_on, masters, within},
    support::Look,
};

/// How many commands came from clients.
fn asked(servers: &[&RedisServer]) -> u64 {
    servers.iter().map(|server| server.top_level_commands()).sum()
}

async fn everywhere(servers: impl Iterator<Item = &RedisServer> + Clone, guard: &FencedGuard) {
    let id = guard.holder_id().to_owned();
    let all = || servers.clone().all(|s| holder_on(s, "x").as_deref() == Some(&*id));
    eventually("every member grants", all).await;
}

/// Only counters are left, all of them with the same value.
fn counters_agree(servers: &Cluster, token: FencingToken) {
    for server in servers {
        assert_eq!(value(server, &member_counter("x")), token.get());
    }
}

#[tokio::test]
async fn uncontended_acquire_and_release_take_one_round_trip_each() {
    for n in [1, 3, 5] {
        let fleet = Fleet::start(n).await;
        let servers: Vec<_> = fleet.servers.iter().collect();
        let lock = fleet.masters.fenced_red_lock("x");
        // The first use of a connection may be more.
        lock.acquire().await.unwrap().release().await.unwrap();
        fleet.masters.red_lock("x").acquire().await.unwrap().release().await.unwrap();
        eventually("all are free", || servers.iter().all(|s| !s.exists("x"))).await;
        for _ in 0..5 {
            let before = asked(&servers);
            let guard = lock.acquire().await.unwrap();
            everywhere(fleet.servers.iter(), &guard).await;
            assert_eq!(asked(&servers) - before, n as u64, "one script for each master");
            counters_agree(&fleet.servers, guard.fencing_token());
            guard.release().await.unwrap();
            eventually("all are free", || servers.iter().all(|s| !s.exists("x"))).await;
            assert_eq!(asked(&servers) - before, 2 * n as u64);
        }
    }
}

#[tokio::test]
async fn plain_composites_send_what_they_did() {
    let fleet = Fleet::start(3).await;
    let plain = fleet.masters.multi_lock("x");
    plain.acquire().await.unwrap().release().await.unwrap();
    let before: Vec<_> = fleet.servers.iter().map(calls).collect();
    plain.acquire().await.unwrap().release().await.unwrap();
    for (server, before) in fleet.servers.iter().zip(&before) {
        eventually("it is free", || !server.exists("x")).await;
        let mut calls = calls_since(server, before);
        calls.retain(|command, _| command != "exists");
        let expected = [
            ("del", 1),
            ("evalsha", 2),
            ("hexists", 2),
            ("hset", 1),
            ("pexpire", 1),
            ("pttl", 1),
            ("publish", 1),
            ("time", 2),
        ];
        let calls: Vec<_> = calls.iter().map(|(command, count)| (&**command, *count)).collect();
        assert_eq!(calls, expected);
        assert!(server.keys().is_empty(), "no counter");
    }
}

/// Three masters, each behind a proxy.
struct Proxied {
    servers: Cluster,
    proxies: Vec<FaultProxy>,
    masters: Masters,
}

impl Proxied {
    async fn start(n: usize) -> Self {
        let servers = Cluster::start(n);
        let proxies: Vec<_> = servers.iter().map(FaultProxy::before).collect();
        let clients = proxies.iter().map(|proxy| {
            let addr = proxy.addr();
            Client::builder()
                .node_timeout(Duration::from_millis(300))
                .quarantine(palisade::Quarantine::Durable)
                .connector("proxy", move || TcpStream::connect(addr))
        });
        let masters = masters(clients).await;
        Self { servers, proxies, masters }
    }
}

/// The majorities share one master, and not always the same: what an increment at each of them and
/// the greatest reply would not survive.
#[tokio::test]
async fn tokens_increase_over_changing_majorities() {
    let field = Proxied::start(3).await;
    let lock = field.masters.fenced_red_lock("x").on_outage(palisade::OnOutage::Wait);
    let mut last = None;
    for round in 0..18 {
        let out = &field.proxies[round % 3];
        out.set(Fault::Reset(Way::Both));
        // Lone grants raise one counter only.
        if round % 4 == 0 {
            let server = &field.servers[(round + 1) % 3];
            let ahead = value(server, &member_counter("x")) + 3;
            server.cli(&["SET", &member_counter("x"), &ahead.to_string()]);
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

/// The same where clients' clocks do not help: they stand.
#[tokio::test]
async fn tokens_increase_over_changing_majorities_without_any_clock() {
    let servers = Cluster::start(3);
    let clock = Arc::new(Off::At(Duration::ZERO));
    // Far ahead of what the servers would lift a hint to.
    for server in &servers {
        server.cli(&["SET", &member_counter("x"), "8000000000000000"]);
    }
    let urls = servers.urls();
    let all: Vec<_> =
        urls.iter().map(|url| client(url).clock(clock.clone()).build().unwrap()).collect();
    let mut last = None;
    for round in 0..12 {
        let (one, other) = (&all[round % 3], &all[(round + 1) % 3]);
        let nobody = || async { Err::<TcpStream, _>(std::io::ErrorKind::ConnectionRefused.into()) };
        let down = client("").clock(clock.clone()).connector("down", nobody).build().unwrap();
        let members = [one, other, &down].map(|client| client.fenced_lock("x"));
        let guard = FencedRedLock::new(members).unwrap().acquire().await.unwrap();
        assert!(Some(guard.fencing_token()) > last, "{guard:?} after {last:?}");
        last = Some(guard.fencing_token());
        guard.release().await.unwrap();
        // Both, not only the one that the release waited for: they are all there are.
    }
}

#[tokio::test]
async fn counters_that_differ_are_brought_to_the_greatest_in_one_more_round_trip() {
    let fleet = Fleet::start(3).await;
    let servers: Vec<_> = fleet.servers.iter().collect();
    let lock = fleet.masters.fenced_red_lock("x");
    lock.acquire().await.unwrap().release().await.unwrap();
    eventually("all are free", || servers.iter().all(|s| !s.exists("x"))).await;
    // One of the majority is ahead: whichever two answer first, two of three are behind.
    for (server, ahead) in fleet.servers.iter().zip(["7000", "7100", "7200"]) {
        server.cli(&["SET", &member_counter("x"), &format!("{ahead}000000000000")]);
    }
    let guard = lock.acquire().await.unwrap();
    let token = guard.fencing_token().get();
    assert!([7_100_000_000_000_001, 7_200_000_000_000_001].contains(&token), "{token}");
    let wrote = |server: &&&RedisServer| value(server, &member_counter("x")) == token;
    assert!(servers.iter().filter(wrote).count() >= 2);
    everywhere(fleet.servers.iter(), &guard).await;
    guard.release().await.unwrap();
    eventually("all are free", || servers.iter().all(|s| !s.exists("x"))).await;
    let next = lock.acquire().await.unwrap();
    assert!(next.fencing_token().get() > token);
    next.release().await.unwrap();
}

#[tokio::test]
async fn multi_lock_writes_its_token_everywhere() {
    let fleet = Fleet::start(3).await;
    let lock = fleet.masters.fenced_multi_lock("x");
    for (server, ahead) in fleet.servers.iter().zip(["7000", "7100", "7200"]) {
        server.cli(&["SET", &member_counter("x"), &format!("{ahead}000000000000")]);
    }
    for further in 1..=3 {
        let guard = lock.acquire().await.unwrap();
        assert_eq!(guard.fencing_token().get(), 7_200_000_000_000_000 + further);
        counters_agree(&fleet.servers, guard.fencing_token());
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
async fn plain_and_fenced_composites_exclude_each_other() {
    let fleet = Fleet::start(3).await;
    let masters = &fleet.masters;
    let guard = masters.fenced_red_lock("x").acquire().await.unwrap();
    assert!(masters.red_lock("x").try_acquire().await.unwrap().is_none());
    assert!(masters.clients()[0].fenced_lock("x").try_acquire().await.unwrap().is_none());
    assert_eq!(
        masters.fenced_red_lock("x").inspect().await.majority_holder().unwrap().id,
        guard.holder_id()
    );
    guard.release().await.unwrap();
    let guard = within(HANG, "it is free", masters.multi_lock("x").acquire()).await.unwrap();
    assert!(masters.fenced_multi_lock("x").try_acquire().await.unwrap().is_none());
    assert!(masters.fenced_red_lock("x").try_acquire().await.unwrap().is_none());
    guard.release().await.unwrap();
}

/// Two of three masters are up and disagree: the first is to be told the token of the second. Its
/// answer to the acquire is kept back until `then` is done to it. `check` is told what came of that,
/// and the value of the first counter.
async fn before_the_second_round_trip(
    then: impl FnOnce(&RedisServer),
    check: impl FnOnce(Result<Option<FencedGuard>, AcquireError>, u64),
) {
    let servers = Cluster::start(3);
    let proxy = FaultProxy::before(&servers[0]);
    let urls = [proxy.url(), servers[1].url(), servers[2].url()];
    let hasty = |url: &String| client(url).node_timeout(Duration::from_secs(2));
    let masters = masters(urls.iter().map(hasty)).await;
    let lock = masters.fenced_red_lock("x");
    let given = lock.with(async |guard| guard.fencing_token().get()).await.unwrap();
    eventually("all are free", || servers.iter().all(|server| !server.exists("x"))).await;
    servers.kill(2);
    servers[1].cli(&["SET", &member_counter("x"), "7000000000000000"]);
    proxy.set(Fault::Stall(Way::Replies));
    let attempt = tokio::spawn(async move { lock.try_acquire().await });
    eventually("both grant", || servers[0].exists("x") && servers[1].exists("x")).await;
    then(&servers[0]);
    proxy.heal();
    let came = within(HANG, "the attempt", attempt).await.unwrap();
    servers.thaw(0);
    servers.restart(2);
    // What was not confirmed is finished by the releaser, over the proxy too.
    drained(&masters).await;
    for server in &servers {
        assert!(!server.exists("x"), "rolled back everywhere");
    }
    assert_eq!(value(&servers[1], &member_counter("x")), 7_000_000_000_000_001, "but for counters");
    check(came, value(&servers[0], &member_counter("x")));
    // The token that was not agreed on is nobody's; those that were given are older than the next.
    let again = crate::fleet::masters(servers.urls().iter().map(|url| client(url))).await;
    let next = again.fenced_red_lock("x").with(async |guard| guard.fencing_token().get()).await;
    assert!(next.unwrap() > given);
}

#[tokio::test]
async fn round_whose_key_goes_before_the_token_is_agreed_on_is_lost_and_taken_back() {
    let gone = |server: &RedisServer| drop(server.cli(&["DEL", "x"]));
    let check = |came: Result<Option<FencedGuard>, AcquireError>, counter| {
        assert!(came.unwrap().is_none());
        assert!(counter < 7_000_000_000_000_000, "not promoted");
    };
    before_the_second_round_trip(gone, check).await;
}

#[tokio::test]
async fn counter_that_is_past_the_token_already_is_not_lowered_and_loses_the_round() {
    let past = |server: &RedisServer| {
        server.cli(&["SET", &member_counter("x"), "7100000000000000"]);
    };
    let check = |came: Result<Option<FencedGuard>, AcquireError>, counter| {
        assert!(came.unwrap().is_none());
        assert_eq!(counter, 7_100_000_000_000_000);
    };
    before_the_second_round_trip(past, check).await;
}

#[tokio::test]
async fn master_that_is_silent_when_told_the_token_is_an_outage_that_leaves_no_key() {
    let check = |came: Result<Option<FencedGuard>, AcquireError>, _counter| {
        let error = came.unwrap_err();
        let AcquireError::Unavailable { ballot } = &error else { panic!("{error}") };
        assert!(ballot.failures().any(|(_, cause)| cause.is_unknown()), "{ballot}");
    };
    before_the_second_round_trip(RedisServer::freeze, check).await;
}

/// What the three tests above would be if nothing went wrong.
#[tokio::test]
async fn round_is_won_once_the_second_master_knows_the_token() {
    let servers = Cluster::start(3);
    let masters = masters(servers.urls().iter().map(|url| client(url))).await;
    servers.kill(2);
    servers[1].cli(&["SET", &member_counter("x"), "7000000000000000"]);
    let guard = masters.fenced_red_lock("x").try_acquire().await.unwrap().unwrap();
    for server in servers.iter().take(2) {
        assert_eq!(value(server, &member_counter("x")), guard.fencing_token().get());
    }
    guard.release().await.unwrap();
}

#[tokio::test]
async fn member_whose_key_is_no_counter_does_not_vote() {
    let fleet = Fleet::start(3).await;
    fleet.servers[1].cli(&["SET", &member_counter("x"), "not a number"]);
    let guard = fleet.masters.fenced_red_lock("x").acquire().await.unwrap();
    guard.release().await.unwrap();
    let error = fleet.masters.fenced_multi_lock("x").acquire().await.unwrap_err();
    let AcquireError::Unavailable { ballot } = &error else { panic!("{error}") };
    let foreign = ballot.failures().filter(|(_, c)| matches!(c, NodeError::ForeignCounter)).count();
    assert_eq!(foreign, 1);
    assert!(!fleet.servers[1].exists("x"));
    assert_eq!(fleet.servers[1].cli(&["GET", &member_counter("x")]), "not a number");
}

#[tokio::test]
async fn counters_of_composites_end_after_a_day_or_ten_leases_without_use() {
    let server = RedisServer::start();
    const HOUR: Duration = Duration::from_secs(3600);
    let client = client(&server.url()).max_lease(10 * HOUR).connect().await.unwrap();
    for (lease, expected) in [(HOUR, 86_400_000), (10 * HOUR, 360_000_000)] {
        let lock = FencedRedLock::new([client.fenced_lock("x")]).unwrap();
        let guard = lock.with_lease(Lease::Fixed(lease)).acquire().await.unwrap();
        guard.release().await.unwrap();
        let ttl = server.pttl(&member_counter("x"));
        assert!((expected - 10_000..=expected).contains(&ttl), "{ttl}");
    }
}

/// The check of the marker stands before the fenced acquire as before the plain one.
#[tokio::test]
async fn strict_clients_get_tokens_from_blessed_masters_alone() {
    let servers = Cluster::start(3);
    let strict = |url: &String| client(url).quarantine(palisade::Quarantine::Strict);
    let masters = masters(servers.urls().iter().map(strict)).await;
    let lock = masters.fenced_red_lock("x");
    let error = lock.try_acquire().await.unwrap_err();
    assert!(matches!(error, AcquireError::Quarantined { .. }), "{error}");
    assert!(servers.iter().all(|server| server.keys().is_empty()), "no counter was raised");
    masters.bless().await.unwrap();
    let mut last = None;
    for _ in 0..3 {
        let guard = within(HANG, "it is free", lock.acquire()).await.unwrap();
        assert!(Some(guard.fencing_token()) > last);
        last = Some(guard.fencing_token());
        guard.release().await.unwrap();
    }
    drained(&masters).await;
    servers.iter().for_each(RedisServer::flush);
    let masters = crate::fleet::masters(servers.urls().iter().map(strict)).await;
    let error = masters.fenced_red_lock("x").try_acquire().await.unwrap_err();
    assert!(matches!(error, AcquireError::Quarantined { .. }), "{error}");
}

#[tokio::test]
async fn token_is_kept_through_renewals_and_restarts_of_a_minority() {
    let fleet = Fleet::start(3).await;
    let lock =
        fleet.masters.fenced_red_lock("x").with_lease(Lease::WatchdogOf(Duration::from_secs(2)));
    let guard = lock.acquire().await.unwrap();
    let token = guard.fencing_token();
    everywhere(fleet.servers.iter(), &guard).await;
    fleet.servers.restart_empty(0);
    for _ in 0..3 {
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

/// One of the first three falls silent before it has written the token of the second round. Two
/// others grant meanwhile: as good a majority as any.
#[tokio::test]
async fn late_members_write_the_token_in_place_of_one_that_fell_silent() {
    let field = Proxied::start(5).await;
    let lock = field.masters.fenced_red_lock("x").with_lease(Lease::WatchdogOf(HANG));
    field.servers[0].cli(&["SET", &member_counter("x"), "8000000000000000"]);
    let [_, silent, _, late @ ..] = field.proxies.as_slice() else { unreachable!() };
    late.iter().for_each(|proxy| proxy.set(Fault::Stall(Way::Replies)));
    silent.set(Fault::Delay(Duration::from_millis(50)));
    let acquire = tokio::spawn(async move { lock.acquire().await });
    // Its grant is on its way back.
    eventually("it grants", || holder_on(&field.servers[1], "x").is_some()).await;
    silent.set(Fault::Stall(Way::Requests));
    let token = 8_000_000_000_000_001;
    let wrote = |i: usize| value(&field.servers[i], &member_counter("x")) == token;
    eventually("the second round is under way", || wrote(2)).await;
    late.iter().for_each(FaultProxy::heal);
    let guard = within(HANG, "the acquire", acquire).await.unwrap().unwrap();
    assert_eq!(guard.fencing_token().get(), token);
    assert!((0..5).filter(|i| wrote(*i)).count() >= 3, "a majority wrote it");
    guard.release().await.unwrap();
    silent.heal();
    drained(&field.masters).await;
}
