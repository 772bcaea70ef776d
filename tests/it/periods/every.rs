//! Jobs that run so often at most, by the server's clock.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use palisade::{
    Client,
    clock::{BootClock, Clock, Instant},
    once::Cadence,
};
use testkit::{RedisServer, WallClocks};

use super::{done, not_due, ran, strange};
use crate::support::{client, ms};

const HOUR: Duration = Duration::from_secs(3_600);

/// Its time of day is wrong, and so is all that it is asked for.
#[derive(Debug)]
struct Askew(Duration);

impl Clock for Askew {
    fn now(&self) -> Instant {
        BootClock.now() + self.0
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        BootClock.sleep_until(at - self.0)
    }

    fn unix_time(&self) -> Duration {
        BootClock.unix_time() + self.0
    }
}

#[tokio::test]
async fn pause_is_measured_by_the_servers_clock_from_the_last_recorded_start() {
    let clocks = Arc::new(WallClocks::build().unwrap());
    let server = RedisServer::builder().settable_clock(&clocks).start();
    let ours = client(&server).await;
    // Two seconds ahead, as another machine.
    let theirs = strange(&server).clock(Arc::new(Askew(ms(2_000)))).connect().await.unwrap();
    let run = async |client: &Client| client.lock("x").at_most_every(HOUR, done).await;
    ran(run(&ours).await);
    let first = not_due(run(&theirs).await);
    assert_eq!(first.period, None);
    // Whatever clocks of clients show: a second less than an hour is not an hour.
    server.set_clock(3_599_000);
    not_due(run(&theirs).await);
    not_due(run(&ours).await);
    server.set_clock(3_600_000);
    ran(run(&theirs).await);
    let second = not_due(run(&ours).await);
    assert!(second.start >= first.start + HOUR, "{second:?}");
    // A clock that was set back makes nothing due.
    server.set_clock(0);
    not_due(run(&ours).await);
}

/// A job that takes most of its pause is due a pause after its start.
#[tokio::test]
async fn start_is_when_the_lock_was_granted_and_not_when_the_work_had_ended() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    let pause = Cadence::at_most_every(HOUR);
    let worked = lock
        .when_due(&pause, async |_guard| {
            tokio::time::sleep(ms(300)).await;
            Ok(())
        })
        .await;
    ran(worked);
    let run = lock.last_run().await.unwrap().unwrap();
    assert!(run.end.duration_since(run.start).unwrap() >= ms(300), "{run:?}");
    assert!(run.age >= ms(300), "{run:?}");
}
