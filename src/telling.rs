//! Tells code of the user's what has happened, without waiting for it.
//!
//! Wakers, and the subscribers of events, are not ours and may block. A watchdog's thread looks after all
//! locks of a process and waits for neither: what is to be told from there goes to threads that do nothing
//! else. From any other thread it is told at once, in the context and at the expense of the task that is there.
//!
//! Whatever such a thread has to tell in one [round](in_rounds) is handed over at its end: first all is noted that
//! has happened, however much that is. What has happened to many at once is told of the first of them, and how many
//! others there were.
//!
//! Wakers are never left out, and one that blocks holds up the others only where [`WAKERS`] of them do. Events
//! have a thread to themselves; those for which there is no room are counted, and that is told.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    future::poll_fn,
    mem,
    pin::pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Waker},
    thread,
    time::Duration,
};

use futures::{
    FutureExt,
    task::{ArcWake, waker_ref},
};
use tracing::{Level, Span, level_filters::LevelFilter};

use crate::{
    home::PerProcess,
    logging::{LOCK, WATCHDOG},
    panics::contained,
};

thread_local! {
    static IS_SPARED: Cell<bool> = const { Cell::new(false) };
    /// What is to be told at the end of the round that is under way.
    static ROUND: RefCell<Option<PendingNotices>> = const { RefCell::new(None) };
}

#[derive(Default)]
struct PendingNotices {
    wakers: Vec<Callback>,
    /// What happened to many, with the first that it happened to.
    events: Vec<(&'static str, Vec<Callback>, usize)>,
    /// What tells the numbers that were noted, if any were.
    #[cfg(feature = "metrics")]
    numbers: Option<Callback>,
}

impl PendingNotices {
    /// Whatever has happened, of `what` only so much that all of it is of use.
    fn add(&mut self, what: &'static str, tell: impl FnOnce() + Send + 'static) {
        let known = self.events.iter().position(|(known, ..)| *known == what);
        let known = known.unwrap_or_else(|| {
            self.events.push((what, Vec::new(), 0));
            self.events.len() - 1
        });
        if let Some((_, first, all)) = self.events.get_mut(known) {
            *all += 1;
            if first.len() < FEW {
                first.push(Box::new(tell));
            }
        }
    }

    fn hand_over(self) {
        desk().wakers.add_all(self.wakers);
        for (what, mut first, all) in self.events {
            let (told, others) = told_of(&first, all);
            first.truncate(told);
            first.into_iter().for_each(|tell| desk().events.add(tell));
            if others > 0 {
                event_elsewhere(move || tracing::warn!(target: WATCHDOG, locks = others, "{what}"));
            }
        }
        #[cfg(feature = "metrics")]
        self.numbers.into_iter().for_each(|tell| desk().numbers.add(tell));
    }
}

/// Of how many it is told, and how many others there were, if these were kept of all.
fn told_of(first: &[Callback], all: usize) -> (usize, usize) {
    let told = if all > FEW { first.len().min(1) } else { first.len() };
    (told, all - told)
}

/// Has what is told by each poll of `work` handed over at its end, where a thread is spared.
///
/// # Cancel safety
/// That of `work`.
pub(crate) async fn in_rounds<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    poll_fn(|cx| {
        let _round = Underway::begun();
        work.as_mut().poll(cx)
    })
    .await
}

/// What was told in this round by now is handed over: it took its time.
pub(crate) fn hand_over() {
    if !is_spared() {
        return;
    }
    let told = ROUND.with_borrow_mut(|round| round.as_mut().map(mem::take));
    told.into_iter().for_each(PendingNotices::hand_over);
}

/// Ends the round, whatever it ends by.
struct Underway;

impl Underway {
    fn begun() -> Self {
        ROUND.with_borrow_mut(|round| *round = is_spared().then(PendingNotices::default));
        Self
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        let told = ROUND.with_borrow_mut(Option::take);
        told.into_iter().for_each(PendingNotices::hand_over);
    }
}

/// From now on no code of the user's is waited for on this thread.
pub(crate) fn spare_this_thread() {
    IS_SPARED.set(true);
}

/// Whether that is so.
pub(crate) fn is_spared() -> bool {
    IS_SPARED.get()
}

/// Wakes what waits for something, by `wake`.
pub(crate) fn wake(wake: impl FnOnce() + Send + 'static) {
    if !is_spared() {
        return wake();
    }
    let wake: Callback = Box::new(wake);
    let left = ROUND.with_borrow_mut(|round| match round {
        Some(told) => {
            told.wakers.push(wake);
            None
        }
        None => Some(wake),
    });
    left.into_iter().for_each(|wake| desk().wakers.add(wake));
}

/// Whether a subscriber may want to know of each acquire and release: a comparison where none does.
pub(crate) fn is_each_wanted() -> bool {
    let wants = || tracing::enabled!(target: LOCK, Level::DEBUG);
    LevelFilter::current() >= LevelFilter::DEBUG
        && (is_spared() || contained(wants).unwrap_or(false))
}

// keeps: no-guard-across-await
/// Tells subscribers of an event. Not for where a mutex is locked.
pub(crate) fn event(tell: impl FnOnce() + Send + 'static) {
    if is_spared() {
        event_elsewhere(tell);
    } else {
        contained(tell);
    }
}

/// The same of what may happen to very many locks at once: then it is told of one, and how many others there were,
/// which is `of_others`.
pub(crate) fn event_of_many(tell: impl FnOnce() + Send + 'static, of_others: &'static str) {
    if !is_spared() {
        return event(tell);
    }
    let left = ROUND.with_borrow_mut(|round| match round {
        Some(told) => {
            told.add(of_others, tell);
            None
        }
        None => Some(tell),
    });
    left.into_iter().for_each(event);
}

/// The same for where one may be locked: never on this thread.
pub(crate) fn event_elsewhere(tell: impl FnOnce() + Send + 'static) {
    desk().events.add(Box::new(tell));
}

/// Has the numbers told that were noted, on a thread that does nothing else. One that waits to do so tells those of all:
/// so neither is there more than one, nor does one that captures nothing cost an allocation.
#[cfg(feature = "metrics")]
pub(crate) fn numbers_elsewhere(tell: impl FnOnce() + Send + 'static) {
    let tell: Callback = Box::new(tell);
    let left = ROUND.with_borrow_mut(|round| match round {
        Some(told) => {
            told.numbers.get_or_insert(tell);
            None
        }
        None => Some(tell),
    });
    left.into_iter().for_each(|tell| desk().numbers.add(tell));
}

/// Work of the user's task: what wakes it does not wait for its waker where no code of the user's is waited for.
///
/// # Cancel safety
/// That of `work`.
pub(crate) fn woken_aside<T>(work: impl Future<Output = T>) -> impl Future<Output = T> {
    woken_aside_in(None, work).map(|(done, _)| done)
}

/// The same in a span, which comes back with what is done: users' futures have room for it once.
///
/// # Cancel safety
/// That of `work`.
pub(crate) async fn woken_aside_in<T>(
    span: Option<Box<Span>>,
    work: impl Future<Output = T>,
) -> (T, Option<Box<Span>>) {
    let (mut work, mut known) = (pin!(work), None::<Arc<Aside>>);
    let done = poll_fn(|cx| {
        let is_known = known.as_ref().is_some_and(|aside| aside.0.will_wake(cx.waker()));
        if !is_known {
            known = Some(Arc::new(Aside(cx.waker().clone())));
        }
        let waker = known.as_ref().map(waker_ref);
        let waker = waker.as_deref().unwrap_or_else(|| cx.waker());
        let _entered = span.as_ref().map(|span| span.enter());
        work.as_mut().poll(&mut Context::from_waker(waker))
    });
    let done = done.await;
    (done, span)
}

struct Aside(Waker);

impl ArcWake for Aside {
    fn wake(self: Arc<Self>) {
        if is_spared() {
            desk().wakers.add(Box::new(move || self.0.wake_by_ref()));
        } else {
            self.0.wake_by_ref();
        }
    }

    fn wake_by_ref(aside: &Arc<Self>) {
        if is_spared() { aside.clone().wake() } else { aside.0.wake_by_ref() }
    }
}

/// The threads that tell.
struct Crews {
    wakers: Crew,
    events: Crew,
    #[cfg(feature = "metrics")]
    numbers: Crew,
}

impl Default for Crews {
    fn default() -> Self {
        let wakers = Crew::new("palisade-wakers", WAKERS, usize::MAX, |_never| {});
        let events = Crew::new("palisade-events", 1, EVENTS, |events| {
            tracing::warn!(target: WATCHDOG, events, "events were left out: subscribers took longer than they came");
        });
        Self {
            wakers,
            events,
            #[cfg(feature = "metrics")]
            numbers: Crew::new("palisade-metrics", 1, 1, |_never| {}),
        }
    }
}

/// The child of a fork has its own, since it has none of these threads.
fn desk() -> &'static Crews {
    static DESK: PerProcess<Crews> = PerProcess::new();
    DESK.get()
}

type Callback = Box<dyn FnOnce() + Send>;

/// Threads that do one thing after the other. They end when there was nothing to do for a while.
struct Crew {
    name: &'static str,
    most: usize,
    room: usize,
    /// Tells that so many were left out.
    apologise: fn(u64),
    state: Mutex<CrewState>,
    work: Condvar,
}

#[derive(Default)]
struct CrewState {
    waiting: VecDeque<Callback>,
    threads: usize,
    idle: usize,
    left_out: u64,
}

impl Crew {
    fn new(name: &'static str, most: usize, room: usize, apologise: fn(u64)) -> Self {
        let (state, work) = (Mutex::default(), Condvar::new());
        Self { name, most, room, apologise, state, work }
    }

    fn add(&'static self, job: Callback) {
        let mut state = self.state();
        if state.waiting.len() >= self.room {
            state.left_out += 1;
            return;
        }
        state.waiting.push_back(job);
        let is_short = state.idle < state.waiting.len() && state.threads < self.most;
        state.threads += usize::from(is_short);
        drop(state);
        if is_short {
            self.hire();
        } else {
            self.work.notify_one();
        }
    }

    /// The same of many, for which there is room.
    fn add_all(&'static self, jobs: Vec<Callback>) {
        if jobs.is_empty() {
            return;
        }
        let mut state = self.state();
        state.waiting.extend(jobs);
        let short = state.waiting.len().saturating_sub(state.idle);
        let hired = short.min(self.most.saturating_sub(state.threads));
        state.threads += hired;
        drop(state);
        self.work.notify_all();
        (0..hired).for_each(|_| self.hire());
    }

    fn hire(&'static self) {
        let thread = thread::Builder::new().name(self.name.to_owned());
        if thread.spawn(|| self.serve()).is_ok() {
            return;
        }
        let mut state = self.state();
        state.threads -= 1;
        // Better late for others than never.
        let left = if state.threads == 0 { mem::take(&mut state.waiting) } else { VecDeque::new() };
        drop(state);
        for job in left {
            contained(job);
        }
    }

    fn serve(&self) {
        while let Some((job, left_out)) = self.next() {
            if left_out > 0 {
                contained(|| (self.apologise)(left_out));
            }
            contained(job);
        }
    }

    /// The next thing to do, and how many were left out before it. `None` if this thread is not needed.
    fn next(&self) -> Option<(Callback, u64)> {
        let mut state = self.state();
        loop {
            if let Some(job) = state.waiting.pop_front() {
                return Some((job, mem::take(&mut state.left_out)));
            }
            state.idle += 1;
            let waited =
                self.work.wait_timeout(state, KEPT).unwrap_or_else(PoisonError::into_inner);
            let timeout;
            (state, timeout) = waited;
            state.idle -= 1;
            if timeout.timed_out() && state.waiting.is_empty() {
                state.threads -= 1;
                return None;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, CrewState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What has happened to so many at once is told of each.
const FEW: usize = 16;
/// So many wakers may block before others wait for them.
const WAKERS: usize = 8;
/// So many events wait at most.
const EVENTS: usize = 1_024;
/// How long a thread stays that has nothing to do.
const KEPT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            atomic::{AtomicU64, AtomicUsize, Ordering},
            mpsc::{Sender, channel},
        },
        task::Wake,
    };

    use super::*;

    fn crew(most: usize, room: usize, apologise: fn(u64)) -> &'static Crew {
        Box::leak(Box::new(Crew::new("crew", most, room, apologise)))
    }

    /// Has one of the crew block until the sender is dropped.
    fn blocked(crew: &'static Crew) -> Sender<()> {
        let (end, ended) = channel::<()>();
        let (begin, begun) = channel();
        crew.add(Box::new(move || {
            begin.send(()).unwrap();
            ended.recv().unwrap_err();
        }));
        begun.recv().unwrap();
        end
    }

    #[test]
    fn what_blocks_holds_up_nothing_else_while_there_are_others() {
        let crew = crew(3, usize::MAX, |_| {});
        let blocking = [blocked(crew), blocked(crew)];
        let (send, told) = channel();
        for i in 0..100 {
            let send = send.clone();
            crew.add(Box::new(move || send.send(i).unwrap()));
        }
        assert_eq!(told.iter().take(100).collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
        assert_eq!(crew.state().threads, 3);
        drop(blocking);
    }

    #[test]
    fn what_there_is_no_room_for_is_counted_and_told() {
        static LEFT_OUT: AtomicU64 = AtomicU64::new(0);
        let crew = crew(1, 2, |events| {
            LEFT_OUT.fetch_add(events, Ordering::SeqCst);
        });
        let blocking = blocked(crew);
        let (send, told) = channel();
        for i in 0..5 {
            let send = send.clone();
            crew.add(Box::new(move || send.send(i).unwrap()));
        }
        drop((blocking, send));
        assert_eq!(told.iter().collect::<Vec<_>>(), [0, 1]);
        assert_eq!(LEFT_OUT.load(Ordering::SeqCst), 3);
    }

    #[test]
    fn what_happens_to_many_is_told_of_one_and_counted() {
        for (all, told) in [(1, 1), (FEW, FEW), (FEW + 1, 1), (1_000, 1)] {
            let mut round = PendingNotices::default();
            for _ in 0..all {
                round.add("others", || {});
                round.add("else", || {});
            }
            let told_of: Vec<_> = round
                .events
                .into_iter()
                .map(|(what, first, all)| (what, told_of(&first, all)))
                .collect();
            assert_eq!(told_of, [("others", (told, all - told)), ("else", (told, all - told))]);
        }
    }

    /// However many there are: first all is noted that was lost.
    #[test]
    fn wakers_are_called_behind_the_round_of_a_thread_that_is_spared() {
        let (send, told) = channel();
        let spared = thread::spawn(move || {
            spare_this_thread();
            let work = in_rounds(async {
                for i in 0..100 {
                    let send = send.clone();
                    wake(move || send.send(i).unwrap());
                }
                ROUND.with_borrow(|round| round.as_ref().map_or(0, |round| round.wakers.len()))
            });
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(work)
        });
        assert_eq!(spared.join().unwrap(), 100);
        let mut told: Vec<i32> = told.iter().collect();
        told.sort_unstable();
        assert_eq!(told, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn panic_costs_nothing_else() {
        let crew = crew(1, usize::MAX, |_| {});
        let (send, told) = channel();
        crew.add(Box::new(|| panic!("as it is meant to")));
        crew.add(Box::new(move || send.send(()).unwrap()));
        assert_eq!(told.recv(), Ok(()));
    }

    #[test]
    fn wakers_are_not_called_on_a_thread_that_is_spared() {
        struct Here(Mutex<Sender<thread::ThreadId>>);
        impl Wake for Here {
            fn wake(self: Arc<Self>) {
                self.0.lock().unwrap().send(thread::current().id()).unwrap();
            }
        }
        let (send, woken_on) = channel();
        let waker = Waker::from(Arc::new(Here(Mutex::new(send))));
        let polls = AtomicUsize::new(0);
        let mut told = Vec::new();
        let work = poll_fn(|cx| {
            polls.fetch_add(1, Ordering::SeqCst);
            told.push(cx.waker().clone());
            std::task::Poll::<()>::Pending
        });
        let mut work = Box::pin(woken_aside(work));
        for _ in 0..2 {
            assert!(work.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        drop(work);
        let [one, same] = told.try_into().unwrap();
        assert!(one.will_wake(&same));
        one.wake();
        assert_eq!(woken_on.recv().unwrap(), thread::current().id());
        let spared = thread::spawn(move || {
            spare_this_thread();
            same.wake();
            thread::current().id()
        });
        let spared = spared.join().unwrap();
        assert_ne!(woken_on.recv().unwrap(), spared);
    }
}
