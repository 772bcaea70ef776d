//! What goes wrong before the second round trip has brought the token to all that are to write it.

use std::time::Duration;

use palisade::{AcquireError, FencedGuard, Lease};
use testkit::{Cluster, Fault, FaultProxy, RedisServer, Way};

use super::{Proxied, ahead, member_counter, value};
use crate::{
    fleet::{HANG, client, drained, eventually, holder_on, masters, within},
    support::Look,
};

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
    // One of the tests waits for it.
    let hasty = |url: &String| client(url).node_timeout(Duration::from_secs(8));
    let masters = masters(urls.iter().map(hasty)).await;
    let lock = masters.fenced_red_lock("x");
    let given = lock.with(async |guard| guard.fencing_token().get()).await.unwrap();
    eventually("all are free", || servers.iter().all(|server| !server.exists("x"))).await;
    servers.kill(2);
    let known = ahead(1);
    servers[1].cli(&["SET", &member_counter("x"), &known.to_string()]);
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
    assert_eq!(value(&servers[1], &member_counter("x")), known + 1, "but for counters");
    check(came, value(&servers[0], &member_counter("x")));
    // The token that was not agreed on belongs to none; those that were given are older than the
    // next.
    let again = crate::fleet::masters(servers.urls().iter().map(|url| client(url))).await;
    let next = again.fenced_red_lock("x").with(async |guard| guard.fencing_token().get()).await;
    assert!(next.unwrap() > given);
}

#[tokio::test]
async fn round_whose_key_goes_before_the_token_is_agreed_on_is_lost_and_taken_back() {
    let gone = |server: &RedisServer| drop(server.cli(&["DEL", "x"]));
    let check = |came: Result<Option<FencedGuard>, AcquireError>, counter| {
        assert!(came.unwrap().is_none());
        assert!(counter < ahead(0), "not promoted");
    };
    before_the_second_round_trip(gone, check).await;
}

// proves: counter-rises
#[tokio::test]
async fn counter_that_is_past_the_token_already_is_not_lowered_and_loses_the_round() {
    let greater = ahead(2);
    let past = |server: &RedisServer| {
        server.cli(&["SET", &member_counter("x"), &greater.to_string()]);
    };
    let check = |came: Result<Option<FencedGuard>, AcquireError>, counter| {
        assert!(came.unwrap().is_none());
        assert_eq!(counter, greater);
    };
    before_the_second_round_trip(past, check).await;
}

#[tokio::test]
async fn master_that_is_silent_when_told_the_token_is_an_outage_that_leaves_no_key() {
    let check = |came: Result<Option<FencedGuard>, AcquireError>, _counter| {
        let error = came.unwrap_err();
        let AcquireError::Unavailable { ballot, .. } = &error else { panic!("{error}") };
        assert!(ballot.failures().any(|(_, cause)| cause.is_unknown()), "{ballot}");
    };
    before_the_second_round_trip(RedisServer::freeze, check).await;
}

/// One of the first three falls silent before it has written the token of the second round. Two
/// others grant meanwhile: as good a majority as any.
#[tokio::test]
async fn late_members_write_the_token_in_place_of_one_that_fell_silent() {
    let field = Proxied::start(5).await;
    let lock = field.masters.fenced_red_lock("x").with_lease(Lease::WatchdogOf(HANG));
    let known = ahead(1);
    field.servers[0].cli(&["SET", &member_counter("x"), &known.to_string()]);
    let [_, silent, _, late @ ..] = field.proxies.as_slice() else { unreachable!() };
    late.iter().for_each(|proxy| proxy.set(Fault::Stall(Way::Replies)));
    silent.set(Fault::Delay(Duration::from_millis(50)));
    let acquire = tokio::spawn(async move { lock.acquire().await });
    // Its grant is on its way back.
    eventually("it grants", || holder_on(&field.servers[1], "x").is_some()).await;
    silent.set(Fault::Stall(Way::Requests));
    let token = known + 1;
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
