//! Threads that do what others may hold up.

use std::{
    collections::VecDeque,
    mem,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use crate::panics::contained;

pub(super) type Callback = Box<dyn FnOnce() + Send>;

/// Threads that do one thing after the other. They end when there was nothing to do for a while.
pub(super) struct Crew {
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
    pub(super) fn new(name: &'static str, most: usize, room: usize, apologise: fn(u64)) -> Self {
        let (state, work) = (Mutex::default(), Condvar::new());
        Self { name, most, room, apologise, state, work }
    }

    pub(super) fn add(&'static self, job: Callback) {
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
    pub(super) fn add_all(&'static self, jobs: Vec<Callback>) {
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

/// How long a thread stays that has nothing to do.
const KEPT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use std::sync::{
        atomic::{AtomicU64, Ordering},
        mpsc::{Sender, channel},
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
    fn panic_costs_nothing_else() {
        let crew = crew(1, usize::MAX, |_| {});
        let (send, told) = channel();
        crew.add(Box::new(|| panic!("as it is meant to")));
        crew.add(Box::new(move || send.send(()).unwrap()));
        assert_eq!(told.recv(), Ok(()));
    }
}
