//! A fleet that was started just now.

use std::time::{Duration, Instant};

use palisade::{
    AcquireError, Client, FencedMultiLock, LockGuard, Masters, MultiLock, OnOutage, Quarantine,
    error::BlessError,
};
use testkit::{Cluster, RedisServer};

use super::{D, client, counts_in, wary, wary_masters, wary_strangers};
use crate::fleet::{HANG, Rule, SOON, drained, eventually, within};

#[tokio::test]
async fn try_acquire_says_at_once_who_is_young_for_how_long_and_what_to_do() {
    let servers = Cluster::start(3);
    let masters = wary_masters(&servers).await;
    for rule in Rule::BOTH {
        let lock = rule.lock(&masters, "x");
        let started = Instant::now();
        let error = lock.try_acquire().await.unwrap_err();
        assert!(started.elapsed() < SOON);
        let text = error.to_string();
        assert!(text.contains("3 of 3 masters started "), "{text}");
        assert!(text.contains(" s ago and may have forgotten locks; "), "{text}");
        assert!(text.contains(" votes count in "), "{text}");
        assert!(text.ends_with("; if they never held a lock, bless them"), "{text}");
        let left = counts_in(&error);
        // The uptime is told in whole seconds.
        assert!(left > D - HANG && left <= D + Duration::from_secs(1), "{left:?}");
        assert_eq!(error.ballot().unwrap().failures().count(), 3);

        let started = Instant::now();
        let limited = lock.try_acquire_for(D / 2).await.unwrap_err();
        assert!(started.elapsed() < SOON, "it cannot come true within the limit");
        counts_in(&limited);
    }
    assert!(servers.iter().all(|server| server.keys().is_empty()), "nobody was asked");
}

/// With leases so short that D is.
#[tokio::test]
async fn acquire_waits_until_the_votes_count_whatever_is_said_of_outages() {
    let servers = Cluster::start(3);
    let short = Duration::from_secs(2);
    let client = |url: &String| {
        let client = wary(client(url)).fleet_max_lease(short).watchdog_lease(short);
        client.clock_skew(Duration::from_millis(10)).build().unwrap()
    };
    let masters = Masters::new(servers.urls().iter().map(client)).unwrap();
    let asked = Instant::now();
    let error = masters.red_lock("x").try_acquire().await.unwrap_err();
    let left = counts_in(&error);
    for (on_outage, name) in [(OnOutage::Fail, "x"), (OnOutage::Wait, "y")] {
        let lock = masters.multi_lock(name).on_outage(on_outage);
        let guard = within(left + SOON, "the quarantine ends", acquire(&lock)).await;
        let waited = asked.elapsed();
        // The uptime is told in whole seconds.
        assert!(waited + Duration::from_secs(1) > left, "{waited:?} of {left:?}");
        guard.release().await.unwrap();
    }
    drained(&masters).await;
}

/// A vote is late by chance where the lease is so short: that is another outage than a quarantine.
async fn acquire(lock: &MultiLock) -> LockGuard {
    loop {
        match lock.acquire().await {
            Err(AcquireError::Unavailable { .. }) => {}
            acquired => return acquired.unwrap(),
        }
    }
}

#[tokio::test]
async fn blessed_masters_vote_at_once_also_for_who_waits_elsewhere() {
    let servers = Cluster::start(3);
    let masters = wary_masters(&servers).await;
    let others = wary_strangers(&servers).await;
    let lock = others.red_lock("x");
    let waiter = tokio::spawn(async move { lock.acquire().await });
    let watched = others.clients()[0].clone();
    eventually("it waits", || watched.subscriptions() > 0).await;
    assert!(masters.red_lock("x").try_acquire().await.is_err());

    masters.bless().await.unwrap();
    let blessed = Instant::now();
    for rule in Rule::BOTH {
        let guard = rule.lock(&masters, "mine").try_acquire().await.unwrap().expect("it is free");
        guard.release().await.unwrap();
    }
    let guard = within(HANG, "the waiter sees it", waiter).await.unwrap().unwrap();
    assert!(blessed.elapsed() < SOON, "{:?}", blessed.elapsed());
    guard.release().await.unwrap();

    let newcomers = wary_strangers(&servers).await;
    let guard = newcomers.multi_lock("x").try_acquire().await.unwrap().expect("it is free");
    guard.release().await.unwrap();
    for masters in [&masters, &others, &newcomers] {
        drained(masters).await;
    }
}

#[tokio::test]
async fn multi_lock_whose_contenders_all_name_the_same_members_does_not_wait() {
    let servers = Cluster::start(3);
    let masters = wary_masters(&servers).await;
    assert!(masters.multi_lock("x").try_acquire().await.is_err());
    let lock = masters.multi_lock("x").assume_same_members();
    let guard = lock.try_acquire().await.unwrap().expect("it is free");
    guard.release().await.unwrap();
    drained(&masters).await;
}

#[tokio::test]
async fn single_lock_waits_only_if_its_client_says_always() {
    let server = RedisServer::start();
    let lax = wary(client(&server.url())).connect().await.unwrap();
    lax.lock("x").try_acquire().await.unwrap().expect("it is free").release().await.unwrap();
    let strict: Client =
        client(&server.url()).quarantine(Quarantine::Always).connect().await.unwrap();
    let error = strict.lock("x").try_acquire().await.unwrap_err();
    assert!(error.to_string().contains("; its vote counts in "), "{error}");
    Masters::new([lax.clone()]).unwrap().bless().await.unwrap();
    let acquired = within(HANG, "it looks again", strict.lock("x").acquire()).await;
    acquired.unwrap().release().await.unwrap();
}

/// README's first example hung for a minute on a server that was just started.
#[tokio::test]
async fn multi_lock_at_one_address_is_vetted_like_a_lock() {
    let server = RedisServer::start();
    let database = |n| wary(client(&server.url())).database(n);
    let [zero, one] = [database(0).build().unwrap(), database(1).build().unwrap()];
    for members in [[zero.lock("x"), zero.lock("y")], [zero.lock("x"), one.lock("x")]] {
        let lock = MultiLock::new(members).unwrap();
        let guard = within(SOON, "nobody waits", lock.acquire()).await.unwrap();
        guard.release().await.unwrap();
    }
    let fenced = [zero.fenced_lock("x"), one.fenced_lock("y")];
    let guard = FencedMultiLock::new(fenced).unwrap().try_acquire().await.unwrap();
    guard.expect("it is free").release().await.unwrap();

    // Whether another address is another server is not known before both were asked.
    let elsewhere = format!("redis://localhost:{}", server.port());
    let elsewhere = wary(client(&elsewhere)).build().unwrap();
    let two_addresses = MultiLock::new([zero.lock("x"), elsewhere.lock("y")]).unwrap();
    let text = two_addresses.try_acquire().await.unwrap_err().to_string();
    assert!(text.contains(" masters started "), "{text}");

    let always = database(0).quarantine(Quarantine::Always).build().unwrap();
    let careful = MultiLock::new([always.lock("x"), always.lock("y")]).unwrap();
    let text = careful.try_acquire().await.unwrap_err().to_string();
    assert!(text.contains("1 of 1 masters started "), "{text}");
}

#[tokio::test]
async fn one_server_is_blessed_by_its_client() {
    let server = RedisServer::start();
    let client = client(&server.url()).quarantine(Quarantine::Always).connect().await.unwrap();
    counts_in(&client.lock("x").try_acquire().await.unwrap_err());
    client.bless().await.unwrap();
    client.lock("x").try_acquire().await.unwrap().unwrap().release().await.unwrap();
    let again = client.bless().await.unwrap_err();
    assert!(matches!(again, BlessError::BlessedBefore { .. }), "{again:?}");
}

/// The first votes decide the round, but the caller wants to know of all.
#[tokio::test]
async fn first_word_with_masters_names_all_that_are_young() {
    let servers = Cluster::start(5);
    for rule in Rule::BOTH {
        let clients =
            servers.urls().iter().map(|url| wary(client(url)).build().unwrap()).collect::<Vec<_>>();
        let masters = Masters::new(clients).unwrap();
        let text = rule.lock(&masters, "x").try_acquire().await.unwrap_err().to_string();
        assert!(text.contains("5 of 5 masters started "), "{text}");
        drained(&masters).await;
    }
}
