//! What may be blessed.

use std::time::Duration;

use palisade::{
    Masters, Quarantine,
    embedded::Server,
    error::{BlessError, ConfigError},
};
use testkit::{Cluster, RedisServer};

use super::{client, marker_on, wary, wary_masters};
use crate::fleet::drained;

#[tokio::test]
async fn marker_names_the_run_its_data_the_longest_lease_and_one_fleet() {
    let servers = Cluster::start(3);
    let masters = wary_masters(&servers).await;
    masters.bless().await.unwrap();
    let mut fleets = Vec::new();
    for server in &servers {
        let marker = marker_on(server);
        let words: Vec<_> = marker.split(' ').collect();
        let ["blessed", run_id, replid, "60000", fleet] = *words else { panic!("{marker}") };
        assert!(server.cli(&["INFO", "server"]).contains(run_id));
        assert!(server.cli(&["INFO", "replication"]).contains(replid));
        fleets.push(fleet.to_owned());
    }
    fleets.dedup();
    assert_eq!(fleets.len(), 1);
    drained(&masters).await;
}

#[tokio::test]
async fn masters_are_blessed_once() {
    let servers = Cluster::start(3);
    let masters = wary_masters(&servers).await;
    masters.bless().await.unwrap();
    let before = marker_on(&servers[0]);
    let error = masters.bless().await.unwrap_err();
    let BlessError::BlessedBefore { fleet, max_lease, .. } = &error else { panic!("{error:?}") };
    assert!(before.contains(&**fleet) && *max_lease == Duration::from_secs(60));
    assert_eq!(marker_on(&servers[0]), before);
    masters.bless_by_force().await.unwrap();
    assert_ne!(marker_on(&servers[0]), before);
    drained(&masters).await;
}

#[tokio::test]
async fn all_masters_must_be_there_and_differ() {
    let servers = Cluster::start(3);
    let masters = wary_masters(&servers).await;
    servers.kill(2);
    let error = masters.bless_by_force().await.unwrap_err();
    let BlessError::Node { node, .. } = &error else { panic!("{error:?}") };
    assert_eq!(node, masters.clients()[2].node_id());
    assert_eq!(marker_on(&servers[0]), "");

    let server = RedisServer::start();
    let urls = [server.url(), format!("redis://localhost:{}", server.port())];
    let twice = Masters::new(urls.map(|url| wary(client(&url)).build().unwrap())).unwrap();
    let error = twice.bless_by_force().await.unwrap_err();
    assert!(matches!(error, BlessError::Config(ConfigError::SameServer { .. })), "{error:?}");
    assert_eq!(marker_on(&server), "");
}

// proves: mark-adds-waiting
/// Embedded servers are born old; a restart keeps their data.
#[tokio::test(start_paused = true)]
async fn only_a_fleet_that_is_young_as_a_whole_and_was_never_blessed_is_blessed() {
    let servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
    let client = |server: &Server| server.client().unwrap();
    let masters = || Masters::new(servers.iter().map(client)).unwrap();
    let error = masters().bless().await.unwrap_err();
    assert!(matches!(error, BlessError::Old { .. }), "{error:?}");

    servers[1].restart();
    let error = masters().bless().await.unwrap_err();
    let BlessError::HalfYoung { young, old, .. } = &error else { panic!("{error:?}") };
    assert_eq!((young.len(), old.len()), (1, 2));

    servers[0].restart();
    servers[2].restart();
    masters().bless().await.unwrap();
    // An earlier life's marker.
    servers.iter().for_each(Server::restart);
    let reborn = masters();
    let error = reborn.bless().await.unwrap_err();
    assert!(matches!(error, BlessError::BlessedBefore { .. }), "{error:?}");
    assert!(reborn.red_lock("x").try_acquire().await.is_err(), "it is void");
    reborn.bless_by_force().await.unwrap();
    assert!(reborn.red_lock("x").try_acquire().await.unwrap().is_some());
}

#[test]
fn skew_that_leaves_tokens_no_room_is_refused() {
    let builder = || palisade::Client::builder().url("redis://127.0.0.1");
    let bound = Duration::from_millis(61_600);
    for (max_lease, skew, works) in [
        (Duration::from_secs(60), bound - Duration::from_millis(1), true),
        (Duration::from_secs(60), bound, false),
        (Duration::from_secs(60), Duration::MAX, false),
        (Duration::from_secs(1), Duration::from_secs(2), true),
        (Duration::from_secs(1), Duration::from_secs(3), false),
    ] {
        let built = builder().fleet_max_lease(max_lease).clock_skew(skew);
        let error = built.quarantine(Quarantine::Durable).build().err();
        let refused =
            matches!(&error, Some(ConfigError::InvalidSetting { setting: "clock_skew", .. }));
        assert_eq!(refused, !works, "{max_lease:?} {skew:?}: {error:?}");
    }
}
