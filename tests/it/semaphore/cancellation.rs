//! Futures that are dropped at every one of their polls, on in-process servers in paused time.

use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use palisade::{Semaphore, embedded::Server};

use crate::{
    outside::ask,
    support::{ms, polled},
};

type Operation = for<'a> fn(&'a Semaphore) -> BoxFuture<'a, ()>;

/// Cuts `operation` at every poll. `left` is how many permits there may be then, of five.
async fn leaves_five_permits_wherever_it_is_dropped(operation: Operation) {
    for polls in 1.. {
        let server = Server::start_here();
        let semaphore = server.client().unwrap().semaphore("x");
        semaphore.try_set_permits(5).await.unwrap();
        let whole = polled(operation(&semaphore), polls).await;
        tokio::time::sleep(Duration::from_secs(90)).await;
        assert_eq!(semaphore.permits().await.unwrap(), 5, "after {polls}");
        let keys: Vec<String> = ask(&server, &["KEYS", "*"]).await;
        assert_eq!(keys, ["x"], "after {polls}");
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

#[tokio::test(start_paused = true)]
async fn dropped_forget_leaves_no_holder_and_gives_nothing_back() {
    for polls in 1.. {
        let server = Server::start_here();
        let semaphore = server.client().unwrap().semaphore("x");
        semaphore.try_set_permits(5).await.unwrap();
        let guard = semaphore.acquire_many(2).await.unwrap();
        let whole = polled(guard.forget(), polls).await;
        tokio::time::sleep(Duration::from_secs(90)).await;
        assert_eq!(semaphore.permits().await.unwrap(), 3, "after {polls}");
        assert!(semaphore.holders().await.unwrap().is_empty(), "after {polls}");
        if whole {
            break;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn dropped_drain_takes_all_or_nothing() {
    for polls in 1.. {
        let server = Server::start_here();
        let semaphore = server.client().unwrap().semaphore("x");
        semaphore.try_set_permits(5).await.unwrap();
        let whole = polled(semaphore.drain(), polls).await;
        tokio::time::sleep(Duration::from_secs(90)).await;
        let left = semaphore.permits().await.unwrap();
        assert!(left == 0 || left == 5 && !whole, "{left} after {polls}");
        if whole {
            break;
        }
    }
}
