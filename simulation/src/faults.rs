//! Faults, as the plan says: what is done, and what the history learns of it.

use checkers::{
    history::{Event as Told, Worker},
    time::Time,
};

use crate::{
    event::{Event, ProcessId},
    plan::{Broken, Denial, Fault, Way},
    stage::Stage,
    targets,
};

/// Things that are undone later have a number of their own: the end must not undo another's.
#[derive(Debug, Default)]
pub(crate) struct Damage {
    /// For each server, when it works again; later damage makes it later.
    pub(crate) nodes: Vec<u64>,
    pub(crate) processes: Vec<u64>,
    pub(crate) killed: Vec<ProcessId>,
}

impl Stage {
    /// Injects a fault of the plan, or undoes one: the second half of the list.
    pub(crate) fn fault(&self, damage: &mut Damage, index: usize) {
        let faults = &self.plan.faults;
        if let Some((_, fault)) = faults.get(index) {
            if !self.calm.is_here() || matches!(fault, Fault::HangUp { .. }) {
                self.inject(damage, *fault, index + faults.len());
            }
        } else if let Some((_, fault)) = faults.get(index - faults.len()) {
            self.undo(*fault);
        }
    }

    fn inject(&self, damage: &mut Damage, fault: Fault, end: usize) {
        let now = self.world.now_us();
        self.log.note([6, end as u64, 0], || format!("==== {fault:?}"));
        match fault {
            Fault::Crash { node, amnesia, silent, for_us } => {
                if !damage.take(node, now, now + for_us) {
                    return;
                }
                self.crash(node, amnesia, silent);
                self.world.schedule(now + for_us, Event::Fault(end));
            }
            Fault::Freeze { node, for_us } => {
                if !damage.take(node, now, now + for_us) {
                    return;
                }
                self.freeze(node);
                self.world.schedule(now + for_us, Event::Fault(end));
            }
            Fault::Jump { node, by_ms } => {
                self.log.saw("fault: clock jump");
                self.log.record(Told::ClockJumped { master: node, by_ms });
                self.network.with_node(node, |node| node.jump(by_ms));
            }
            Fault::Cut { process, node, way, for_us } => {
                let one_way = way != Way::Both;
                self.log.saw(if one_way { "fault: one-way partition" } else { "fault: partition" });
                self.network.set_cut(process, node, way, true);
                self.world.schedule(now + for_us, Event::Fault(end));
            }
            Fault::Deny { denial, for_us } => self.deny(denial, now + for_us, end),
            Fault::Lose { node, roles } => self.lose(node, roles),
            Fault::FallBehind { node } => {
                self.network.with_node(node, |node| node.fall_behind());
            }
            Fault::Promote { node, unawares, noticed_us } => {
                self.promote(damage, node, unawares, noticed_us);
            }
            Fault::Unlearn { node } => self.unlearn(node),
            Fault::Reset { node } => self.network.reset_all(|_, of| of == node),
            Fault::HangUp { node } => self.network.hang_up_on_the_idle(node),
            Fault::Pause { process, for_us } => self.pause(damage, process, for_us),
            Fault::Kill { process } => self.kill(damage, process),
        }
    }

    fn undo(&self, fault: Fault) {
        match fault {
            // Unless another has taken its place.
            Fault::Crash { node, .. } | Fault::Freeze { node, .. }
                if !self.is_left_broken(node) =>
            {
                self.mend(node);
            }
            Fault::Cut { process, node, way, .. } if !self.is_left_broken(node) => {
                self.network.set_cut(process, node, way, false);
            }
            Fault::Deny { denial, .. } => self.permit(denial),
            _ => {}
        }
    }

    /// What requests say is to be known for that.
    fn deny(&self, denial: Denial, until: u64, end: usize) {
        if self.network.knows_requests() {
            self.log.saw(if denial.key.is_some() {
                "fault: one right lost"
            } else {
                "fault: rights lost"
            });
            self.network.deny(denial);
            self.world.schedule(until, Event::Fault(end));
        }
    }

    fn permit(&self, denial: Denial) {
        let Some(since) = self.network.permit(denial) else { return };
        let names = targets::names(denial.user, &self.plan).into_iter();
        for lock in names.filter(|name| denial.key.is_none_or(|key| key == *name)) {
            let (lock, from) = (lock.to_owned(), Time::from_micros(since));
            self.log.record(Told::Denied { lock, from });
        }
    }

    fn is_left_broken(&self, node: usize) -> bool {
        self.calm.is_here() && self.plan.is_broken(node)
    }

    fn crash(&self, node: usize, amnesia: bool, silent: bool) {
        self.log.saw(match (silent, amnesia) {
            (true, _) => "fault: silent crash",
            (_, true) => "fault: crash with amnesia",
            (_, false) => "fault: crash",
        });
        self.log.record(Told::MasterDown { master: node, killed: true });
        if amnesia {
            self.log.record(Told::Forgot { master: node });
        }
        self.network.crash(node, amnesia, silent);
    }

    fn lose(&self, node: usize, roles: bool) {
        let works = self.network.with_node(node, |node| node.works()).unwrap_or(false);
        if !works || !self.network.knows_requests() {
            return;
        }
        self.log.saw(if roles { "fault: change of roles" } else { "fault: flush" });
        self.log.record(Told::Forgot { master: node });
        let now = self.world.now_us();
        self.network.with_node(node, |node| node.lose(roles, now));
    }

    /// Of a stream of bytes it is not known where a request ends that a replica is to refuse.
    fn promote(&self, damage: &mut Damage, node: usize, unawares: bool, noticed_us: u64) {
        if !self.network.knows_requests() {
            return;
        }
        let (worked, is_back) = self
            .network
            .with_node(node, |node| (node.works(), node.config > 1))
            .unwrap_or((true, false));
        self.log.saw(match (is_back, unawares) {
            (true, _) => "fault: failover, and back",
            (_, true) => "fault: passed over unawares",
            _ => "fault: failover",
        });
        self.log.record(Told::Forgot { master: node });
        self.network.promote(node, unawares, noticed_us);
        if !worked {
            self.log.record(Told::MasterUp { master: node });
        }
        if let Some(until) = damage.nodes.get_mut(node) {
            *until = self.world.now_us();
        }
    }

    fn unlearn(&self, node: usize) {
        let forgot = self.network.with_node(node, |node| node.works() && node.forget_scripts());
        if forgot == Some(true) {
            self.log.saw("fault: scripts forgotten");
        }
    }

    fn freeze(&self, node: usize) {
        self.log.saw("fault: freeze");
        self.log.record(Told::MasterDown { master: node, killed: false });
        self.network.freeze(node, true);
    }

    fn restart(&self, node: usize) {
        self.network.restart(node);
        self.log.record(Told::MasterUp { master: node });
    }

    fn pause(&self, damage: &mut Damage, process: ProcessId, for_us: u64) {
        let now = self.world.now_us();
        if damage.killed.contains(&process) {
            return;
        }
        let until = damage.processes.get(process).copied().unwrap_or(0);
        if until > now {
            return;
        }
        if let Some(until) = damage.processes.get_mut(process) {
            *until = now + for_us;
        }
        self.log.saw("fault: process paused");
        self.log.record(Told::WorkerStopped { worker: worker(process) });
        self.world.pause(process);
        self.world.schedule(now + for_us, Event::Resume(process));
    }

    pub(crate) fn resume(&self, damage: &Damage, process: ProcessId) {
        if damage.killed.contains(&process) {
            return;
        }
        self.log.record(Told::WorkerContinued { worker: worker(process) });
        // What comes first, the timers or the messages, is for the seed to say.
        if self.world.now_us().is_multiple_of(2) {
            self.world.resume(process);
            self.network.resume(process);
        } else {
            self.world.open(process);
            self.network.resume(process);
            self.world.resume(process);
        }
    }

    fn kill(&self, damage: &mut Damage, process: ProcessId) {
        if damage.killed.contains(&process) {
            return;
        }
        damage.killed.push(process);
        self.log.saw("fault: process killed");
        self.log.record(Told::WorkerKilled { worker: worker(process) });
        // It never runs again, and its machine says so to what is connected.
        self.world.pause(process);
        self.network.end_of(process);
    }

    /// The faults are over. What is to stay broken is broken, everything else is mended.
    pub(crate) fn calm_down(&self, damage: &mut Damage) {
        self.network.calm();
        self.network.denials().into_iter().for_each(|denial| self.permit(denial));
        for node in 0..self.plan.nodes.len() {
            let broken = self.plan.broken.iter().find(|broken| broken.node() == node).copied();
            match broken {
                None => self.mend(node),
                Some(broken) => self.leave_broken(broken),
            }
        }
        self.network.unblock();
        for process in 0..self.plan.processes.len() {
            if self.world.is_paused(process) {
                self.resume(damage, process);
            }
        }
        damage.nodes.fill(u64::MAX);
        self.log.record(Told::Calm);
        self.calm.give();
    }

    fn mend(&self, node: usize) {
        let (works, frozen) = self
            .network
            .with_node(node, |node| (node.works(), node.frozen))
            .unwrap_or((true, false));
        if frozen {
            self.network.freeze(node, false);
            self.log.record(Told::MasterUp { master: node });
        } else if !works {
            self.restart(node);
        }
    }

    fn leave_broken(&self, broken: Broken) {
        let node = broken.node();
        self.log.record(Told::MasterDown { master: node, killed: true });
        match broken {
            Broken::Down(_) => self.network.crash(node, false, false),
            Broken::Frozen(_) => {
                self.mend_quietly(node);
                self.network.freeze(node, true);
            }
            Broken::CutOff(_) => {
                self.mend_quietly(node);
                for process in 0..self.plan.processes.len() {
                    self.network.set_cut(process, node, Way::Both, true);
                }
            }
        }
    }

    fn mend_quietly(&self, node: usize) {
        self.network.freeze(node, false);
        if self.network.with_node(node, |node| !node.works()).unwrap_or(false) {
            self.network.restart(node);
        }
    }
}

impl Damage {
    pub(crate) fn new(nodes: usize, processes: usize) -> Self {
        Self { nodes: vec![0; nodes], processes: vec![0; processes], killed: Vec::new() }
    }

    /// Whether a server works now; if so it does not until the given time.
    fn take(&mut self, node: usize, now: u64, until: u64) -> bool {
        match self.nodes.get_mut(node) {
            Some(known) if *known <= now => {
                *known = until + 1;
                true
            }
            _ => false,
        }
    }
}

pub(crate) fn worker(process: ProcessId) -> Worker {
    Worker { place: u32::try_from(process).unwrap_or(0), life: 0 }
}
