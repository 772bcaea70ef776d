//! A connection: what is on its way in each direction, and what its client knows of its end.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    task::Waker,
};

use palisade::embedded::Direct;

use super::{Answer, order::Hold};
use crate::event::{ProcessId, Request, Seat, UserId};

#[derive(Debug)]
pub(super) struct Conn {
    pub(super) process: ProcessId,
    /// The user of the client that made it.
    pub(super) user: UserId,
    pub(super) node: usize,
    /// To which of its processes it leads.
    pub(super) seat: Seat,
    /// Which life of the server it leads to.
    pub(super) life: u32,
    pub(super) server: Option<Direct>,
    /// Bytes of a request that is not complete.
    pub(super) partial: Vec<u8>,
    /// On their way; an empty one says that the client has hung up.
    pub(super) requests: Direction<Request>,
    pub(super) answers: Direction<Answer>,
    /// Arrived, not read yet.
    pub(super) inbox: Vec<u8>,
    pub(super) reader: Option<Waker>,
    pub(super) client: Client,
    /// Has asked for messages.
    pub(super) listens: bool,
    /// What is released, as long as that or its answer is on its way, and how often.
    pub(super) releasing: BTreeMap<Hold, u32>,
    /// What was asked for meanwhile.
    pub(super) asked_behind: BTreeSet<Hold>,
    /// The server has hung up, and its client hears of it when it says something.
    pub(super) is_forgotten: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Client {
    There,
    /// Has been told that the connection is broken.
    Cut,
    /// Has been told that the server has hung up.
    Eof,
    Gone,
}

/// One direction of a connection.
#[derive(Debug)]
pub(super) struct Direction<M> {
    pub(super) queue: VecDeque<M>,
    /// When the last of them arrives.
    pub(super) last_at: u64,
    /// Nothing more comes through.
    pub(super) lost: bool,
    /// Nothing more is sent.
    pub(super) ends: bool,
    /// How many arrivals were due while nothing could pass.
    pub(super) owed: usize,
}

impl Conn {
    pub(super) fn new(
        process: ProcessId,
        user: UserId,
        (node, seat): (usize, Seat),
        life: u32,
        server: Option<Direct>,
    ) -> Self {
        Self {
            process,
            user,
            node,
            seat,
            life,
            server,
            partial: Vec::new(),
            requests: Direction::default(),
            answers: Direction::default(),
            inbox: Vec::new(),
            reader: None,
            client: Client::There,
            listens: false,
            releasing: BTreeMap::new(),
            asked_behind: BTreeSet::new(),
            is_forgotten: false,
        }
    }

    /// Nothing is waited for there.
    pub(super) fn is_idle(&self) -> bool {
        let is_silent = self.requests.queue.is_empty() && self.answers.queue.is_empty();
        is_silent && self.partial.is_empty() && !self.listens && !self.is_over()
    }

    pub(super) fn is_over(&self) -> bool {
        self.client != Client::There
    }
}

impl<M> Default for Direction<M> {
    fn default() -> Self {
        Self { queue: VecDeque::new(), last_at: 0, lost: false, ends: false, owed: 0 }
    }
}

impl<M> Direction<M> {
    /// Adds a message that arrives at `at`, but not before an earlier one; when it does.
    pub(super) fn push(&mut self, message: M, at: u64) -> u64 {
        self.last_at = self.last_at.max(at);
        self.queue.push_back(message);
        self.last_at
    }
}
