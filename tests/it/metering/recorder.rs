//! A recorder that keeps all it is told, for all tests of this process.

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
use palisade::ClientBuilder;

/// Keeps all that is told, by name and labels; no two tests have the same group.
struct Kept;

static TOLD: Mutex<BTreeMap<String, Arc<Value>>> = Mutex::new(BTreeMap::new());

/// While it is locked, whatever is told of the group `blocks` waits.
pub(super) static GATE: Mutex<()> = Mutex::new(());

/// The sum of what was told, in thousandths, and the threads that told it.
#[derive(Default)]
pub(super) struct Value {
    /// Of which group it is, if that means trouble.
    trouble: Option<&'static str>,
    sum: AtomicU64,
    times: AtomicU64,
    pub(super) by: Mutex<Vec<(ThreadId, Option<String>)>>,
}

pub(super) fn told() -> MutexGuard<'static, BTreeMap<String, Arc<Value>>> {
    TOLD.lock().unwrap()
}

impl Value {
    fn of(key: &Key) -> Arc<Self> {
        let labels = key.labels().map(|label| format!(" {}={}", label.key(), label.value()));
        let mut labels: Vec<_> = labels.collect();
        labels.sort();
        let trouble = TROUBLE.into_iter().find(|group| labels.contains(&format!(" group={group}")));
        let new = || Arc::new(Self { trouble, ..Self::default() });
        let name = format!("{}{}", key.name(), labels.concat());
        told().entry(name).or_insert_with(new).clone()
    }

    fn add(&self, value: f64) {
        match self.trouble {
            Some("blocks") => drop(GATE.lock()),
            Some(_) => panic!("as it is meant to"),
            None => {}
        }
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

pub(super) fn measured(builder: ClientBuilder, group: &str) -> ClientBuilder {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| metrics::set_global_recorder(Kept).unwrap());
    builder.metrics_group(group)
}

/// Its sum in thousandths, and how often it was told.
pub(super) fn value(name: &str) -> (i64, u64) {
    let known = told().get(name).cloned().unwrap_or_default();
    (known.sum.load(Ordering::Relaxed).cast_signed(), known.times.load(Ordering::Relaxed))
}

pub(super) fn count(name: &str) -> i64 {
    value(name).0 / 1_000
}

/// The same of all with this name and label, and of this group.
pub(super) fn seen([name, label]: [&str; 2], group: &str) -> (i64, u64) {
    let told = told();
    let of = |key: &str| {
        let (its_name, labels) = key.split_once(' ').unwrap_or((key, ""));
        its_name == name && labels.contains(label) && labels.contains(group)
    };
    let values = told.iter().filter(|(key, _)| of(key)).map(|(_, value)| value);
    values.fold((0, 0), |(sum, times), value| {
        let more = value.sum.load(Ordering::Relaxed).cast_signed();
        (sum + more, times + value.times.load(Ordering::Relaxed))
    })
}

const TROUBLE: [&str; 2] = ["blocks", "panics"];
