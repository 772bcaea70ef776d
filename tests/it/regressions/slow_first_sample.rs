//! The first sample of a server's clock is off by a round trip of 400 ms.
//!
//! Stamps are made from it. Were they early, every acquire would be refused as stale; were the
//! release not to wait for the late stamp, a ghost could follow it.

use std::time::Duration;

use futures::poll;
use palisade::{Client, embedded::Server};
use tokio::time::{Instant, sleep};

use super::{Line, holder_on};

const ROUND_TRIP: Duration = Duration::from_millis(400);

/// So that a stamp is over long before it makes up for the sample.
const NODE_TIMEOUT: Duration = Duration::from_millis(100);

/// All of it on the way there, all on the way back, and half and half.
const SPLITS: [(u64, u64); 3] = [(400, 0), (0, 400), (200, 200)];

async fn connected(server: &Server, line: &Line, split: (u64, u64)) -> Client {
    line.delay(Duration::from_millis(split.0), Duration::from_millis(split.1));
    let settings = line.client(server).node_timeout(NODE_TIMEOUT).connect_timeout(ROUND_TRIP * 10);
    let client = settings.connect().await.unwrap();
    line.delay(Duration::ZERO, Duration::ZERO);
    client
}

#[tokio::test(start_paused = true)]
async fn acquires_are_not_stale_after_a_slow_first_sample() {
    for split in SPLITS {
        // A server whose clock is elsewhere, so that nothing but the sample tells its time.
        for offset_ms in [0, -86_400_000, 86_400_000] {
            let (server, line) = (Server::start_here(), Line::new());
            server.set_clock_offset(offset_ms);
            let client = connected(&server, &line, split).await;
            for _ in 0..5 {
                let begun = Instant::now();
                let guard = client.lock("x").try_acquire().await.unwrap().expect("it is free");
                assert!(begun.elapsed() < Duration::from_millis(20), "{split:?} {offset_ms}");
                guard.release().await.unwrap();
            }
        }
    }
}

/// The acquire stays under way until its connection is long gone and its release was answered on
/// another one: at any time at which its stamp may still be good, and beyond. Whether its caller gives
/// up, or waits until it was granted on the other one.
#[tokio::test(start_paused = true)]
async fn acquire_stamped_by_a_slow_first_sample_leaves_no_ghost() {
    for (split, gives_up) in SPLITS.into_iter().flat_map(|split| [(split, false), (split, true)]) {
        for late_ms in (0..1_000).step_by(20) {
            let (server, line) = (Server::start_here(), Line::new());
            let client = connected(&server, &line, split).await;
            let lock = client.lock("x");
            line.stall();
            let mut acquire = Box::pin(lock.acquire());
            assert!(poll!(&mut acquire).is_pending());
            sleep(Duration::from_millis(1)).await;
            line.break_off();
            if gives_up {
                drop(acquire);
            } else {
                drop(acquire.await.unwrap());
            }
            sleep(Duration::from_millis(late_ms)).await;
            line.go_on();
            client.shutdown(Duration::from_secs(5)).await.unwrap();
            // The lease would end it only after half a minute.
            assert_eq!(holder_on(&server, "x").await, None, "{split:?}, {late_ms} ms late");
        }
    }
}
