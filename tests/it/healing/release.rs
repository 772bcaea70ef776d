//! Heal against release: whatever order they come in, nothing is left.

use std::time::Duration;

use super::{Fleet, PERIOD, forget, holder, votes_return};

const TRIP: Duration = Duration::from_millis(200);

// proves: final-release
/// The heal has been executed, and its answer is under way for [`TRIP`].
#[tokio::test(start_paused = true)]
async fn heal_against_release_at_every_moment_of_its_way_back_leaves_nothing() {
    for moment in 0..=12 {
        let fleet = Fleet::start(3);
        let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
        votes_return(&guard, 3, PERIOD).await;
        let third = &fleet.servers[2];
        forget(third).await;
        third.set_delay(TRIP);
        while holder(third, "x").await.is_none() {
            assert!(guard.is_held());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(TRIP / 10 * moment).await;
        guard.release().await.unwrap();
        fleet.end(&[]).await;
    }
}

/// The heal lies before a server that does not answer, while the guard goes.
#[tokio::test(start_paused = true)]
async fn heal_that_a_frozen_server_executes_after_the_release_leaves_nothing() {
    for dropped in [false, true] {
        let fleet = Fleet::start(3);
        let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
        votes_return(&guard, 3, PERIOD).await;
        let third = &fleet.servers[2];
        forget(third).await;
        while guard.votes() == 3 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        third.freeze();
        // Until the heal is sure to have been sent.
        tokio::time::sleep(PERIOD * 3 / 2).await;
        assert_eq!(guard.votes(), 2);
        if dropped {
            drop(guard);
        } else {
            guard.release().await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        third.thaw();
        fleet.end(&[]).await;
    }
}
