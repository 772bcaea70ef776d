//! One moment of the whole system.

use crate::setting::{MAX_CLIENTS, Setting};

pub(crate) const MAX_NODES: usize = 5;
pub(crate) const MAX_ATTEMPTS: usize = 6;

/// Masters, attempts, and the history that the properties need.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct State {
    pub(crate) nodes: [Node; MAX_NODES],
    pub(crate) attempts: [Attempt; MAX_ATTEMPTS],
    pub(crate) history: History,
    /// Restarts that may still come.
    pub(crate) crashes: u8,
    /// Losses of data without a restart that may still come.
    pub(crate) flushes: u8,
    /// The servers' clock.
    pub(crate) now: u8,
}

/// One master, with every attempt's dealings with it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Node {
    /// The attempt that has the lock alone here: 0, or its number + 1.
    holder: u8,
    /// The readers here: a bit for each attempt.
    readers: u8,
    /// The fencing counter.
    pub(crate) counter: u16,
    /// Its uptime is below the quarantine.
    pub(crate) young: bool,
    /// It carries a marker: it was vouched that it forgot nothing.
    pub(crate) marked: bool,
    /// What its data and its clients know of each other.
    pub(crate) mark: Mark,
    /// Until which tick it is young at least; without clocks, which start it was.
    pub(crate) until: u8,
    /// Acquires of attempts that are done, by class: all that is left for them is the counter.
    pub(crate) ghosts: [u8; MAX_CLIENTS],
    pub(crate) seats: [Seat; MAX_ATTEMPTS],
}

/// The mark in a master's data, where marks are looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Mark {
    /// One of this run stands there.
    pub(crate) stands: bool,
    /// This run has had one, as a new client can tell.
    pub(crate) witness: bool,
    /// Each client knows the one that stands.
    pub(crate) known: [bool; MAX_CLIENTS],
    /// Each client has known one of this run.
    pub(crate) knew: [bool; MAX_CLIENTS],
}

/// One attempt's dealings with one master.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Seat {
    pub(crate) acquire: Flight,
    pub(crate) heal: Flight,
    /// The counter in the grant's reply, until the token is chosen.
    pub(crate) reply: u16,
    /// The client counts on this member: its deadline has not passed.
    pub(crate) vouches: bool,
    /// It vouched before the master restarted.
    pub(crate) forgotten: bool,
    /// The counter is known to have been the token here.
    pub(crate) written: bool,
    /// The releaser is done here.
    pub(crate) stopped: bool,
}

/// A request on its way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) enum Flight {
    #[default]
    None,
    /// Sent, or about to be; it may be executed.
    Sent,
    /// Its stamp is over. Only servers that ignore stamps still execute it.
    Late,
}

/// One attempt of a client to hold the lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Attempt {
    pub(crate) phase: Phase,
    /// The client's clock, as it read it.
    pub(crate) hint: u16,
    /// The tick at which it did.
    pub(crate) born: u8,
    /// The greatest token when it began.
    pub(crate) floor: u16,
    pub(crate) token: u16,
    /// Heals that it may still send.
    pub(crate) heals: u8,
    /// How often it may still ask again.
    pub(crate) resends: u8,
    /// Only reads, from its beginning or since it was downgraded.
    pub(crate) reads: bool,
}

/// How far an attempt has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Phase {
    #[default]
    Unborn,
    Asking,
    /// It has its grants and writes the token.
    Promoting,
    Held,
    /// Given up, lost or released; something of it may still be out there.
    Over,
    /// Nothing of it is left.
    Done,
}

/// What the properties remember.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct History {
    /// The greatest token so far.
    pub(crate) last_token: u16,
    /// The attempt that was granted last: 0, or its number + 1.
    pub(crate) last_holder: u8,
}

impl State {
    pub(crate) fn initial(setting: &Setting) -> Self {
        let (crashes, flushes) = (setting.crashes, setting.flushes);
        let mut state = Self { crashes, flushes, ..Self::default() };
        for node in state.nodes.iter_mut().take(setting.nodes) {
            node.young = setting.new_fleet;
        }
        state
    }

    /// How many members the attempt counts on.
    pub(crate) fn vouching(&self, attempt: usize) -> usize {
        self.nodes.iter().filter(|node| node.seats[attempt].vouches).count()
    }

    /// Whether the client believes, by its own clock, that it holds the lock.
    pub(crate) fn is_valid(&self, setting: &Setting, attempt: usize) -> bool {
        self.attempts[attempt].phase == Phase::Held && self.vouching(attempt) >= setting.need
    }
}

impl Node {
    pub(crate) fn holder(&self) -> Option<usize> {
        usize::from(self.holder).checked_sub(1)
    }

    /// As it stands there already, or as one that reads or not.
    pub(crate) fn hold_by(&mut self, attempt: usize, reads: bool) {
        if self.is_held_by(attempt) {
            return;
        }
        if reads {
            self.readers |= bit(attempt);
        } else {
            self.holder = number(attempt);
        }
    }

    /// All of them.
    pub(crate) fn forget(&mut self) {
        (self.holder, self.readers) = (0, 0);
    }

    pub(crate) fn free_of(&mut self, attempt: usize) {
        self.readers &= !bit(attempt);
        if self.is_written_by(attempt) {
            self.holder = 0;
        }
    }

    /// A writer reads on: in one step, so that no other writes in between.
    pub(crate) fn downgrade(&mut self, attempt: usize) {
        self.free_of(attempt);
        self.readers |= bit(attempt);
    }

    pub(crate) fn is_free(&self) -> bool {
        self.holder == 0 && self.readers == 0
    }

    pub(crate) fn is_written_by(&self, attempt: usize) -> bool {
        self.holder == number(attempt)
    }

    pub(crate) fn is_read_by(&self, attempt: usize) -> bool {
        self.readers & bit(attempt) != 0
    }

    pub(crate) fn is_held_by(&self, attempt: usize) -> bool {
        self.is_written_by(attempt) || self.is_read_by(attempt)
    }

    /// Whether an acquire of this attempt would be granted: readers do not mind each other.
    pub(crate) fn would_grant(&self, attempt: usize, reads: bool) -> bool {
        self.is_held_by(attempt) || self.holder == 0 && (reads || self.readers == 0)
    }

    /// Whether votes of this master do not count.
    pub(crate) fn is_quarantined(&self, setting: &Setting) -> bool {
        setting.rules.quarantine && self.young && !self.marked
    }

    /// Whether an acquire of a client is let through by the mark that it names.
    pub(crate) fn lets_through(&self, setting: &Setting, client: usize) -> bool {
        let mark = &self.mark;
        !setting.marks()
            || mark.known[client]
            || (!setting.rules.mark_compared && mark.knew[client])
    }

    /// Whether a client counts on what this master forgot.
    pub(crate) fn is_missed(&self) -> bool {
        self.seats.iter().any(|seat| seat.vouches && seat.forgotten)
    }
}

impl Phase {
    /// Between its start and its end, by the client's own account.
    pub(crate) fn is_live(self) -> bool {
        matches!(self, Self::Asking | Self::Promoting | Self::Held)
    }
}

const fn bit(attempt: usize) -> u8 {
    1 << attempt
}

/// Attempts are stored from 1 on; 0 is none.
pub(crate) fn number(attempt: usize) -> u8 {
    u8::try_from(attempt + 1).expect("invariant: at most MAX_ATTEMPTS")
}
