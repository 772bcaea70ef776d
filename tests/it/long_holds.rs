//! Locks that are held for long, and said to be.

use std::time::Duration;

use palisade::{Lease, embedded::Server};
use tokio::time::sleep;

use crate::names::Events;

const LONG: Duration = Duration::from_secs(30);

/// How often it was said since the last call.
fn said() -> usize {
    let is_it = |message: &str| message == "a lock is held for long";
    let said = Events::kept_values("message").iter().filter(|it| is_it(it)).count();
    Events::keep();
    said
}

#[tokio::test(start_paused = true)]
async fn a_long_hold_is_told_at_twice_the_time_each_time() {
    Events::keep();
    let server = Server::start_here();
    let client = server.client_builder().warn_held_longer_than(LONG).build().unwrap();
    for lease in [Lease::default(), Lease::Fixed(2 * LONG)] {
        let guard = client.lock("x").with_lease(lease).acquire().await.unwrap();
        sleep(LONG - Duration::from_millis(1)).await;
        assert_eq!(said(), 0);
        sleep(Duration::from_millis(2)).await;
        assert_eq!(said(), 1);
        if lease == Lease::default() {
            sleep(59 * LONG).await;
            // At 2, 4, 8, 16 and 32 times that.
            assert_eq!(said(), 5);
        }
        guard.release().await.unwrap();
        sleep(100 * LONG).await;
        assert_eq!(said(), 0);
    }
}

/// What one user leaves to the next of its process is counted for each by itself.
#[tokio::test(start_paused = true)]
async fn users_of_one_process_are_counted_by_themselves() {
    Events::keep();
    let server = Server::start_here();
    let client = server.client_builder().warn_held_longer_than(LONG).build().unwrap();
    let lock = client.lock("x");
    let mut users = Vec::new();
    for _ in 0..5 {
        let lock = lock.clone();
        users.push(tokio::spawn(async move {
            let guard = lock.acquire().await.unwrap();
            sleep(LONG / 2).await;
            guard.release().await.unwrap();
        }));
    }
    for user in users {
        user.await.unwrap();
    }
    assert_eq!(said(), 0);
}

/// Without it nothing is said, however long.
#[tokio::test(start_paused = true)]
async fn nothing_is_said_unless_that_is_wanted() {
    Events::keep();
    let server = Server::start_here();
    let client = server.client_builder().build().unwrap();
    let guard = client.lock("x").acquire().await.unwrap();
    sleep(600 * LONG).await;
    assert_eq!(said(), 0);
    guard.release().await.unwrap();
}
