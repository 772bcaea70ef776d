//! Futures that are dropped at every one of their polls, on in-process servers in paused time.

use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use palisade::{ExpirableSemaphore, embedded::Server};

use crate::support::{ms, polled};

type Operation = for<'a> fn(&'a ExpirableSemaphore) -> BoxFuture<'a, ()>;

/// Cuts `operation` at every poll. Long before a lease ends all five permits are there.
async fn leaves_five_permits_wherever_it_is_dropped(operation: Operation) {
    for polls in 1.. {
        let server = Server::start_here();
        let semaphore = server.client().unwrap().expirable_semaphore("x");
        semaphore.try_set_permits(5).await.unwrap();
        let whole = polled(operation(&semaphore), polls).await;
        tokio::time::sleep(ms(500)).await;
        assert_eq!(semaphore.permits().await.unwrap(), 5, "after {polls}");
        assert!(semaphore.holders().await.unwrap().is_empty(), "after {polls}");
        if whole {
            assert!(polls > 1, "it never waited: nothing was cut");
            return;
        }
    }
}

macro_rules! dropped_at_every_poll {
    ($($name:ident: |$semaphore:ident| $work:expr;)+) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $name() {
                leaves_five_permits_wherever_it_is_dropped(|$semaphore| {
                    async move { $work }.boxed()
                })
                .await;
            }
        )+
    };
}

dropped_at_every_poll! {
    dropped_acquire_gives_back_what_it_was_granted: |semaphore| {
        drop(semaphore.acquire_many(2).await.unwrap());
    };
    dropped_try_acquire_gives_back_what_it_was_granted: |semaphore| {
        drop(semaphore.try_acquire().await.unwrap());
    };
    dropped_release_is_finished_in_the_background: |semaphore| {
        semaphore.acquire_many(2).await.unwrap().release().await.unwrap();
    };
    dropped_wait_gives_back_what_it_was_granted: |semaphore| {
        let all = semaphore.acquire_many(5).await.unwrap();
        let limit = Duration::from_secs(30);
        let release = async {
            tokio::time::sleep(ms(50)).await;
            all.release().await.unwrap();
        };
        let (waited, ()) = tokio::join!(semaphore.try_acquire_many_for(3, limit), release);
        drop(waited.unwrap());
    };
}
