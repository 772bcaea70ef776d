//! Panics on the watchdog's thread: of a subscriber, a callback, a clock.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Wake, Waker},
    thread,
};

use futures::future::BoxFuture;
use palisade::{
    AcquireError, Client, LostCause,
    clock::{BootClock, Clock, Instant},
};
use testkit::RedisServer;

use super::sharing::{held, outlive};
use crate::{
    fleet::{HANG, client, eventually, within},
    names::Events,
};

/// With a clock, and so a watchdog, of its own.
async fn apart(server: &RedisServer, clock: Arc<dyn Clock>) -> Client {
    client(&server.url()).clock(clock).connect().await.unwrap()
}

#[tokio::test]
async fn panic_of_a_subscriber_costs_no_lock() {
    Events::install();
    let server = RedisServer::start();
    let client = apart(&server, Arc::new(BootClock)).await;
    let lost = held(&client, Events::PANICKING).await;
    let spared = held(&client, "x").await;
    server.cli(&["DEL", Events::PANICKING]);
    assert_eq!(within(HANG, "the loss", lost.lost()).await, LostCause::Gone);
    let later = held(&client, "y").await;
    outlive(&[spared, later]).await;
}

struct Panicking;

impl Wake for Panicking {
    fn wake(self: Arc<Self>) {
        panic!("a callback panics, as it is meant to");
    }
}

#[tokio::test]
async fn panic_of_a_callback_costs_no_other_lock() {
    let server = RedisServer::start();
    let client = apart(&server, Arc::new(BootClock)).await;
    let lost = held(&client, "x").await;
    let spared = held(&client, "y").await;
    let mut callback = Box::pin(lost.lost());
    let waker = Waker::from(Arc::new(Panicking));
    assert!(callback.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    server.cli(&["DEL", "x"]);
    eventually("the loss", || !lost.is_held()).await;
    drop(callback);
    let later = held(&client, "z").await;
    outlive(&[spared, later]).await;
}

/// Panics on the watchdog's thread for as long as it is broken.
#[derive(Debug, Default)]
struct Fragile {
    is_broken: AtomicBool,
}

impl Clock for Fragile {
    fn now(&self) -> Instant {
        let is_watchdog = thread::current().name() == Some("palisade-watchdog");
        let panics = is_watchdog && self.is_broken.load(Ordering::SeqCst);
        assert!(!panics, "a clock panics, as it is meant to");
        BootClock.now()
    }

    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
        BootClock.sleep_until(deadline)
    }
}

/// Nothing is granted that would not be renewed, and what was is renewed again.
#[tokio::test]
async fn watchdog_that_cannot_go_on_lets_acquires_fail_and_comes_back_with_its_locks() {
    let server = RedisServer::start();
    let clock = Arc::new(Fragile::default());
    let client = apart(&server, clock.clone()).await;
    let kept = held(&client, "x").await;
    clock.is_broken.store(true, Ordering::SeqCst);
    let lock = client.lock("y");
    let error = loop {
        match within(HANG, "an answer", lock.acquire()).await {
            Ok(guard) => drop(guard.release().await),
            Err(error) => break error,
        }
        assert!(kept.is_held());
    };
    assert!(matches!(error, AcquireError::Unwatched { .. }), "{error:?}");
    clock.is_broken.store(false, Ordering::SeqCst);
    let later = loop {
        if let Ok(guard) = within(HANG, "an answer", lock.acquire()).await {
            break guard;
        }
        tokio::task::yield_now().await;
    };
    drop(later);
    outlive(&[kept, held(&client, "z").await]).await;
}
