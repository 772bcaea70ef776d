//! Futures that are dropped at every one of their polls, on in-process servers in paused time.

use std::time::Duration;

use palisade::{CountDownLatch, embedded::Server};

use crate::{outside::ask, support::polled};

async fn keys(server: &Server) -> Vec<String> {
    let mut keys: Vec<String> = ask(server, &["KEYS", "*"]).await;
    keys.sort();
    keys
}

#[tokio::test(start_paused = true)]
async fn dropped_count_counts_once_at_most_and_leaves_nothing_for_long() {
    for polls in 1.. {
        let server = Server::start_here();
        let latch = server.client().unwrap().count_down_latch("x");
        assert!(latch.try_set_count(9).await.unwrap());
        let whole = polled(latch.count_down(), polls).await;
        tokio::time::sleep(Duration::from_secs(90)).await;
        let left = latch.count().await.unwrap();
        assert!(left == 8 || left == 9 && !whole, "{left} after {polls}");
        assert_eq!(keys(&server).await, ["x"], "after {polls}");
        if whole {
            assert!(polls > 1, "it never waited: nothing was cut");
            break;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn dropped_wait_leaves_no_subscription() {
    for polls in 1..20 {
        let server = Server::start_here();
        let client = server.client().unwrap();
        let latch = client.count_down_latch("x");
        assert!(latch.try_set_count(1).await.unwrap());
        polled(latch.wait_for(Duration::from_secs(20)), polls).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(client.subscriptions(), 0, "after {polls}");
        still_works(&latch).await;
    }
}

async fn still_works(latch: &CountDownLatch) {
    let (waited, counted) = tokio::join!(latch.wait(), latch.count_down());
    waited.unwrap();
    assert!(counted.unwrap());
}
