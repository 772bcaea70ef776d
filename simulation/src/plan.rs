//! What a run is to be: what takes part, and what is to break when. Pure.

use checkers::history::Kind;
use palisade::{Quarantine, settings::LocalHandover};

use crate::event::{ProcessId, UserId};

/// A run, as far as it can be said in advance. Times are in microseconds.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) nodes: Vec<NodePlan>,
    /// If not empty, the replica of each server, and sentinels that may choose it.
    pub(crate) replicas: Vec<NodePlan>,
    pub(crate) processes: Vec<ProcessPlan>,
    pub(crate) network: NetworkPlan,
    pub(crate) leases: Leases,
    /// For how long locks pass from one caller of a process to the next.
    pub(crate) handover: LocalHandover,
    /// Whether clients are told at once that their keys were taken away.
    pub(crate) tracking: bool,
    /// In no order.
    pub(crate) faults: Vec<(u64, Fault)>,
    /// From here on nothing breaks any more.
    pub(crate) calm_at: u64,
    /// What stays broken then.
    pub(crate) broken: Vec<Broken>,
    /// Nothing more is asked for from here on.
    pub(crate) finish_at: u64,
    /// How often each lane asks for a lock at most.
    pub(crate) sections: u64,
    pub(crate) faulty: bool,
    pub(crate) about: About,
}

/// What a run is to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    Everything,
    /// Tokens alone.
    Tokens,
    /// What a latecomer makes of a server that has lost its data.
    LostData,
    /// What each of two users has to do with the other's rights, and each lock with another's.
    Rights,
    /// Locks that some share and one has alone.
    Sharing,
    /// Locks that are granted in the order in which they were asked for.
    Queueing,
    /// `MultiLock`s of three and four that have some of their members in common.
    Overlapping,
    /// Semaphores, with and without leases.
    Permits,
    /// Count-down latches.
    Latches,
    /// A job that is due once a minute, under a lock of this kind.
    Periods {
        kind: Kind,
        fenced: bool,
    },
    /// Which caller leads, by a lock of this kind.
    Elections {
        kind: Kind,
    },
    /// What is written by scripts that a server executes only while a lock is held.
    Guarded,
    /// Clients whose longest leases differ, and servers that lose their data.
    Leases,
    /// How one lock, by its name, passes from one caller to the next.
    Handover {
        lock: &'static str,
        among: Company,
    },
}

/// How a lock passes from one to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Company {
    /// All take what is passed on to them.
    Alike,
    /// Some take nothing, or not soon.
    Mixed,
    /// One of each process, which rests now and then: others depend on its word.
    Sparse,
}

impl Plan {
    /// Whatever has not ended by then never will.
    pub(crate) fn give_up_at(&self) -> u64 {
        let leases = MS * (2 * self.leases.max_ms + self.leases.quarantine_ms());
        // Those that overlap in part keep members from each other, one after the other.
        let kept = match self.about {
            About::Overlapping => 60 * SECOND,
            // In the end it is waited for what observers are shown.
            About::Elections { .. } => 15 * SECOND + self.settling_us(),
            _ => 15 * SECOND,
        };
        // All may want one lock, and hold it one after the other: what they asked for before the calm, too.
        let callers: u64 = self.processes.iter().map(|process| u64::from(process.lanes)).sum();
        // Some of them write line after line, each after some work.
        let held = if self.about == About::Guarded { 2 * HELD } else { HELD };
        self.finish_at + leases + MS * self.absent_ms() + kept + callers * held
    }

    /// How long it takes at most until all that follow an election have seen that none leads: they look every few
    /// seconds, whatever they hear.
    pub(crate) fn settling_us(&self) -> u64 {
        2 * MS * self.leases.max_ms + 20 * SECOND
    }

    /// The longest lease of a process' clients.
    pub(crate) fn longest_lease_ms(&self, process: ProcessId) -> u64 {
        let own = self.processes.get(process).and_then(|process| process.max_lease_ms);
        own.unwrap_or(self.leases.max_ms)
    }

    /// How many servers make a quorum.
    pub(crate) fn quorum(&self) -> usize {
        self.nodes.len() / 2 + 1
    }

    /// Whether only a lost wake-up can keep a free lock from a waiter: nothing breaks, and no server
    /// waits for a marker.
    pub(crate) fn is_brisk(&self) -> bool {
        let waits = self.leases.quarantine == Quarantine::Strict || self.is_followed();
        self.is_undisturbed() && !waits
    }

    /// Whether other servers may take the places of those that there are.
    pub(crate) fn is_followed(&self) -> bool {
        !self.replicas.is_empty()
    }

    /// Whether a new socket is made, and a vote given there, well within the time of a vote.
    pub(crate) fn is_near(&self) -> bool {
        self.is_brisk() && !self.faults.is_empty()
    }

    /// Whether nothing happens but that one server comes back without its data.
    pub(crate) fn has_one_restart(&self) -> bool {
        !self.faulty && matches!(self.faults.as_slice(), [(_, Fault::Crash { .. })])
    }

    /// Whether nothing happens but that servers come back, one after the other.
    pub(crate) fn has_restarts(&self) -> bool {
        let is_crash = |(_, fault): &(u64, Fault)| matches!(fault, Fault::Crash { .. });
        !self.faulty && !self.faults.is_empty() && self.faults.iter().all(is_crash)
    }

    /// Whether that is several of them.
    pub(crate) fn is_restarted(&self) -> bool {
        self.has_restarts() && !self.has_one_restart()
    }

    /// Whether nothing happens but that many ask at once, and servers forget their scripts.
    pub(crate) fn is_crowded(&self) -> bool {
        !self.faulty && self.faults.iter().any(|(_, fault)| matches!(fault, Fault::Unlearn { .. }))
    }

    /// Whether this process is to be killed.
    pub(crate) fn kills(&self, process: ProcessId) -> bool {
        self.faults.iter().any(|(_, fault)| *fault == Fault::Kill { process })
    }

    /// The server of those locks that are on one.
    pub(crate) fn home(&self) -> usize {
        usize::try_from(self.seed % self.nodes.len() as u64).unwrap_or(0)
    }

    /// How many users there are.
    pub(crate) fn users(&self) -> usize {
        if self.about == About::Rights { 2 } else { 1 }
    }

    /// Whether nothing happens that could cost a lock that is renewed, but for rights.
    pub(crate) fn is_undisturbed(&self) -> bool {
        !self.faulty && !self.has_restarts() && self.about != About::LostData
    }

    /// For how long locks pass from one caller to the next; 0 if they do not.
    pub(crate) fn handover_ms(&self) -> u64 {
        match self.handover {
            LocalHandover::UpTo(limit) => u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
            _ => 0,
        }
    }

    /// Whether there is nothing to do but to pass one lock on.
    pub(crate) fn passes_on(&self) -> bool {
        matches!(self.about, About::Handover { .. })
    }

    /// By how much all clocks are set back in the run.
    pub(crate) fn sets_clocks_back_ms(&self) -> u64 {
        let back = self.faults.iter().map(|(_, fault)| match fault {
            Fault::Jump { by_ms, .. } => by_ms.min(&0).unsigned_abs(),
            _ => 0,
        });
        back.sum()
    }

    pub(crate) fn is_broken(&self, node: usize) -> bool {
        self.broken.iter().any(|broken| broken.node() == node)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct NodePlan {
    /// What its wall clock shows at the beginning, since 1970.
    pub(crate) wall_clock_us: u64,
    pub(crate) ppm: i64,
}

#[derive(Debug, Clone)]
pub(crate) struct ProcessPlan {
    pub(crate) lanes: u32,
    /// If not 0, its lanes ask for locks only at times that are multiples of this.
    pub(crate) beat_us: u64,
    /// The longest lease of its clients, where they give no word for all clients of their servers.
    pub(crate) max_lease_ms: Option<u64>,
    /// Whether its clients look at their servers before they ask for anything.
    pub(crate) examines: bool,
    /// When it is started: a latecomer knows nothing of what was before.
    pub(crate) begins_us: u64,
    pub(crate) clock_us: u64,
    /// What its wall clock shows at the beginning, since 1970.
    pub(crate) wall_clock_us: u64,
    /// When it is set, and by how much: leases and tokens must not care.
    pub(crate) set: Option<(u64, i64)>,
    pub(crate) ppm: i64,
    /// How late its timers are, and those of its watchdog.
    pub(crate) late_us: u64,
    pub(crate) watchdog_late_us: u64,
}

/// How messages travel. Chances are in ten thousand for each message.
#[derive(Debug, Clone)]
pub(crate) struct NetworkPlan {
    pub(crate) delay_us: u64,
    pub(crate) jitter_us: u64,
    pub(crate) lose_request: u64,
    pub(crate) lose_answer: u64,
    pub(crate) late_answer: u64,
    pub(crate) reset_before: u64,
    pub(crate) reset_after: u64,
    /// Between the two commands of a release.
    pub(crate) reset_amid_release: u64,
    pub(crate) duplicate: u64,
    pub(crate) spike: u64,
    pub(crate) spike_us: u64,
}

impl NetworkPlan {
    /// The longest, if nothing goes wrong.
    pub(crate) fn round_trip_us(&self) -> u64 {
        2 * (self.delay_us + self.jitter_us)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Leases {
    pub(crate) max_ms: u64,
    pub(crate) least_ms: u64,
    pub(crate) watchdog_ms: u64,
    pub(crate) node_timeout_ms: u64,
    pub(crate) connect_timeout_ms: u64,
    pub(crate) clock_skew_ms: u64,
    /// The greatest of all processes: each has its own, and so a D of its own.
    pub(crate) lag_ms: u64,
    pub(crate) quarantine: Quarantine,
}

impl Leases {
    /// For how long a server that was started keeps out of votes at most: the greatest D of any process.
    pub(crate) fn quarantine_ms(&self) -> u64 {
        let greatest = self.max_ms * 101 / 100 + 1_000 + self.clock_skew_ms + self.lag_ms;
        // Where one is known by its class alone, it is up to a quarter more.
        if self.max_ms < 60_000 { greatest } else { greatest + greatest / 4 }
    }
}

/// What can be done to the servers and processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The server ends and comes back after a while. Silent: it is not told, as if its machine had
    /// gone.
    Crash {
        node: usize,
        amnesia: bool,
        silent: bool,
        for_us: u64,
    },
    Freeze {
        node: usize,
        for_us: u64,
    },
    Jump {
        node: usize,
        by_ms: i64,
    },
    /// Nothing passes between a process and a server in one direction or both.
    Cut {
        process: ProcessId,
        node: usize,
        way: Way,
        for_us: u64,
    },
    /// A user loses rights.
    Deny {
        denial: Denial,
        for_us: u64,
    },
    /// A server loses its data and runs on: it was flushed, or made a replica and a master again.
    Lose {
        node: usize,
        roles: bool,
    },
    /// Nothing of what is written from now on reaches the replica of a server.
    FallBehind {
        node: usize,
    },
    /// The replica becomes the master. Unawares: the master of before does not hear of it, is out of
    /// reach as long as it is not the master again, and has what it had then.
    Promote {
        node: usize,
        unawares: bool,
        /// How long a client may hold on to a socket to the master of before.
        noticed_us: u64,
    },
    /// A server forgets its scripts.
    Unlearn {
        node: usize,
    },
    /// All connections of a server break.
    Reset {
        node: usize,
    },
    /// A server hangs up on sockets that have said nothing lately, also in the calm.
    HangUp {
        node: usize,
    },
    Pause {
        process: ProcessId,
        for_us: u64,
    },
    /// For good.
    Kill {
        process: ProcessId,
    },
}

/// What a user may not touch on a server: one key, or any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Denial {
    pub(crate) node: usize,
    pub(crate) user: UserId,
    pub(crate) key: Option<&'static str>,
}

/// In which direction nothing passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Requests,
    Answers,
    Both,
}

/// What stays broken in the calm at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    Down(usize),
    Frozen(usize),
    CutOff(usize),
}

impl Broken {
    pub(crate) const fn node(self) -> usize {
        match self {
            Self::Down(node) | Self::Frozen(node) | Self::CutOff(node) => node,
        }
    }
}

/// About as long as one caller holds what it waits for when the calm begins, and then twice more.
const HELD: u64 = SECOND;
const MS: u64 = 1_000;
const SECOND: u64 = 1_000 * MS;
