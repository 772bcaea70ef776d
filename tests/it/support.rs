//! What every test on real servers needs: limits instead of hangs, events instead of sleeps.

use std::{
    collections::BTreeMap,
    future::{Future, poll_fn},
    panic::Location,
    pin::pin,
    task::Poll,
    time::Duration,
};

use palisade::{
    AcquireError, Client, ClientBuilder, Lease, Lock, LockGuard, OnOutage, Quarantine,
    error::NodeError,
};
use testkit::{RedisServer, Reply};

pub(crate) use crate::fleet::{HANG, LONG_LEASE};

/// The output of `work`, or a panic after `limit`.
#[track_caller]
pub(crate) fn within<F: Future>(limit: Duration, work: F) -> impl Future<Output = F::Output> {
    let caller = Location::caller();
    // On the heap: a test has many of these, and a test's stack is small.
    let work = Box::pin(work);
    async move {
        match tokio::time::timeout(limit, work).await {
            Ok(output) => output,
            Err(_elapsed) => panic!("not done within {limit:?}, at {caller}"),
        }
    }
}

/// The output of `work`, or a panic when it [`HANG`]s.
#[track_caller]
pub(crate) fn soon<F: Future>(work: F) -> impl Future<Output = F::Output> {
    within(HANG, work)
}

/// Completes once `condition` holds, or panics when it does not come to hold within [`HANG`].
#[track_caller]
pub(crate) fn eventually(mut condition: impl FnMut() -> bool) -> impl Future<Output = ()> {
    let caller = Location::caller();
    async move {
        let polls = async {
            while !condition() {
                tokio::time::sleep(POLL).await;
            }
        };
        if tokio::time::timeout(HANG, polls).await.is_err() {
            panic!("did not come to hold within {HANG:?}, at {caller}");
        }
    }
}

/// Polls `work` so often at most. Whether it was done by then.
pub(crate) async fn polled(work: impl Future, mut polls: usize) -> bool {
    let mut work = pin!(work);
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(_) => Poll::Ready(true),
        Poll::Pending if polls == 1 => Poll::Ready(false),
        Poll::Pending => {
            polls -= 1;
            Poll::Pending
        }
    })
    .await
}

/// The same outside a runtime.
#[track_caller]
pub(crate) fn eventually_blocking(mut condition: impl FnMut() -> bool) {
    let began = std::time::Instant::now();
    while !condition() {
        assert!(began.elapsed() < HANG, "did not come to hold within {HANG:?}");
        std::thread::sleep(POLL);
    }
}

/// The output of `work`, or a panic when `server` could have been asked [`PROMPT`] times meanwhile.
///
/// A limit that tells an event from a timer of seconds, and still is none in seconds: where this
/// process or the server stands still, so does the count.
#[track_caller]
pub(crate) fn promptly<F: Future>(
    server: &RedisServer,
    work: F,
) -> impl Future<Output = F::Output> {
    let caller = Location::caller();
    let mut work = Box::pin(work);
    async move {
        for _ in 0..PROMPT {
            if let Ok(output) = tokio::time::timeout(TURN, &mut work).await {
                return output;
            }
            server.command(&["PING"]);
        }
        panic!("not done within {PROMPT} turns, at {caller}");
    }
}

/// A client whose time limits no busy machine exceeds.
pub(crate) async fn client(server: &RedisServer) -> Client {
    patient(server).connect().await.unwrap()
}

/// Settings with time limits that no busy machine exceeds.
pub(crate) fn patient(server: &RedisServer) -> ClientBuilder {
    patiently(Client::builder().url(&server.url()))
}

/// The same of whatever servers. Those of tests are always young: here they are trusted all the same.
pub(crate) fn patiently(settings: ClientBuilder) -> ClientBuilder {
    settings
        .max_lease(LONG_LEASE)
        .watchdog_lease(LONG_LEASE)
        .node_timeout(PATIENCE)
        .connect_timeout(PATIENCE)
        .quarantine(Quarantine::Durable)
}

/// A client that gives a silent server up soon.
pub(crate) async fn hasty(server: &RedisServer) -> Client {
    let settings = patient(server).node_timeout(Duration::from_millis(200));
    settings.connect().await.unwrap()
}

/// A guard of a lock that is free. A lease so short that the server may be late by chance, or a
/// client so hasty, is asked for again.
pub(crate) async fn acquired(lock: &Lock) -> LockGuard {
    soon(lock.clone().on_outage(OnOutage::Wait).acquire()).await.unwrap()
}

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) const fn fixed(ms: u64) -> Lease {
    Lease::Fixed(Duration::from_millis(ms))
}

pub(crate) const fn watchdog(ms: u64) -> Lease {
    Lease::WatchdogOf(Duration::from_millis(ms))
}

/// What the tests look at on a server, past the library.
pub(crate) trait Look {
    /// PTTL: −2 without the key, −1 without a ttl.
    fn pttl(&self, key: &str) -> i64;

    /// HGETALL.
    fn hash(&self, key: &str) -> BTreeMap<String, String>;

    /// How often the lock is held by its only holder; 0 if it is free.
    fn count(&self, key: &str) -> u32;

    fn exists(&self, key: &str) -> bool;

    /// How many keys there are, as [`RedisServer::keys`] counts them.
    fn size(&self) -> usize;

    /// How many connections are subscribed to the lock's channel.
    fn subscribers(&self, name: &str) -> i64;
}

impl Look for RedisServer {
    fn pttl(&self, key: &str) -> i64 {
        self.command(&["PTTL", key]).int()
    }

    fn hash(&self, key: &str) -> BTreeMap<String, String> {
        let reply = self.command(&["HGETALL", key]);
        let pairs = reply.array().chunks(2);
        pairs.map(|pair| (pair[0].to_string(), pair[1].to_string())).collect()
    }

    fn count(&self, key: &str) -> u32 {
        let hash = self.hash(key);
        assert!(hash.len() <= 1, "{hash:?}");
        hash.values().next().map_or(0, |count| count.parse().unwrap())
    }

    fn exists(&self, key: &str) -> bool {
        self.command(&["EXISTS", key]) == Reply::Int(1)
    }

    fn size(&self) -> usize {
        self.keys().len()
    }

    fn subscribers(&self, name: &str) -> i64 {
        self.command(&["PUBSUB", "NUMSUB", &channel(name)]).array()[1].int()
    }
}

/// Where Redisson announces the release of a lock, for a name without braces.
pub(crate) fn channel(name: &str) -> String {
    format!("redisson_lock__channel:{{{name}}}")
}

/// Why the nodes of a failed acquire did not vote.
#[track_caller]
pub(crate) fn causes(error: &AcquireError) -> Vec<&NodeError> {
    let ballot = error.ballot().unwrap_or_else(|| panic!("no ballot in {error:?}"));
    ballot.failures().map(|(_, cause)| cause).collect()
}

const POLL: Duration = Duration::from_millis(5);
/// With a server that is there: no machine stands still for so long.
const PATIENCE: Duration = Duration::from_secs(30);
/// A wait of a [`promptly`], between two questions to the server.
const TURN: Duration = Duration::from_millis(10);
/// On a machine that does nothing else some two seconds: well below the poll cap of 5 s, so that only
/// a wake-up explains a grant.
const PROMPT: u32 = 200;
