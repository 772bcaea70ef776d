//! The watchdog of a process: renews leases, notices their end, and finishes releases.
//!
//! It runs on a thread and connections of its own. User code that blocks its runtime must not lose its locks, and a
//! release queued by a drop must go out although the user's runtime is ending. It knows claims only as [`Watched`]:
//! what is due, and where to tell what came of it.
//!
//! Whatever runs here and is not ours may panic, and each such call is fenced off. What panics all the same is
//! begun again, with the same table; until it runs, nothing is to be acquired.
//!
//! ```text
//!             registers                due                  answered, or not
//!  claim ───────────────► schedule ─────────► tick: renewals ───────────────► on_report ─► due again, or left
//!    │                        ▲                    heals (repairs)                             │
//!    │ ends: it leaves first  └────────────────────────────────────────────────────────────────┘
//!    ▼
//!  release ─► sent at once by its guard ── answered behind all acquires, or past their stamps ─► final
//!                │ no answer, dropped
//!                └─► releaser: said again, ever less often, until it is final or the key has ended
//! ```
//!
//! # Invariants
//! - The table's mutex is never held while a claim is asked or told anything, and never across an await. A claim
//!   may therefore register and leave under any lock of its own.
//! - What left the table is never put back ([`Schedule::reschedule`]).
//! - **A claim leaves the table before its releases go out**: no renewal follows a release.
//! - **A release is final** only if no unanswered acquire of the hold can follow it (`finality`).
//! - **One node does not delay another**: renewals are sent by node, and releases have turns (`renewals`, `turns`).
//!
//! # What proves them
//! `tests` here; tables at the end of `finality`, `schedule`, `turns` and `releaser`. In `tests/it`: `watchdog`
//! (blocked runtimes, frozen nodes, panics, a thousand drops), `mutex::ending`, `healing::release`. Chaos with
//! `--blocking` has real runtimes that are blocked. In the simulation: I5, I6, and what is renewed is kept.
//! Planted: `watchdog-on-users-runtime`, `batch-not-halved`, `batches-by-address`.
//!
//! # To change…
//! - when a renewal is due: `schedule`; how what is due is sent: `rounds`, `renewals`
//! - when a release is final: `finality`; how it is repeated: `release`, `releaser`
//! - what a shutdown waits for: `drain`
//! - what a runtime left undone: `stragglers`; how many repairs go on at once: `repairs`

mod drain;
mod finality;
mod release;
mod releaser;
mod renewals;
mod repairs;
mod rounds;
mod schedule;
mod stragglers;
#[cfg(all(test, feature = "embedded"))]
mod tests;
mod turns;

use std::{
    fmt, io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::future::BoxFuture;
use tokio::{
    runtime::Handle,
    sync::{Notify, mpsc},
};
use tokio_util::sync::{CancellationToken, DropGuard};

pub(crate) use drain::{Drain, Draining};
pub(crate) use finality::Unanswered;
pub(crate) use release::{Release, ReleaseCallback, ReleaseCommand};
pub(crate) use repairs::Repair;
use schedule::Schedule;
pub(crate) use schedule::renewal_time;
pub(crate) use stragglers::Straggling;

use crate::{
    by_member::MemberId,
    clock::{BootClock, Clock, Instant, SharedClock},
    error::NodeError,
    logging::WATCHDOG,
    metering::DueTime,
    node::Node,
    panics::contained_async,
    random::SharedRandom,
    standing::RunId,
    telling,
    wire::{Outcome, Statement},
};

/// A claim, as the watchdog sees it.
pub(crate) trait Watched: fmt::Debug + Send + Sync + 'static {
    /// Ends it if its time is over at `now`, and tells its guards; what else follows is for
    /// [`tick`](Self::tick), which is next. Otherwise returns until when it stands, if that has an end.
    fn end_in_time(&self, now: Instant) -> Option<Instant>;

    /// What is due at `now`, at most so many requests of it, and when to look again: at once, if that is not all.
    fn tick(self: Arc<Self>, now: Instant, most: usize) -> Tick;

    /// What came of a request for `member`. Returns when to look again.
    fn on_report(&self, member: MemberId, report: Report, now: Instant) -> Option<Instant>;

    /// What came of a [look](Due::is_look) at `member`. Returns when to look again.
    fn on_looked(&self, member: MemberId, report: Report, now: Instant) -> Option<Instant> {
        self.on_report(member, report, now)
    }

    /// The count to be written, for each member; empty when the servers know the latest.
    fn recount(&self) -> Vec<Due>;

    /// What came of writing the count.
    fn on_recounted(&self, member: MemberId, report: Report, now: Instant);
}

/// What a claim wants when it is looked at.
#[derive(Default)]
pub(crate) struct Tick {
    pub(crate) due: Vec<Due>,
    pub(crate) repairs: Vec<Repair>,
    /// `None` if the claim is over: the watchdog forgets it.
    pub(crate) next: Option<Instant>,
}

impl Tick {
    fn only_look_again(at: Instant) -> Self {
        Self { next: Some(at), ..Self::default() }
    }
}

/// A request that is due for one member of a claim.
#[derive(Debug)]
pub(crate) struct Due {
    pub(crate) member: MemberId,
    pub(crate) node: Node,
    pub(crate) statement: Statement,
    pub(crate) timeout: Duration,
    /// Whether it only asks for how long the hold stands, and is told by [`Watched::on_looked`].
    pub(crate) is_look: bool,
    /// When it was due, if it is the renewal of a hold.
    pub(crate) due_at: DueTime,
}

/// What came of a request.
#[derive(Debug, Clone)]
pub(crate) enum Report {
    /// The server answered. `sent` is the instant before the first byte.
    Answered { outcome: Outcome, sent: Instant, run_id: Option<RunId> },
    /// No answer: whether it was executed is unknown, no deadline moves.
    Unknown { cause: NodeError },
}

/// The handle on a watchdog. Its thread or task ends when the last handle is dropped.
#[derive(Debug, Clone)]
pub(crate) struct Watchdog {
    shared: Arc<Shared>,
    jobs: mpsc::UnboundedSender<Job>,
    runtime: Handle,
    _end: Arc<DropGuard>,
}

/// Work for the watchdog's runtime.
struct Errand(BoxFuture<'static, ()>);

impl fmt::Debug for Errand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Errand").finish_non_exhaustive()
    }
}

/// What the releaser's task is asked to do.
#[derive(Debug)]
enum Job {
    /// With a handle that keeps the watchdog alive until it is done.
    Release(Box<Release>, Watchdog),
    Recount(Arc<dyn Watched>),
    Attend(Errand),
    /// There is work that was left somewhere, and no task looks after it.
    LookAfterStragglers,
}

#[derive(Debug)]
struct Shared {
    clock: SharedClock,
    random: SharedRandom,
    table: Mutex<Table>,
    /// Something became due earlier than the sleep that is under way.
    nudge: Notify,
    stragglers: stragglers::StragglerList,
    /// Whether the loop goes round: false after a panic until it does again, and after the end.
    is_running: AtomicBool,
}

#[derive(Debug)]
struct Table {
    schedule: Schedule<Arc<dyn Watched>>,
    /// Until when the watchdog sleeps.
    wakes_at: Option<Instant>,
}

impl Watchdog {
    /// A watchdog on a thread and a runtime of its own.
    pub(crate) fn on_own_thread(clock: SharedClock, random: SharedRandom) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (watchdog, task) = Self::new(clock, random, runtime.handle().clone());
        std::thread::Builder::new().name("palisade-watchdog".to_owned()).spawn(move || {
            telling::spare_this_thread();
            runtime.block_on(telling::in_rounds(task));
        })?;
        Ok(watchdog)
    }

    /// A watchdog on the current runtime and its clock, for tests under paused time and
    /// simulation: it renews nothing while that runtime is blocked.
    #[cfg(any(feature = "embedded", planted_bugs))]
    pub(crate) fn on_current_runtime(clock: SharedClock, random: SharedRandom) -> Self {
        let runtime = Handle::current();
        let (watchdog, task) = Self::new(clock, random, runtime.clone());
        runtime.spawn(task);
        watchdog
    }

    fn new(
        clock: SharedClock,
        random: SharedRandom,
        runtime: Handle,
    ) -> (Self, impl Future<Output = ()> + use<>) {
        #[cfg(planted_bugs)]
        let clock = crate::planted::wall_clock::measured_by(clock);
        let table = Table { schedule: Schedule::new(), wakes_at: None };
        let (table, nudge) = (Mutex::new(table), Notify::new());
        let shared = Arc::new(Shared {
            clock,
            random,
            table,
            nudge,
            stragglers: stragglers::StragglerList::default(),
            is_running: AtomicBool::new(true),
        });
        let (jobs, mut inbox) = mpsc::unbounded_channel();
        let end = CancellationToken::new();
        let task = {
            let (shared, end) = (shared.clone(), end.clone());
            let attendance = RunningGuard(shared.clone());
            async move {
                let _attendance = attendance;
                let watch = async {
                    while contained_async(rounds::watch(&shared)).await.is_none() {
                        shared.begin_again().await;
                    }
                };
                let release = async {
                    while contained_async(releaser::work(&shared, &mut inbox)).await.is_none() {
                        shared.begin_again().await;
                    }
                };
                let work = async { tokio::join!(watch, release) };
                end.run_until_cancelled(work).await;
            }
        };
        (Self { shared, jobs, runtime, _end: Arc::new(end.drop_guard()) }, task)
    }

    /// Where the services of the process run.
    pub(crate) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Whether what is acquired now would be looked after.
    pub(crate) fn is_running(&self) -> bool {
        self.shared.is_running.load(Ordering::Relaxed)
    }

    /// Looks after a claim from now on.
    pub(crate) fn watch(&self, id: u64, next: Instant, claim: Arc<dyn Watched>) {
        let mut table = self.shared.table();
        table.schedule.insert(id, next, claim);
        self.shared.nudge_if_late(table, next);
    }

    /// Looks at a claim at `next`, or before that.
    pub(crate) fn reschedule(&self, id: u64, next: Instant) {
        let mut table = self.shared.table();
        table.schedule.reschedule(id, next);
        self.shared.nudge_if_late(table, next);
    }

    /// Forgets a claim: no renewal is sent for it from now on.
    pub(crate) fn forget(&self, id: u64) {
        // The entry is dropped after the table's mutex was let go.
        let _entry = self.shared.table().schedule.remove(id);
    }

    /// Finishes a release. Never blocks.
    pub(crate) fn release(&self, release: Box<Release>) {
        self.send(Job::Release(release, self.clone()));
    }

    /// Writes the count of a claim in the background. Never blocks.
    pub(crate) fn recount(&self, claim: Arc<dyn Watched>) {
        self.send(Job::Recount(claim));
    }

    /// Looks after something that no other task may. Never blocks.
    pub(crate) fn attend(&self, work: BoxFuture<'static, ()>) {
        self.send(Job::Attend(Errand(work)));
    }

    /// Takes `work` over if it is not done at `at`. Never blocks for long.
    pub(crate) fn take_over(&self, at: Instant, work: &Arc<dyn Straggling>) {
        if self.shared.stragglers.add(at, Arc::downgrade(work)) {
            self.send(Job::LookAfterStragglers);
        }
    }

    /// Takes over all that is listed, as if its time had come.
    #[cfg(all(test, shuttle))]
    pub(crate) fn take_over_listed(&self) {
        self.shared.stragglers.take_over(Instant::from_origin(Duration::MAX));
    }

    fn send(&self, job: Job) {
        if self.jobs.send(job).is_err() {
            // The sender may have a turn locked.
            telling::event_elsewhere(
                || tracing::warn!(target: WATCHDOG, "the watchdog's runtime has ended: keys end with their lease"),
            );
        }
    }
}

impl Shared {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn nudge_if_late(&self, table: MutexGuard<'_, Table>, next: Instant) {
        let late = table.wakes_at.is_none_or(|at| next < at);
        drop(table);
        if late {
            self.nudge.notify_one();
        }
    }

    /// Before what panicked is begun again: not in a spin, nor by a clock that may be what panics.
    async fn begin_again(&self) {
        self.is_running.store(false, Ordering::Relaxed);
        BootClock.sleep_until(BootClock.now() + LOOK_AGAIN).await;
        // It is known to run once it has gone round.
        self.nudge.notify_one();
    }

    fn reschedule(&self, id: u64, next: Option<Instant>) {
        let mut table = self.table();
        match next {
            Some(next) => table.schedule.reschedule(id, next),
            None => drop(table.schedule.remove(id)),
        }
    }
}

/// Notes the end, whatever it comes by.
struct RunningGuard(Arc<Shared>);

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.0.is_running.store(false, Ordering::Relaxed);
    }
}

/// How long after a panic whatever panicked is tried again.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
