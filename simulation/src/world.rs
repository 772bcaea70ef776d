//! Time, and what happens next: a queue of events in the order of time.
//!
//! Time stands still while anything is left to do; then the next event is taken and its time is
//! now. What happens at the same moment happens in an order that the seed decides.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::Waker,
};

use checkers::{random::Random, time::Time};

use crate::event::{Event, ProcessId};

#[derive(Debug)]
pub(crate) struct World {
    now_us: AtomicU64,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    queue: BinaryHeap<Reverse<Entry>>,
    next: u64,
    random: Random,
    timers: Vec<Timer>,
    unused: Vec<usize>,
    processes: Vec<Gate>,
}

#[derive(Debug)]
struct Entry {
    at: u64,
    /// Drawn: decides among what happens at the same time.
    lot: u64,
    number: u64,
    event: Event,
}

#[derive(Debug, Default)]
struct Timer {
    uses: u64,
    process: ProcessId,
    waker: Option<Waker>,
}

/// Whether a process runs.
#[derive(Debug, Default)]
struct Gate {
    paused: bool,
    /// Timers that came due meanwhile.
    overdue: Vec<(usize, u64)>,
}

impl World {
    pub(crate) fn new(random: Random, processes: usize) -> Self {
        let inner = Inner {
            queue: BinaryHeap::new(),
            next: 0,
            random,
            timers: Vec::new(),
            unused: Vec::new(),
            processes: (0..processes).map(|_| Gate::default()).collect(),
        };
        Self { now_us: AtomicU64::new(0), inner: Mutex::new(inner) }
    }

    /// Microseconds since the beginning.
    pub(crate) fn now_us(&self) -> u64 {
        self.now_us.load(Ordering::Relaxed)
    }

    pub(crate) fn now(&self) -> Time {
        Time::from_micros(self.now_us())
    }

    /// Has `event` happen at a time, now if that is past.
    pub(crate) fn schedule(&self, at: u64, event: Event) {
        let at = at.max(self.now_us());
        self.inner().push(at, event);
    }

    /// Moves on to the next event. Timers that are not waited for any more are passed over.
    pub(crate) fn next(&self) -> Option<Event> {
        let mut inner = self.inner();
        loop {
            let Reverse(entry) = inner.queue.pop()?;
            if let Event::Timer(place, uses) = entry.event
                && inner.timers.get(place).is_none_or(|timer| timer.uses != uses)
            {
                continue;
            }
            self.now_us.store(entry.at, Ordering::Relaxed);
            return Some(entry.event);
        }
    }

    pub(crate) fn is_paused(&self, process: ProcessId) -> bool {
        self.inner().processes.get(process).is_some_and(|gate| gate.paused)
    }

    pub(crate) fn pause(&self, process: ProcessId) {
        if let Some(gate) = self.inner().processes.get_mut(process) {
            gate.paused = true;
        }
    }

    /// Lets a process go on, but none of its timers yet.
    pub(crate) fn open(&self, process: ProcessId) {
        if let Some(gate) = self.inner().processes.get_mut(process) {
            gate.paused = false;
        }
    }

    /// Lets a process go on. Its timers that came due go off, in an order that the seed decides.
    pub(crate) fn resume(&self, process: ProcessId) {
        let overdue = {
            let mut inner = self.inner();
            let Some(gate) = inner.processes.get_mut(process) else { return };
            gate.paused = false;
            let mut overdue = std::mem::take(&mut gate.overdue);
            inner.random.shuffle(&mut overdue);
            overdue
        };
        for (place, uses) in overdue {
            self.timer(place, uses);
        }
    }

    /// A timer is due.
    pub(crate) fn timer(&self, place: usize, uses: u64) {
        let waker = {
            let mut inner = self.inner();
            let Some(timer) = inner.timers.get(place).filter(|timer| timer.uses == uses) else {
                return;
            };
            let process = timer.process;
            if let Some(gate) = inner.processes.get_mut(process).filter(|gate| gate.paused) {
                gate.overdue.push((place, uses));
                return;
            }
            inner.timers.get_mut(place).and_then(|timer| timer.waker.take())
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Starts a timer of a process.
    pub(crate) fn start_timer(&self, process: ProcessId, at: u64, waker: Waker) -> Running {
        let now = self.now_us();
        let mut inner = self.inner();
        let place = inner.unused.pop().unwrap_or_else(|| {
            inner.timers.push(Timer::default());
            inner.timers.len() - 1
        });
        let mut uses = 0;
        if let Some(timer) = inner.timers.get_mut(place) {
            timer.process = process;
            timer.waker = Some(waker);
            uses = timer.uses;
        }
        inner.push(at.max(now), Event::Timer(place, uses));
        Running { place }
    }

    pub(crate) fn rearm_timer(&self, running: &Running, waker: &Waker) {
        let mut inner = self.inner();
        if let Some(timer) = inner.timers.get_mut(running.place) {
            match &mut timer.waker {
                Some(known) => known.clone_from(waker),
                none => *none = Some(waker.clone()),
            }
        }
    }

    pub(crate) fn stop_timer(&self, running: &Running) {
        let _waker = {
            let mut inner = self.inner();
            let Some(timer) = inner.timers.get_mut(running.place) else { return };
            timer.uses += 1;
            let waker = timer.waker.take();
            inner.unused.push(running.place);
            waker
        };
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A timer that was started and not stopped yet.
#[derive(Debug)]
pub(crate) struct Running {
    place: usize,
}

impl Inner {
    fn push(&mut self, at: u64, event: Event) {
        let (lot, number) = (self.random.draw(), self.next);
        self.next += 1;
        self.queue.push(Reverse(Entry { at, lot, number, event }));
    }
}

impl Entry {
    fn key(&self) -> (u64, u64, u64) {
        (self.at, self.lot, self.number)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}
