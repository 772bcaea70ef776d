//! What is measured where no recorder's code may run, as on the watchdog's thread: noted there, and told by another
//! thread soon.
//!
//! # Invariants
//! - To note something takes no lock and no memory. What is noted is never too much.
//! - What was noted is told, be its client dropped meanwhile.
//!
//! # Deadlock safety
//! The list's mutex is a leaf: no recorder is told under it.

use std::{
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use super::{counts::NumberCounts, meters::Meters};
use crate::{home::PerProcess, telling};

/// Of one client.
#[derive(Default)]
pub(super) struct Noted {
    held: AtomicI64,
    pub(super) lateness: DurationCounts,
    pub(super) acquires: NumberCounts,
    pub(super) renewals: NumberCounts,
    pub(super) round_trips: DurationCounts,
}

impl Noted {
    /// So many more, or fewer, are held.
    pub(super) fn held(&self, more: i64) {
        self.held.fetch_add(more, Ordering::Relaxed);
    }

    pub(super) fn take_held(&self) -> i64 {
        self.held.swap(0, Ordering::Relaxed)
    }
}

/// The same of durations, in µs.
#[derive(Default)]
pub(super) struct DurationCounts(NumberCounts);

impl DurationCounts {
    pub(super) fn note(&self, duration: Duration) {
        self.0.note(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX));
    }

    pub(super) fn hand_over(&self, mut to: impl FnMut(Duration, usize)) {
        self.0.hand_over(|us, times| to(Duration::from_micros(us), times));
    }
}

/// Something was noted.
pub(super) fn tell_soon() {
    telling::numbers_elsewhere(tell);
}

/// What is noted there is told from now on.
pub(super) fn list(meters: &Arc<Meters>) {
    let mut all = all();
    let gone = take_gone(&mut all);
    all.push(meters.clone());
    drop(all);
    gone.iter().for_each(|gone| gone.tell_noted());
}

fn tell() {
    let mut all = all();
    let gone = take_gone(&mut all);
    let stay = all.clone();
    drop(all);
    gone.iter().chain(&stay).for_each(|meters| meters.tell_noted());
}

/// Those of clients that are gone. Nothing more is noted there.
fn take_gone(all: &mut Vec<Arc<Meters>>) -> Vec<Arc<Meters>> {
    let (gone, stay) = mem::take(all).into_iter().partition(|one| Arc::strong_count(one) == 1);
    *all = stay;
    gone
}

fn all() -> MutexGuard<'static, Vec<Arc<Meters>>> {
    static ALL: PerProcess<Mutex<Vec<Arc<Meters>>>> = PerProcess::new();
    ALL.get().lock().unwrap_or_else(PoisonError::into_inner)
}
