//! Bytes that make no sense, to the embedded server and from a server to the library: nothing
//! panics or hangs, and no memory is reserved for what is only announced.
//!
//! A binary of its own: it looks at the memory of the process and at panics on all threads. The
//! cases are the same at every run; `PROPTEST_CASES=100000 PROPTEST_RNG_SEED=7` asks for others.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may panic")]

mod replies;
mod requests;

use std::{
    fmt::{self, Debug},
    fs,
    panic::{set_hook, take_hook},
    sync::{
        Mutex, Once, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use proptest::{
    strategy::Strategy,
    test_runner::{Config, RngSeed, TestCaseError, TestRunner},
};

/// Tries `work` with what `cases` makes, one test at a time. One case takes as long as `cost` others.
fn fuzz<C>(cost: u32, cases: impl Strategy<Value = C>, work: impl Fn(C) + Clone + Send + 'static)
where
    C: Debug + Clone + Send + 'static,
{
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    count_panics();
    let mut config =
        Config { failure_persistence: None, max_shrink_time: 60_000, ..Config::default() };
    config.cases = config.cases.div_ceil(cost);
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(20_260_711);
    }
    let ran = TestRunner::new(config).run(&cases, |case| judge(case, work.clone()));
    ran.unwrap_or_else(|failure| panic!("{failure}"));
}

/// Runs one case on a thread of its own, so that one that never ends is found too.
fn judge<C: Send + 'static>(
    case: C,
    work: impl Fn(C) + Send + 'static,
) -> Result<(), TestCaseError> {
    let (panics, reserved) = (PANICS.load(Ordering::Relaxed), reserved_kib());
    let (ended, end) = mpsc::channel();
    let thread = thread::spawn(move || {
        work(case);
        ended.send(()).unwrap();
    });
    match end.recv_timeout(HANG) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
        Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => drop(thread.join()),
    }
    // Also where the library has caught it, or a task has died of it.
    if PANICS.load(Ordering::Relaxed) > panics {
        return Err(TestCaseError::fail("it panics"));
    }
    let more = reserved_kib() - reserved;
    if more > MOST_RESERVED_KIB {
        return Err(TestCaseError::fail(format!("{more} KiB were reserved")));
    }
    Ok(())
}

/// Runs the work to its end, in paused time.
fn paused(work: impl Future<Output = ()>) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().start_paused(true).build().unwrap().block_on(work);
}

/// Bytes that can be read in a report.
#[derive(Clone)]
struct Bytes(Vec<u8>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

fn count_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = take_hook();
        set_hook(Box::new(move |panic| {
            PANICS.fetch_add(1, Ordering::Relaxed);
            print(panic);
        }));
    });
}

/// The most address space that this process ever had; 0 where that cannot be told. Reserved memory
/// that is not written to is in no other figure.
fn reserved_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmPeak:"));
    peak.map_or(0, |peak| peak.trim().trim_end_matches(" kB").parse().unwrap())
}

static PANICS: AtomicUsize = AtomicUsize::new(0);
/// In real time, for what takes milliseconds.
const HANG: Duration = Duration::from_secs(60);
/// Above what an allocator takes for a thread at once, below the longest string of the protocol.
const MOST_RESERVED_KIB: u64 = 400 * 1024;
