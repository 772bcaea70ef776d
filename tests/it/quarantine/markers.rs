//! Markers that are not what they should be.

use std::time::Duration;

use palisade::{
    AcquireError, Masters, Quarantine,
    error::{BlessError, ConfigError},
};
use testkit::{Cluster, RedisServer};

use super::{MARKER, client, counts_in, marker_on, stranger, wary, wary_masters};
use crate::fleet::{Rule, drained, masters};

#[tokio::test]
async fn key_that_is_no_marker_counts_for_none_and_is_not_touched() {
    let servers = Cluster::start(3);
    let masters = wary_masters(&servers).await;
    let foreign: [(&[&str], &[&str]); 2] = [
        (&["HSET", MARKER, "a", "b"], &["HGET", MARKER, "a"]),
        (&["SET", MARKER, "b"], &["GET", MARKER]),
    ];
    for (write, read) in foreign {
        servers[1].cli(write);
        for rule in Rule::BOTH {
            counts_in(&rule.lock(&masters, "x").try_acquire().await.unwrap_err());
        }
        for blessed in [masters.bless().await, masters.bless_by_force().await] {
            let error = blessed.unwrap_err();
            let BlessError::ForeignMarker { node, .. } = &error else { panic!("{error:?}") };
            assert_eq!(node, masters.clients()[1].node_id());
        }
        assert_eq!(servers[1].cli(read), "b");
        assert_eq!(marker_on(&servers[0]), "");
        servers[1].cli(&["DEL", MARKER]);
    }
    drained(&masters).await;
}

#[tokio::test]
async fn members_of_different_fleets_are_refused() {
    let servers = Cluster::start(3);
    let all = wary_masters(&servers).await;
    let (two, one) = all.clients().split_at(2);
    Masters::new(two.to_vec()).unwrap().bless().await.unwrap();
    Masters::new(one.to_vec()).unwrap().bless().await.unwrap();
    for rule in Rule::BOTH {
        let error = rule.lock(&all, "x").acquire().await.unwrap_err();
        let config = matches!(error, AcquireError::Config(ConfigError::DifferentFleets { .. }));
        assert!(config, "{error:?}");
    }
    drained(&all).await;
    assert!(servers.iter().all(|server| server.keys().is_empty()), "all is taken back");
}

/// What the marks say is compared again when one of them turns out to be another.
#[tokio::test]
async fn member_that_went_over_to_another_fleet_is_noticed_in_the_round_in_which_it_says_so() {
    let servers = Cluster::start(3);
    let all = wary_masters(&servers).await;
    all.bless().await.unwrap();
    let lock = all.multi_lock("x");
    lock.try_acquire().await.unwrap().expect("it is free").release().await.unwrap();
    let other = masters([wary(stranger(&servers[1]))]).await;
    other.bless_by_force().await.unwrap();
    let error = lock.try_acquire().await.unwrap_err();
    let config = matches!(error, AcquireError::Config(ConfigError::DifferentFleets { .. }));
    assert!(config, "{error:?}");
    for masters in [&all, &other] {
        drained(masters).await;
    }
    assert!(servers.iter().all(|server| server.keys().is_empty()), "all is taken back");
}

#[tokio::test]
async fn client_with_longer_leases_than_the_fleet_is_refused() {
    let servers = Cluster::start(3);
    let fleet = wary_masters(&servers).await;
    let longer =
        |server: &RedisServer| wary(client(&server.url())).max_lease(Duration::from_secs(61));
    let connected_before = masters(servers.iter().map(longer)).await;
    fleet.bless().await.unwrap();
    let greedy = masters(servers.iter().map(longer)).await;
    let marks = || servers.iter().map(marker_on).collect::<Vec<_>>();
    let before = marks();
    for masters in [&greedy, &connected_before] {
        for rule in Rule::BOTH {
            let error = rule.lock(masters, "x").acquire().await.unwrap_err();
            let AcquireError::Config(ConfigError::MaxLeaseAboveFleet { blessed, .. }) = error
            else {
                panic!("{error:?}")
            };
            assert_eq!(blessed, Duration::from_secs(60));
        }
    }
    assert_eq!(marks(), before, "others wait no longer for leases that nobody has");
    let always = longer(&servers[0]).quarantine(Quarantine::Always).build().unwrap();
    let error = always.lock("x").acquire().await.unwrap_err();
    assert!(matches!(error, AcquireError::Config(_)), "{error:?}");
    for masters in [&fleet, &greedy, &connected_before] {
        drained(masters).await;
    }
    assert!(servers.iter().all(|server| server.keys().is_empty()), "all is taken back");
}

/// A marker counts in whole milliseconds: the fleet that wrote it must not be too greedy for it.
#[tokio::test]
async fn fleet_whose_max_lease_has_parts_of_a_millisecond_is_served_after_its_blessing() {
    let servers = Cluster::start(3);
    let odd = Duration::from_secs(60) + Duration::from_nanos(1);
    let fleet = |server: &RedisServer| wary(client(&server.url())).max_lease(odd);
    let first = masters(servers.iter().map(fleet)).await;
    first.bless().await.unwrap();
    let later = masters(servers.iter().map(fleet)).await;
    for masters in [&first, &later] {
        let guard = masters.red_lock("x").try_acquire().await.unwrap().expect("it is free");
        guard.release().await.unwrap();
        drained(masters).await;
    }
}

/// What the handshake has told already is not found out by writing.
#[tokio::test]
async fn single_lock_with_longer_leases_than_the_fleet_writes_nothing() {
    let server = RedisServer::start();
    let strict = |client: palisade::ClientBuilder| client.quarantine(Quarantine::Always);
    let fleet = masters([strict(client(&server.url()))]).await;
    fleet.bless().await.unwrap();
    let longer = strict(client(&server.url())).max_lease(Duration::from_secs(61));
    let longer = longer.connect().await.unwrap();
    let before = server.top_level_commands();
    let error = longer.lock("x").acquire().await.unwrap_err();
    let config = matches!(error, AcquireError::Config(ConfigError::MaxLeaseAboveFleet { .. }));
    assert!(config, "{error:?}");
    assert_eq!(server.top_level_commands(), before);
    drained(&fleet).await;
}
