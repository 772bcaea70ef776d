//! The network between processes and servers, at the level of whole requests and answers.
//!
//! A connection is what TCP makes of it: requests and answers come in the order in which they were
//! sent, or not at all from one on. Connections are independent of each other, so what is sent on
//! two of them comes in any order; a request that is under way when its sender hangs up is still
//! executed. While a link is cut or a server frozen, everything waits, as in the buffers of kernels.

mod answers;
mod breaking;
mod bytes;
mod connection;
mod damage;
mod opening;
mod order;
mod requests;
mod rights;
mod turns;
mod watching;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
};

use checkers::{history::SectionId, random::Random};

use self::{connection::Conn, order::Hold, turns::Turns};
use crate::{
    event::{NetEvent, ProcessId, UserId},
    log::Log,
    nodes::Node,
    plan::{Denial, NetworkPlan, Plan},
    world::World,
};

/// What a server has said.
#[derive(Debug, Default)]
struct Answer {
    bytes: Vec<u8>,
    /// When it was asked for.
    asked: u64,
    /// Sections whose keys it says are gone.
    gone: Vec<SectionId>,
    /// The hold with the release that it answers.
    releases: Option<Hold>,
}

#[derive(Debug)]
pub(crate) struct Network {
    world: Arc<World>,
    log: Arc<Log>,
    /// For how long what passes on inside a process waits for one user.
    offered_for_us: u64,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    plan: NetworkPlan,
    random: Random,
    /// Whether messages may be lost.
    faulty: bool,
    /// Whether they are cut anywhere, as TCP may: then nothing is known of what they say.
    bytes: bool,
    nodes: Vec<Node>,
    conns: Vec<Conn>,
    cuts: BTreeMap<(ProcessId, usize), Cut>,
    /// Keys that are those of others, by user.
    of_others: BTreeMap<UserId, Vec<&'static str>>,
    /// What users may not touch for now, and since when.
    denied: BTreeMap<Denial, u64>,
    /// Of holders for which a guard was made.
    turns: Turns,
    /// Processes that stood still: an answer they read afterwards tells the time of long ago.
    paused: BTreeSet<ProcessId>,
    /// Holders with keys that may stay: orphans, and what came twice.
    excused: BTreeSet<Vec<u8>>,
    /// How often the release of a holder was sent to a server.
    releases: BTreeMap<(usize, Vec<u8>), u32>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Cut {
    requests: bool,
    answers: bool,
}

/// What is to be done once the lock is let go.
#[derive(Debug, Default)]
struct Wakes(Vec<Waker>);

impl Wakes {
    fn of(&mut self, waker: Option<Waker>) {
        self.0.extend(waker);
    }

    fn wake(self) {
        self.0.into_iter().for_each(Waker::wake);
    }
}

impl Network {
    pub(crate) fn new(
        world: &Arc<World>,
        log: &Arc<Log>,
        plan: &Plan,
        random: Random,
        nodes: Vec<Node>,
        bytes: bool,
    ) -> Self {
        let offered_for_us = 1_000 * plan.handover_ms();
        let inner = Inner {
            plan: plan.network.clone(),
            random,
            faulty: true,
            bytes,
            nodes,
            conns: Vec::new(),
            cuts: BTreeMap::new(),
            of_others: BTreeMap::new(),
            denied: BTreeMap::new(),
            turns: Turns::default(),
            paused: BTreeSet::new(),
            excused: BTreeSet::new(),
            releases: BTreeMap::new(),
        };
        Self { world: world.clone(), log: log.clone(), offered_for_us, inner: Mutex::new(inner) }
    }

    pub(crate) fn handle(&self, event: NetEvent) {
        let mut wakes = Wakes::default();
        match event {
            NetEvent::Arrive(conn) => self.arrive(&mut self.inner(), conn),
            NetEvent::Answer(conn) => self.answer(&mut self.inner(), conn, &mut wakes),
            NetEvent::Reset(conn) => self.break_off(&mut self.inner(), conn, &mut wakes),
            NetEvent::Again(node, request) => self.execute_again(&mut self.inner(), node, &request),
        }
        wakes.wake();
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn delay(&mut self) -> u64 {
        self.plan.delay_us + self.random.below(self.plan.jitter_us)
    }

    fn hit(&mut self, chance: u64) -> bool {
        chance > 0 && self.random.below(10_000) < chance
    }
}
