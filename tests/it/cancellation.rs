//! Every public future is dropped at every one of its polls; nothing may stay behind.
//!
//! On in-process servers in paused time: a run repeats exactly, and a key that is left shows by
//! standing there long before its lease of 30 s would end it.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures::future::{BoxFuture, FutureExt};
use palisade::{
    Client, FencedGuard, LockGuard, Masters, MultiLock, Owner, RedLock, embedded::Server,
};

use crate::outside::ask;

/// When a future is dropped: after its n-th poll, at once or when it is about to be polled again.
#[derive(Debug, Clone, Copy)]
enum Drop {
    After(usize),
    Before(usize),
}

/// Polls a future up to the point at which it is to be dropped.
struct Cut<F> {
    inner: Pin<Box<F>>,
    polls: usize,
    at: Drop,
}

impl<F: Future> Future for Cut<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if matches!(self.at, Drop::Before(n) if self.polls == n) {
            return Poll::Ready(None);
        }
        self.polls += 1;
        match self.inner.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if matches!(self.at, Drop::After(n) if self.polls == n) => {
                Poll::Ready(None)
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

/// Three in-process servers and all that is used on them.
struct Field {
    servers: Vec<Server>,
    masters: Masters,
}

impl Field {
    fn new() -> Self {
        let servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
        let masters = Masters::new(servers.iter().map(|server| server.client().unwrap())).unwrap();
        Self { servers, masters }
    }

    fn client(&self) -> &Client {
        &self.masters.clients()[0]
    }

    /// The keys on all servers, but for fencing counters and the mark: those are to stay.
    async fn keys(&self) -> Vec<String> {
        let mut all = Vec::new();
        for server in &self.servers {
            let keys: Vec<String> = ask(server, &["KEYS", "*"]).await;
            let is_to_stay =
                |key: &String| key.contains("_lock_token:") || key == "palisade:marker";
            all.extend(keys.into_iter().filter(|key| !is_to_stay(key)));
        }
        all
    }

    /// Waits until nothing stands on any server; it must not take until the leases end.
    async fn becomes_empty(&self) -> bool {
        for _ in 0..200 {
            if self.keys().await.is_empty() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        false
    }
}

/// One public operation: what is there before it, and the future that is cut.
type Operation = for<'a> fn(&'a Field) -> BoxFuture<'a, ()>;

/// Cuts the future of `operation` at every poll, until it is done before the cut.
async fn leaves_nothing_wherever_it_is_dropped(operation: Operation) {
    for cut in [Drop::After as fn(usize) -> Drop, Drop::Before] {
        for polls in 1.. {
            let field = Field::new();
            let at = cut(polls);
            let whole = Cut { inner: Box::pin(operation(&field)), polls: 0, at }.await;
            assert!(field.becomes_empty().await, "{:?} stay after {at:?}", field.keys().await);
            let again = field.masters.red_lock("x").try_acquire().await.unwrap();
            assert!(again.is_some(), "not free after {at:?}");
            if whole.is_some() {
                assert!(polls > 1, "the operation never waited: nothing was cut");
                break;
            }
        }
    }
}

macro_rules! dropped_at_every_poll {
    ($($name:ident: |$field:ident| $work:expr;)+) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $name() {
                leaves_nothing_wherever_it_is_dropped(|$field| async move { $work }.boxed()).await;
            }
        )+
    };
}

dropped_at_every_poll! {
    a_dropped_acquire_leaves_no_key: |field| {
        drop(field.client().lock("x").acquire().await.unwrap());
    };
    a_dropped_try_acquire_leaves_no_key: |field| {
        drop(field.client().lock("x").try_acquire().await.unwrap());
    };
    a_dropped_acquire_of_an_owner_leaves_no_key: |field| {
        let owner = Owner::new();
        let guard = field.client().lock("x").acquire_as(&owner).await.unwrap();
        drop(field.client().lock("x").acquire_as(&owner).await.unwrap());
        drop(guard);
    };
    a_dropped_release_is_finished_in_the_background: |field| {
        field.client().lock("x").acquire().await.unwrap().release().await.unwrap();
    };
    a_dropped_wait_leaves_no_key: |field| {
        let guard = field.client().lock("x").acquire().await.unwrap();
        let limit = Duration::from_millis(50);
        let lock = field.client().lock("x");
        let (waited, ()) = tokio::join!(lock.try_acquire_for(limit), release_later(guard));
        drop(waited.unwrap());
    };
    a_dropped_with_leaves_no_key: |field| {
        let pause = async |_: &LockGuard| tokio::time::sleep(Duration::from_millis(5)).await;
        field.client().lock("x").with(pause).await.unwrap();
    };
    a_dropped_run_leaves_no_key: |field| {
        let guard = field.client().lock("x").acquire().await.unwrap();
        guard.run(tokio::time::sleep(Duration::from_millis(5))).await.unwrap();
        guard.release().await.unwrap();
    };
    a_dropped_watch_for_the_end_leaves_no_key: |field| {
        let guard = field.client().lock("x").acquire().await.unwrap();
        let soon = Duration::from_millis(5);
        tokio::time::timeout(soon, guard.lost()).await.unwrap_err();
        tokio::time::timeout(soon, guard.expiring(Duration::from_secs(1))).await.unwrap_err();
        guard.release().await.unwrap();
    };
    a_dropped_introspection_leaves_no_key: |field| {
        let lock = field.client().lock("x");
        lock.holder().await.unwrap();
        lock.is_locked().await.unwrap();
        lock.remaining_ttl().await.unwrap();
        lock.force_release().await.unwrap();
        field.masters.inspect("x").await;
    };
    a_dropped_fair_lock_leaves_no_key: |field| {
        let lock = field.client().fair_lock("x");
        let guard = lock.acquire().await.unwrap();
        assert!(lock.try_acquire().await.unwrap().is_none());
        guard.release().await.unwrap();
    };
    a_dropped_wait_in_a_queue_leaves_no_place: |field| {
        let lock = field.client().fair_lock("x");
        let guard = lock.acquire().await.unwrap();
        let limit = Duration::from_millis(50);
        let both = async { (lock.try_acquire_for(limit).await, lock.try_acquire_for(limit).await) };
        let (waited, ()) = tokio::join!(both, release_later(guard));
        drop(waited.0.unwrap());
        drop(waited.1.unwrap());
    };
    a_dropped_wait_of_a_whole_in_a_queue_leaves_no_place: |field| {
        // Granted out of the queue of one, it is refused by another.
        let [one, other] = [0, 1].map(|i| field.masters.clients()[i].fair_lock("x"));
        let guards = [one.acquire().await.unwrap(), other.acquire().await.unwrap()];
        let whole = MultiLock::new([one, other]).unwrap();
        let [one, other] = guards;
        let waits = whole.try_acquire_for(Duration::from_millis(120));
        let released = async {
            release_later(one).await;
            release_later(other).await;
        };
        let (waited, ()) = tokio::join!(waits, released);
        drop(waited.unwrap());
    };
    a_dropped_reader_leaves_no_key: |field| {
        let lock = field.client().rw_lock("x").read();
        let (one, other) = (lock.acquire().await.unwrap(), lock.try_acquire().await.unwrap());
        one.release().await.unwrap();
        drop(other);
    };
    a_dropped_writer_leaves_no_key: |field| {
        field.client().rw_lock("x").write().acquire().await.unwrap().release().await.unwrap();
    };
    a_dropped_wait_for_readers_leaves_no_wish: |field| {
        let lock = field.client().rw_lock("x");
        let guard = lock.read().acquire().await.unwrap();
        let (write, limit) = (lock.write(), Duration::from_millis(50));
        let (waited, ()) = tokio::join!(write.try_acquire_for(limit), release_later(guard.into()));
        drop(waited.unwrap());
    };
    a_dropped_wait_for_a_writer_leaves_no_key: |field| {
        let lock = field.client().rw_lock("x");
        let guard = lock.write().acquire().await.unwrap();
        let (read, limit) = (lock.read(), Duration::from_millis(50));
        let (waited, ()) = tokio::join!(read.try_acquire_for(limit), release_later(guard.into()));
        drop(waited.unwrap());
    };
    a_dropped_downgrade_leaves_no_key: |field| {
        let guard = field.client().rw_lock("x").write().acquire().await.unwrap();
        guard.downgrade().await.unwrap().release().await.unwrap();
    };
    a_dropped_majority_of_readers_leaves_no_key: |field| {
        let locks = field.masters.clients().iter().map(|client| client.rw_lock("x").read());
        RedLock::new(locks).unwrap().acquire().await.unwrap().release().await.unwrap();
    };
    a_dropped_downgrade_of_a_majority_leaves_no_key: |field| {
        let locks = field.masters.clients().iter().map(|client| client.rw_lock("x").write());
        let guard = RedLock::new(locks).unwrap().acquire().await.unwrap();
        guard.downgrade().await.unwrap().release().await.unwrap();
    };
    a_dropped_majority_leaves_no_key: |field| {
        field.masters.red_lock("x").acquire().await.unwrap().release().await.unwrap();
    };
    a_dropped_whole_leaves_no_key: |field| {
        field.masters.multi_lock("x").acquire().await.unwrap().release().await.unwrap();
    };
    a_dropped_wait_for_a_majority_leaves_no_key: |field| {
        let guard = field.masters.red_lock("x").acquire().await.unwrap();
        let (lock, limit) = (field.masters.red_lock("x"), Duration::from_millis(60));
        let (waited, ()) = tokio::join!(lock.try_acquire_for(limit), release_later(guard));
        drop(waited.unwrap());
    };
    a_dropped_wait_for_one_member_leaves_no_key: |field| {
        // Held on the second of three: what is kept of the first must go too.
        let guard = field.masters.clients()[1].lock("x").acquire().await.unwrap();
        let (lock, limit) = (field.masters.multi_lock("x"), Duration::from_millis(60));
        let (waited, ()) = tokio::join!(lock.try_acquire_for(limit), release_later(guard));
        drop(waited.unwrap());
    };
    a_dropped_fenced_acquire_leaves_no_key: |field| {
        let lock = field.client().fenced_lock("x");
        lock.acquire().await.unwrap().release().await.unwrap();
        lock.with(async |guard: &FencedGuard| guard.fencing_token()).await.unwrap();
    };
    a_dropped_fenced_majority_leaves_no_key: |field| {
        field.masters.fenced_red_lock("x").acquire().await.unwrap().release().await.unwrap();
    };
    a_dropped_fenced_majority_that_must_agree_leaves_no_key: |field| {
        let _greatest = counters_differ(field).await;
        field.masters.fenced_red_lock("x").acquire().await.unwrap().release().await.unwrap();
    };
    a_dropped_fenced_whole_that_must_agree_leaves_no_key: |field| {
        let greatest = counters_differ(field).await;
        let guard = field.masters.fenced_multi_lock("x").acquire().await.unwrap();
        assert_eq!(guard.fencing_token().get(), greatest + 1);
        guard.release().await.unwrap();
    };
    a_dropped_majority_with_a_dead_member_leaves_no_key: |field| {
        let _back = Dead::new(&field.servers[2]);
        let guard = field.masters.red_lock("x").acquire().await.unwrap();
        guard.release().await.unwrap();
    };
    a_dropped_majority_with_a_frozen_member_leaves_no_key: |field| {
        let _thawed = Frozen::new(&field.servers[2]);
        let guard = field.masters.red_lock("x").acquire().await.unwrap();
        guard.release().await.unwrap();
    };
}

async fn release_later(guard: LockGuard) {
    tokio::time::sleep(Duration::from_millis(20)).await;
    guard.release().await.unwrap();
}

/// So that the members tell different tokens, and those behind have to be told the greatest.
async fn counters_differ(field: &Field) -> u64 {
    let time: Vec<u64> = ask(&field.servers[0], &["TIME"]).await;
    let greatest = (time[0] + AN_HOUR) * 1_000_000;
    for (server, behind) in field.servers.iter().zip([2, 1, 0]) {
        let count = (greatest - behind).to_string();
        let () = ask(server, &["SET", "palisade_lock_token:{x}", &count]).await;
    }
    greatest
}

/// In seconds. Farther ahead of the time a counter does not count.
const AN_HOUR: u64 = 3_600;

/// A server that stands still until this is dropped, wherever the operation is cut.
struct Frozen<'a>(&'a Server);

impl<'a> Frozen<'a> {
    fn new(server: &'a Server) -> Self {
        server.freeze();
        Self(server)
    }
}

impl std::ops::Drop for Frozen<'_> {
    fn drop(&mut self) {
        self.0.thaw();
    }
}

/// A server that is down, with its data, until this is dropped.
struct Dead<'a>(&'a Server);

impl<'a> Dead<'a> {
    fn new(server: &'a Server) -> Self {
        server.kill();
        Self(server)
    }
}

impl std::ops::Drop for Dead<'_> {
    fn drop(&mut self) {
        self.0.restart();
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_connect_leaves_no_connection_that_could_hold_anything() {
    for polls in 1..50 {
        let server = Server::start_here();
        let connect = server.client_builder().connect();
        let client = Cut { inner: Box::pin(connect), polls: 0, at: Drop::After(polls) }.await;
        if client.is_some() {
            return;
        }
    }
    panic!("connecting never came to an end");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_shutdown_still_releases() {
    for polls in 1..50 {
        let field = Field::new();
        let guard = field.client().lock("x").acquire().await.unwrap();
        let shutdown = field.client().shutdown(Duration::from_secs(1));
        let done = Cut { inner: Box::pin(shutdown), polls: 0, at: Drop::After(polls) }.await;
        assert!(guard.ensure_valid().is_err());
        assert!(field.becomes_empty().await, "after {polls} polls");
        if done.is_some() {
            return;
        }
    }
    panic!("the shutdown never came to an end");
}
