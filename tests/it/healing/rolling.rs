//! Masters are restarted, and the hold stays.

use std::time::Duration;

use futures::future::join_all;
use palisade::Lease;

use super::{D, Fleet, LEASE, PERIOD, votes_return};
use crate::outside::ask;

/// Each is away for longer than the lease, so that nothing of the hold counts there any more.
#[tokio::test(start_paused = true)]
async fn hold_survives_the_restart_of_all_masters_one_at_a_time_at_the_pace_d() {
    for n in [3, 5] {
        let fleet = Fleet::start(n);
        let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
        votes_return(&guard, n, PERIOD).await;
        for round in 0..2 {
            for server in &fleet.servers {
                server.kill_and_forget();
                tokio::time::sleep(LEASE).await;
                server.restart();
                assert!(guard.is_held(), "round {round}");
                tokio::time::sleep(PERIOD * 2).await;
                assert!(guard.is_held(), "round {round}");
                votes_return(&guard, n, D - PERIOD).await;
                assert_eq!(guard.margin(), n / 2, "round {round}");
            }
        }
        let other = fleet.another_process();
        assert!(other.red_lock("x").try_acquire().await.unwrap().is_none());
        guard.release().await.unwrap();
        other.red_lock("x").acquire().await.unwrap().release().await.unwrap();
        fleet.end(&[&other]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn margin_tells_after_each_step_what_may_still_be_forgotten() {
    let fleet = Fleet::start(5);
    let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
    votes_return(&guard, 5, PERIOD).await;
    assert_eq!(guard.margin(), 2);
    for (down, left) in [(0, (4, 1)), (1, (3, 0))] {
        fleet.servers[down].kill_and_forget();
        tokio::time::sleep(LEASE).await;
        assert!(guard.is_held());
        assert_eq!((guard.votes(), guard.margin()), left, "without {down}");
    }
    for (up, back) in [(1, (4, 1)), (0, (5, 2))] {
        fleet.servers[up].restart();
        votes_return(&guard, back.0, D + PERIOD * 2).await;
        assert_eq!((guard.votes(), guard.margin()), back, "with {up}");
    }
    guard.release().await.unwrap();
    fleet.end(&[]).await;
}

#[tokio::test(start_paused = true)]
async fn member_that_was_down_at_the_acquire_joins_once_it_is_there() {
    let fleet = Fleet::start(3);
    fleet.servers[2].kill_and_forget();
    let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
    assert_eq!((guard.votes(), guard.margin()), (2, 0));
    tokio::time::sleep(LEASE * 4).await;
    assert_eq!(guard.votes(), 2);
    fleet.servers[2].restart();
    // It may have forgotten a vote for another: until none counts on that any more it has none.
    tokio::time::sleep(D - Duration::from_secs(2)).await;
    assert_eq!((guard.votes(), fleet.holders("x").await[2].is_some()), (2, false));
    votes_return(&guard, 3, PERIOD).await;
    let holder = Some(guard.holder_id().to_owned());
    assert_eq!(fleet.holders("x").await, vec![holder; 3]);
    // With the others gone one after the other it carries the hold.
    fleet.servers[0].kill_and_forget();
    tokio::time::sleep(LEASE * 2).await;
    assert!(guard.is_held());
    fleet.servers[0].restart();
    guard.release().await.unwrap();
    fleet.end(&[]).await;
}

#[tokio::test(start_paused = true)]
async fn member_that_comes_back_after_a_partition_joins_again() {
    let fleet = Fleet::start(3);
    let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
    votes_return(&guard, 3, PERIOD).await;
    fleet.servers[1].freeze();
    tokio::time::sleep(LEASE * 2).await;
    assert_eq!((guard.votes(), guard.margin()), (2, 0));
    fleet.servers[1].thaw();
    votes_return(&guard, 3, PERIOD * 3).await;
    guard.release().await.unwrap();
    fleet.end(&[]).await;
}

#[tokio::test(start_paused = true)]
async fn master_that_is_blessed_is_won_back_at_the_next_renewal_time() {
    let fleet = Fleet::start(3);
    let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
    votes_return(&guard, 3, PERIOD).await;
    fleet.servers[1].kill_and_forget();
    tokio::time::sleep(LEASE).await;
    fleet.servers[1].restart();
    tokio::time::sleep(PERIOD * 2).await;
    assert_eq!((guard.votes(), guard.margin()), (2, 0));
    fleet.masters.bless_by_force().await.unwrap();
    votes_return(&guard, 3, PERIOD * 3 / 2).await;
    guard.release().await.unwrap();
    // The marker stays; the lock does not.
    fleet.end(&[]).await;
}

/// They all want the master back at the same time.
#[tokio::test(start_paused = true)]
async fn thousand_holds_are_won_back_from_a_master_that_comes_back() {
    let fleet = Fleet::start(3);
    let names: Vec<String> = (0..1_000).map(|i| format!("x:{i}")).collect();
    let acquire = async |name: &String| fleet.masters.red_lock(name).acquire().await.unwrap();
    let guards = join_all(names.iter().map(acquire)).await;
    fleet.servers[1].kill_and_forget();
    tokio::time::sleep(LEASE).await;
    fleet.servers[1].restart();
    tokio::time::sleep(PERIOD * 2).await;
    assert!(guards.iter().all(|guard| guard.votes() == 2));
    for guard in &guards {
        votes_return(guard, 3, D + PERIOD).await;
    }
    join_all(guards.into_iter().map(|guard| guard.release())).await;
    fleet.end(&[]).await;
}

/// When leases are renewed the next time may be much later.
#[tokio::test(start_paused = true)]
async fn member_that_was_not_there_at_the_acquire_joins_when_its_quarantine_ends() {
    let fleet = Fleet::start(3);
    fleet.servers[2].kill_and_forget();
    let lock = fleet.masters.red_lock("x").with_lease(Lease::WatchdogOf(LEASE * 2));
    let guard = lock.acquire().await.unwrap();
    fleet.servers[2].restart();
    votes_return(&guard, 3, D + Duration::from_secs(3)).await;
    guard.release().await.unwrap();
    fleet.end(&[]).await;
}

#[tokio::test(start_paused = true)]
async fn member_that_joins_late_is_told_how_often_the_lock_is_held() {
    let fleet = Fleet::start(3);
    fleet.servers[2].kill_and_forget();
    let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
    let inner = guard.reenter().unwrap();
    fleet.servers[2].restart();
    votes_return(&guard, 3, D + PERIOD).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    for server in &fleet.servers {
        assert_eq!(ask::<Vec<String>>(server, &["HVALS", "x"]).await, ["2"]);
    }
    inner.release().await.unwrap();
    guard.release().await.unwrap();
    fleet.end(&[]).await;
}
