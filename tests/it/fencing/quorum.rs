//! Which members grant a fenced composite, and which do not.

use palisade::{AcquireError, error::NodeError};
use testkit::{Cluster, RedisServer};

use super::{ahead, member_counter, value};
use crate::{
    fleet::{Fleet, HANG, client, drained, masters, within},
    support::Look,
};

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

#[tokio::test]
async fn member_whose_key_is_no_counter_does_not_vote() {
    let fleet = Fleet::start(3).await;
    fleet.servers[1].cli(&["SET", &member_counter("x"), "not a number"]);
    let guard = fleet.masters.fenced_red_lock("x").acquire().await.unwrap();
    guard.release().await.unwrap();
    let error = fleet.masters.fenced_multi_lock("x").acquire().await.unwrap_err();
    let AcquireError::Denied { ballot, .. } = &error else { panic!("{error}") };
    let foreign = ballot.failures().filter(|(_, c)| matches!(c, NodeError::ForeignCounter)).count();
    assert_eq!(foreign, 1);
    assert!(!fleet.servers[1].exists("x"));
    assert_eq!(fleet.servers[1].cli(&["GET", &member_counter("x")]), "not a number");
}

/// Were it written to the others it would run out there, too, and tokens would begin again below it.
#[tokio::test]
async fn counter_that_is_far_ahead_by_accident_is_the_failure_of_its_member() {
    let fleet = Fleet::start(3).await;
    let lock = fleet.masters.fenced_red_lock("x");
    let far = (1_u64 << 53) - 3;
    fleet.servers[1].cli(&["SET", &member_counter("x"), &far.to_string()]);
    // A lower one counts, also where one member alone has it.
    let known = ahead(1);
    fleet.servers[0].cli(&["SET", &member_counter("x"), &known.to_string()]);
    let mut last = known;
    for _ in 0..4 {
        let guard = within(HANG, "two of three grant", lock.acquire()).await.unwrap();
        assert_eq!(guard.fencing_token().get(), last + 1);
        last += 1;
        guard.release().await.unwrap();
    }
    assert_eq!(value(&fleet.servers[1], &member_counter("x")), far);
    assert_eq!(value(&fleet.servers[2], &member_counter("x")), last);
    let error = fleet.masters.fenced_multi_lock("x").acquire().await.unwrap_err();
    let AcquireError::Denied { ballot, .. } = &error else { panic!("{error}") };
    let foreign = ballot.failures().filter(|(_, c)| matches!(c, NodeError::ForeignCounter)).count();
    assert_eq!(foreign, 1);
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
