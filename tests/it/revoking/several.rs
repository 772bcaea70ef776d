//! A lock over several masters: a majority takes it away, and nothing wins it back.

use palisade::{
    Lease, LostCause,
    error::InspectError,
    inspect::{Holder, Revoked},
};

use super::stand_in;
use crate::{
    fleet::{Fleet, HANG, within},
    support::{Look, ms, soon},
};

fn taken_away(revocation: &palisade::inspect::Revocation) -> usize {
    let taken = revocation.iter().filter(|(_, it)| it.as_ref().is_ok_and(Revoked::is_taken_away));
    taken.count()
}

#[tokio::test]
async fn majority_is_enough_and_nothing_is_healed() {
    let fleet = Fleet::start(3).await;
    let lock = fleet.masters.fenced_red_lock("x").with_lease(Lease::WatchdogOf(ms(6_000)));
    let guard = soon(lock.acquire()).await.unwrap();
    within(HANG, "all votes", async {
        while guard.votes() < 3 {
            tokio::time::sleep(ms(2)).await;
        }
    })
    .await;
    let token = guard.fencing_token().get();
    fleet.servers.kill(2);
    let others = fleet.another_process().await;
    let revocation = others.revoke("x", guard.holder_id()).await;
    assert!(revocation.is_by_majority() && revocation.is_over(), "{revocation}");
    assert_eq!(taken_away(&revocation), 2);
    assert!(matches!(revocation.iter().nth(2), Some((_, Err(InspectError::Node { .. })))));
    let marks: Vec<_> =
        revocation.iter().filter_map(|(_, it)| Some(stand_in(it.as_ref().ok()?))).collect();
    assert_eq!(marks[0], marks[1]);
    for server in fleet.servers.iter().take(2) {
        let counter = server.command(&["GET", "palisade_lock_token:{x}"]);
        assert!(counter.to_string().parse::<u64>().unwrap() > token, "{counter:?}");
    }
    assert_eq!(soon(guard.lost()).await, LostCause::QuorumTaken);
    for server in fleet.servers.iter().take(2) {
        let ids: Vec<_> = server.hash("x").into_keys().collect();
        assert!(ids.iter().all(|id| id == marks[0]), "{ids:?}");
    }
    let next = soon(others.fenced_red_lock("x").acquire()).await.unwrap();
    assert!(!guard.is_held() && next.fencing_token().get() > token + 1);
}

/// On a minority the holder goes on, and what it lost there stays lost while the stand-in stands.
#[tokio::test]
async fn member_of_a_minority_is_not_won_back_from_the_mark() {
    let fleet = Fleet::start(3).await;
    let lock = fleet.masters.red_lock("x").with_lease(Lease::WatchdogOf(ms(3_000)));
    let guard = soon(lock.acquire()).await.unwrap();
    let others = fleet.another_process().await;
    let one = others.clients()[0].lock("x");
    // As an operator reaches one server only.
    let revoked = within(HANG, "it stands there", async {
        loop {
            match one.revoke(guard.holder_id()).await.unwrap() {
                Revoked::NotHeld { .. } => tokio::time::sleep(ms(2)).await,
                revoked => return revoked,
            }
        }
    })
    .await;
    within(HANG, "a vote less", async {
        while guard.votes() == 3 {
            tokio::time::sleep(ms(2)).await;
        }
    })
    .await;
    assert!(guard.is_held());
    let Holder { id, .. } = one.holder().await.unwrap().unwrap();
    assert_eq!(id, stand_in(&revoked));
    // Once its ttl is over, the member is free, and the holder may have its vote again.
    within(HANG, "its vote again", async {
        while guard.votes() < 3 {
            assert!(guard.is_held());
            tokio::time::sleep(ms(2)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn another_holder_or_too_few_servers_are_told() {
    let fleet = Fleet::start(3).await;
    let guard = soon(fleet.masters.red_lock("x").acquire()).await.unwrap();
    let others = fleet.another_process().await;
    let other = others.revoke("x", "a:1").await;
    assert!(!other.is_by_majority() && other.is_over(), "{other}");
    fleet.servers.kill(0);
    fleet.servers.kill(1);
    let few = others.revoke_now("x", guard.holder_id()).await;
    assert!(!few.is_by_majority() && !few.is_over(), "{few}");
}
