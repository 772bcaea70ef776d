//! On which CPUs a measurement runs.

use std::{
    fs::{self, DirEntry},
    io, thread,
};

use rustix::{
    process::Pid,
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};

/// Where both ends of a work run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Wherever the scheduler puts them.
    Anywhere,
    /// All on one CPU, in turns: what is compared is how much work there is.
    OneCpu,
    /// The servers on a CPU of theirs, as on a machine of theirs: else a single task's figures say
    /// where the scheduler has put which of them.
    Apart,
}

impl Place {
    /// Runs `measure` where the client's end belongs, with all threads and processes that it starts.
    pub(crate) fn run<T: Send>(self, measure: impl FnOnce() -> T + Send) -> T {
        let ours = match self {
            Self::Anywhere => return measure(),
            Self::OneCpu => vec![last()],
            Self::Apart => others(),
        };
        thread::scope(|scope| {
            let pinned = scope.spawn(|| {
                pin(None, &ours);
                measure()
            });
            pinned.join().expect("a measurement does not panic")
        })
    }

    /// Of how many threads a multi-thread runtime is: one for each CPU of the machine, though it may have to
    /// make do with fewer, since locks take other ways on one thread than on several.
    pub(crate) fn threads(self) -> usize {
        if self == Self::OneCpu { 1 } else { allowed().len() }
    }

    /// Puts processes of the servers' end where they belong.
    pub(crate) fn settle(self, pids: impl Iterator<Item = u32>) {
        if self == Self::Apart {
            pids.flat_map(threads_of).for_each(|thread| pin(Some(thread), &[last()]));
        }
    }
}

fn threads_of(process: u32) -> Vec<Pid> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let number = |thread: io::Result<DirEntry>| thread.ok()?.file_name().to_str()?.parse().ok();
    threads.filter_map(number).filter_map(Pid::from_raw).collect()
}

fn allowed() -> Vec<usize> {
    // Of the process: a thread may be pinned already.
    let process = Pid::from_raw(std::process::id().cast_signed());
    let allowed = sched_getaffinity(process).expect("a thread may ask for its own CPUs");
    (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect()
}

fn last() -> usize {
    *allowed().last().expect("a thread runs somewhere")
}

/// All but the last, if there are several.
fn others() -> Vec<usize> {
    let mut all = allowed();
    all.truncate((all.len() - 1).max(1));
    all
}

fn pin(thread: Option<Pid>, cpus: &[usize]) {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu));
    sched_setaffinity(thread, &set).expect("fewer CPUs are always allowed");
}
