//! Whether the process of a run is there, as the connections to it tell.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::clock::{Instant, SharedClock};

/// Whether the process is there, and when its mark may be looked at again.
#[derive(Debug)]
pub(super) struct Attendance(Mutex<AttendanceState>);

#[derive(Debug)]
struct AttendanceState {
    connections: usize,
    /// As of the end of the last connection that ended.
    heard: Instant,
    look_from: Instant,
}

impl Attendance {
    pub(super) fn new(now: Instant) -> Self {
        Self(Mutex::new(AttendanceState { connections: 0, heard: now, look_from: now + LOOK }))
    }

    /// When the process was last known to be there.
    pub(super) fn last_heard(&self, now: Instant) -> Instant {
        let state = self.state();
        if state.connections > 0 { now } else { state.heard }
    }

    /// Whether the caller is to look at the mark again: true about once a second for all.
    pub(super) fn claim_look(&self, now: Instant) -> bool {
        let mut state = self.state();
        let is_due = now >= state.look_from;
        if is_due {
            state.look_from = now + LOOK;
        }
        is_due
    }

    fn state(&self) -> MutexGuard<'_, AttendanceState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that leads to a run.
#[derive(Debug)]
pub(crate) struct AttendanceGuard {
    attendance: Arc<Attendance>,
    clock: SharedClock,
}

impl AttendanceGuard {
    pub(super) fn new(attendance: &Arc<Attendance>, clock: &SharedClock) -> Self {
        attendance.state().connections += 1;
        Self { attendance: attendance.clone(), clock: clock.clone() }
    }
}

impl Drop for AttendanceGuard {
    fn drop(&mut self) {
        let now = self.clock.now();
        let mut state = self.attendance.state();
        state.connections -= 1;
        state.heard = state.heard.max(now);
    }
}

/// How often the mark of a server in quarantine is looked at. A little less than a waiter's pause.
const LOOK: Duration = Duration::from_millis(700);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mark_is_looked_at_by_one_caller_at_a_time() {
        let begin = Instant::from_origin(Duration::from_secs(100));
        let attendance = Attendance::new(begin);
        let step = Duration::from_nanos(1);
        let mut next = begin;
        for _ in 0..2 {
            next = next + LOOK;
            assert!(!attendance.claim_look(next - step));
            assert!(attendance.claim_look(next));
            assert!(!attendance.claim_look(next));
        }
    }
}
