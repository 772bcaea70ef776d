//! What a recorder is told, by faults as they come.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    thread::ThreadId,
};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};
use palisade::{Client, ClientBuilder, Masters, Quarantine, error::AcquireError, metering};
use testkit::RedisServer;

use crate::{
    fleet::HANG,
    support::{eventually, fixed, ms, patient, soon, watchdog},
};

/// Keeps all that is told, by name and labels; no two tests have the same group.
struct Kept;

static TOLD: Mutex<BTreeMap<String, Arc<Value>>> = Mutex::new(BTreeMap::new());

/// The sum of what was told, in thousandths, and the threads that told it.
#[derive(Default)]
struct Value {
    sum: AtomicU64,
    times: AtomicU64,
    by: Mutex<Vec<(ThreadId, Option<String>)>>,
}

fn told() -> MutexGuard<'static, BTreeMap<String, Arc<Value>>> {
    TOLD.lock().unwrap()
}

impl Value {
    fn of(key: &Key) -> Arc<Self> {
        let labels = key.labels().map(|label| format!(" {}={}", label.key(), label.value()));
        let mut labels: Vec<_> = labels.collect();
        labels.sort();
        told().entry(format!("{}{}", key.name(), labels.concat())).or_default().clone()
    }

    fn add(&self, value: f64) {
        let thread = std::thread::current();
        self.by.lock().unwrap().push((thread.id(), thread.name().map(str::to_owned)));
        self.times.fetch_add(1, Ordering::Relaxed);
        let thousandths = (value * 1_000.0) as i64;
        self.sum.fetch_add(thousandths.cast_unsigned(), Ordering::Relaxed);
    }
}

impl CounterFn for Value {
    fn increment(&self, value: u64) {
        self.add(value as f64);
    }

    fn absolute(&self, _value: u64) {
        unreachable!("counters are counted")
    }
}

impl GaugeFn for Value {
    fn increment(&self, value: f64) {
        self.add(value);
    }

    fn decrement(&self, value: f64) {
        self.add(-value);
    }

    fn set(&self, value: f64) {
        self.sum.store((value * 1_000.0) as u64, Ordering::Relaxed);
        self.times.fetch_add(1, Ordering::Relaxed);
    }
}

impl HistogramFn for Value {
    fn record(&self, value: f64) {
        self.add(value);
    }
}

impl Recorder for Kept {
    fn describe_counter(&self, _key: KeyName, _unit: Option<Unit>, _text: SharedString) {}
    fn describe_gauge(&self, _key: KeyName, _unit: Option<Unit>, _text: SharedString) {}
    fn describe_histogram(&self, _key: KeyName, _unit: Option<Unit>, _text: SharedString) {}

    fn register_counter(&self, key: &Key, _metadata: &Metadata<'_>) -> Counter {
        Counter::from_arc(Value::of(key))
    }

    fn register_gauge(&self, key: &Key, _metadata: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(Value::of(key))
    }

    fn register_histogram(&self, key: &Key, _metadata: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(Value::of(key))
    }
}

fn measured(builder: ClientBuilder, group: &str) -> ClientBuilder {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| metrics::set_global_recorder(Kept).unwrap());
    builder.metrics_group(group)
}

/// Its sum in thousandths, and how often it was told.
fn value(name: &str) -> (i64, u64) {
    let known = told().get(name).cloned().unwrap_or_default();
    (known.sum.load(Ordering::Relaxed).cast_signed(), known.times.load(Ordering::Relaxed))
}

fn count(name: &str) -> i64 {
    value(name).0 / 1_000
}

async fn client(server: &RedisServer, group: &str) -> Client {
    measured(patient(server), group).connect().await.unwrap()
}

#[tokio::test]
async fn acquires_are_counted_by_what_came_of_them() {
    let server = RedisServer::start();
    let lock = client(&server, "outcomes").await.lock("x");
    let other = patient(&server).connect().await.unwrap().lock("x");
    let of =
        |outcome: &str| count(&format!("palisade_acquires_total group=outcomes outcome={outcome}"));
    let guard = soon(lock.acquire()).await.unwrap();
    assert_eq!((of("granted"), of("refused"), of("outage")), (1, 0, 0));
    guard.release().await.unwrap();
    let held = soon(other.acquire()).await.unwrap();
    assert!(lock.try_acquire().await.unwrap().is_none());
    assert_eq!((of("granted"), of("refused")), (1, 1));

    let waiting = || count("palisade_waiting group=outcomes");
    let waiter = tokio::spawn({
        let lock = lock.clone();
        async move { lock.acquire().await.map(drop) }
    });
    eventually(|| waiting() == 1).await;
    held.release().await.unwrap();
    soon(waiter).await.unwrap().unwrap();
    assert_eq!((waiting(), of("granted")), (0, 2));

    server.command(&["SET", "foreign", "1"]);
    let foreign = client(&server, "outcomes").await.lock("foreign");
    assert!(matches!(foreign.try_acquire().await, Err(AcquireError::Denied { .. })));
    assert_eq!(of("denied"), 1);
    let waited = value("palisade_acquire_seconds group=outcomes");
    assert_eq!(waited.1, 2, "only those that were granted");
}

#[tokio::test]
async fn holds_are_measured_until_they_are_given_back() {
    let server = RedisServer::start();
    let lock = client(&server, "holds").await.lock("x");
    let guard = soon(lock.acquire()).await.unwrap();
    tokio::time::sleep(ms(50)).await;
    assert_eq!(value("palisade_hold_seconds group=holds"), (0, 0));
    let waiter = tokio::spawn({
        let lock = lock.clone();
        async move { lock.acquire().await.unwrap().release().await }
    });
    eventually(|| count("palisade_waiting group=holds") == 1).await;
    guard.release().await.unwrap();
    soon(waiter).await.unwrap().unwrap();
    let (held, times) = value("palisade_hold_seconds group=holds");
    assert!(held >= 50 && times == 2, "{held} ms {times} times");
    assert!(count("palisade_handovers_total group=holds") <= 1);
}

/// And none of it by the watchdog's thread, on which no recorder's code is to run.
#[tokio::test]
async fn losses_and_servers_that_are_down_are_counted() {
    let server = RedisServer::start();
    let client = client(&server, "losses").await;
    let up = format!("palisade_server_up group=losses server={}", client.node_id());
    eventually(|| value(&up).0 == 1_000).await;
    let lock = client.lock("x").with_lease(watchdog(3_000));
    let guard = soon(lock.acquire()).await.unwrap();
    server.command(&["DEL", "x"]);
    soon(guard.lost()).await;
    eventually(|| count("palisade_losses_total cause=gone group=losses") == 1).await;

    let fixed = soon(client.lock("y").with_lease(fixed(1_000)).acquire()).await.unwrap();
    let renewed = soon(client.lock("z").with_lease(watchdog(3_000)).acquire()).await.unwrap();
    server.kill();
    soon(fixed.lost()).await;
    eventually(|| count("palisade_losses_total cause=expired group=losses") >= 1).await;
    eventually(|| value(&up).0 == 0).await;
    drop(renewed);

    for (name, value) in told().iter().filter(|(name, _)| name.contains("group=losses")) {
        let by = value.by.lock().unwrap();
        let watchdog = by.iter().find(|(_, name)| name.as_deref() == Some("palisade-watchdog"));
        assert_eq!(watchdog, None, "{name}");
    }
}

#[tokio::test]
async fn data_that_a_server_has_forgotten_and_too_few_votes_are_counted() {
    let servers = [(); 3].map(|()| RedisServer::start());
    let wary = |server| patient(server).quarantine(Quarantine::Composites);
    let clients = servers.iter().map(|server| measured(wary(server), "votes").build().unwrap());
    let masters = Masters::new(clients).unwrap();
    masters.bless().await.unwrap();
    let lock = masters.red_lock("x");
    soon(lock.acquire()).await.unwrap().release().await.unwrap();
    servers[0].flush();
    let forgotten = masters.clients()[0].node_id().to_string();
    let forgotten = format!("palisade_forgotten_data_total group=votes server={forgotten}");
    eventually_asked(&lock, || count(&forgotten) >= 1).await;
    servers[1].kill();
    servers[2].kill();
    assert!(lock.try_acquire().await.is_err());
    let of =
        |outcome: &str| count(&format!("palisade_acquires_total group=votes outcome={outcome}"));
    assert!(of("outage") + of("quarantined") >= 1);
}

/// Asks for the lock until that holds: a server is looked at when it is asked.
async fn eventually_asked(lock: &palisade::RedLock, holds: impl Fn() -> bool) {
    let asking = async {
        while !holds() {
            if let Ok(Some(guard)) = lock.try_acquire().await {
                guard.release().await.unwrap();
            }
        }
    };
    tokio::time::timeout(HANG, asking).await.unwrap();
}

/// Dashboards go by the names.
#[test]
fn names_are_those_of_the_table() {
    let page = include_str!("../../src/metering.rs");
    for name in metering::NAMES {
        assert!(page.contains(&format!("//! | `{name}` |")), "{name} is not in the table");
    }
}
