//! What can happen, and the names of those it happens to. Nothing here depends on the code that
//! acts on it.

/// Names a process among those of the simulation.
pub(crate) type ProcessId = usize;

/// Names a user among those that a server knows. A process has a client of each.
pub(crate) type UserId = usize;

/// A place in the list of all connections that ever were.
pub(crate) type ConnId = usize;

/// One of the two processes behind an address that is followed: sentinels choose which is the master.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seat {
    First,
    Second,
}

impl Seat {
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// Something that will happen.
#[derive(Debug)]
pub(crate) enum Event {
    /// A timer is due: its place, and how often that was used before.
    Timer(usize, u64),
    Net(NetEvent),
    /// The next line of the plan.
    Fault(usize),
    /// A process that stood still goes on.
    Resume(ProcessId),
    /// The faults are over.
    Calm,
    /// Nothing more is asked for.
    Finish,
    /// Whatever has not ended by now hangs.
    GiveUp,
}

/// What happens to messages.
#[derive(Debug)]
pub(crate) enum NetEvent {
    /// The oldest request on its way arrives.
    Arrive(ConnId),
    /// The oldest answer on its way arrives.
    Answer(ConnId),
    /// The client learns that the connection is broken.
    Reset(ConnId),
    /// A request arrives at a server once more.
    Again(usize, Request),
}

/// What a client has sent, and when. Empty: it has hung up.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) by: ProcessId,
    pub(crate) user: UserId,
    /// The seat of its caller.
    pub(crate) seat: Seat,
    pub(crate) sent: u64,
    pub(crate) bytes: Vec<u8>,
}
