//! The worker processes, as the parent sees them.

use std::{
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    time::{Duration, Instant},
};

use testkit::Actor;

use super::worker::{Orders, READY};
use crate::{
    args::WORKER,
    history::{Event, Worker},
    recorder::Recorder,
};

/// All workers. Killed and reaped on drop.
#[derive(Debug)]
pub(crate) struct Fleet<'a> {
    recorder: &'a Recorder,
    program: PathBuf,
    crew: Vec<Member>,
    /// How the holder ids of killed workers begin.
    dead: Vec<String>,
}

#[derive(Debug)]
struct Member {
    orders: Orders,
    process: Actor,
    /// What its holder ids begin with.
    name: String,
}

impl<'a> Fleet<'a> {
    /// Starts a process for each of `orders`, and waits until all of them work.
    ///
    /// # Errors
    /// This program's own path cannot be found out.
    pub(crate) fn start(recorder: &'a Recorder, orders: Vec<Orders>) -> io::Result<Self> {
        let program = std::env::current_exe()?;
        let crew = orders.into_iter().map(|orders| Member::start(&program, orders)).collect();
        let mut fleet = Self { recorder, program, crew, dead: Vec::new() };
        for place in 0..fleet.crew.len() {
            fleet.greet(place);
        }
        Ok(fleet)
    }

    pub(crate) fn worker(&self, place: usize) -> Worker {
        self.at(place).orders.worker
    }

    /// SIGSTOP.
    pub(crate) fn freeze(&mut self, place: usize) {
        self.replace_if_ended(place);
        let worker = self.worker(place);
        self.recorder.note(Event::WorkerStopped { worker });
        self.at_mut(place).process.freeze();
    }

    /// SIGCONT.
    pub(crate) fn thaw(&mut self, place: usize) {
        let worker = self.worker(place);
        self.at_mut(place).process.thaw();
        self.recorder.note(Event::WorkerContinued { worker });
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self, place: usize) {
        self.replace_if_ended(place);
        let worker = self.worker(place);
        // A process that the machine has no time for does not die at once, nor does it work.
        self.recorder.note(Event::WorkerStopped { worker });
        self.at_mut(place).process.kill();
        self.recorder.note(Event::WorkerKilled { worker });
    }

    /// A line for its stdin.
    pub(crate) fn tell(&mut self, place: usize, line: &str) {
        self.replace_if_ended(place);
        // One that ends just now is found by the next fault.
        drop(self.at_mut(place).process.send(line));
    }

    /// Fills the place of a worker that is gone.
    pub(crate) fn replace(&mut self, place: usize) {
        self.dead.push(self.at(place).name.clone());
        let mut orders = self.at(place).orders.clone();
        orders.dead.clone_from(&self.dead);
        orders.worker = orders.worker.successor();
        *self.at_mut(place) = Member::start(&self.program, orders);
        self.greet(place);
    }

    /// Tells all to finish, and waits for each at most for `limit`. Returns how the holder ids of
    /// workers begin that were killed before.
    pub(crate) fn finish(mut self, limit: Duration) -> Vec<String> {
        for member in &mut self.crew {
            member.process.close();
        }
        let deadline = Instant::now() + limit;
        for member in &mut self.crew {
            let left = deadline.saturating_duration_since(Instant::now());
            let ended = member.process.wait(left);
            if ended.is_none() {
                member.process.kill();
            }
            let (worker, problem) = (member.orders.worker, problem(ended, limit));
            self.recorder.note(Event::WorkerEnded { worker, problem });
        }
        self.dead
    }

    /// A worker that has ended by itself cannot be stopped or killed; that it has is a finding.
    fn replace_if_ended(&mut self, place: usize) {
        let member = self.at_mut(place);
        if let Some(status) = member.process.wait(Duration::ZERO) {
            let problem = Some(format!("ended in the middle of the run: {status}"));
            let worker = member.orders.worker;
            self.recorder.note(Event::WorkerEnded { worker, problem });
            self.replace(place);
        }
    }

    fn greet(&mut self, place: usize) {
        let member = self.at_mut(place);
        let worker = member.orders.worker;
        let said = member.process.recv(START_LIMIT);
        let name = said.as_deref().ok().and_then(|said| said.strip_prefix(READY));
        let name = name.unwrap_or_else(|| panic!("{worker} did not start: {said:?}"));
        member.name = name.trim().to_owned();
        self.recorder.note(Event::WorkerBegan { worker });
    }

    fn at(&self, place: usize) -> &Member {
        self.crew.get(place).expect("invariant: a schedule is drawn for as many workers")
    }

    fn at_mut(&mut self, place: usize) -> &mut Member {
        self.crew.get_mut(place).expect("invariant: a schedule is drawn for as many workers")
    }
}

impl Member {
    fn start(program: &Path, orders: Orders) -> Self {
        let told = serde_json::to_string(&orders).expect("invariant: orders are plain data");
        let mut command = Command::new(program);
        // In a group of its own: Ctrl-C is for the parent, which knows what to end and how.
        command.args([WORKER, &told]).process_group(0);
        Self { orders, process: Actor::spawn_command(command), name: String::new() }
    }
}

fn problem(ended: Option<ExitStatus>, limit: Duration) -> Option<String> {
    match ended {
        Some(status) if status.success() => None,
        Some(status) => Some(format!("failed at the end: {status}")),
        None => Some(format!("did not end within {limit:?}")),
    }
}

const START_LIMIT: Duration = Duration::from_secs(20);
