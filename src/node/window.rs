//! Which requests on one socket still stand in redis-rs's queue, and which may have left. Pure.
//!
//! redis-rs says neither which requests it has written nor which still stand in its queue. Two
//! things show it all the same. The queue is first in, first out, so an answer proves that every
//! request before it has left the queue. And the socket counts the bytes that it took: a request
//! whose first byte has a greater number has not left this machine.
//!
//! The second needs the exact number of bytes before each request, and redis-rs may make that
//! uncertain: if a caller gives up while its request still stands in the queue, the request may be
//! skipped, and then fewer bytes are written than were counted. Compared with the count, a later
//! request that was sent would seem unsent. So from such a request on, everything counts as sent,
//! until the latest request of all is answered: at that moment every byte of every request has been
//! written, and the count starts again from what the socket took.

/// How many requests redis-rs's queue holds. Any more would wait outside of it, in an order that we
/// do not decide.
pub(super) const BUFFER: usize = 1024;

/// How many requests are let into the queue while some caller waits. The rest of it is kept for the
/// case that all callers have given up: then only the answer to a new request can show that the
/// old ones have left the queue.
const LIMIT: u64 = 1000;

/// The position of a request in the order of its socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    /// Counted from 1.
    number: u64,
    /// Bytes of everything before it, at most.
    start: u64,
}

#[derive(Debug)]
pub(super) struct Window {
    /// Requests that were handed over.
    started: u64,
    /// The number of the last one that is known to have left redis-rs's queue, with all before it.
    through: u64,
    /// How many of them have a caller that still waits.
    open: u64,
    /// Bytes of all of them and of what was sent before, at most.
    bytes: u64,
    /// Up to this byte the count is exact.
    exact_until: u64,
}

impl Window {
    /// `taken` is how many bytes the socket took so far, here and below.
    pub(super) const fn new(taken: u64) -> Self {
        Self { started: 0, through: 0, open: 0, bytes: taken, exact_until: u64::MAX }
    }

    /// Whether one more request may be handed over: redis-rs's queue has room for certain.
    pub(super) const fn has_room(&self) -> bool {
        self.inside() < if self.open == 0 { BUFFER as u64 } else { LIMIT }
    }

    /// Whether there is no room and no answer can make any, since all callers have given up.
    pub(super) const fn is_clogged(&self) -> bool {
        self.open == 0 && !self.has_room()
    }

    /// Notes that a request of so many bytes is handed over.
    pub(super) const fn start(&mut self, bytes: u64) -> Position {
        let start = self.bytes;
        self.started += 1;
        self.open += 1;
        self.bytes += bytes;
        Position { number: self.started, start }
    }

    /// Notes that a request was answered.
    pub(super) fn answered(&mut self, position: Position, taken: u64) {
        self.open = self.open.saturating_sub(1);
        self.through = self.through.max(position.number);
        if position.number == self.started {
            // It is the latest of all, so all bytes there are were written.
            self.bytes = taken;
            self.exact_until = u64::MAX;
        }
    }

    /// Notes that a caller gives up without an answer. To be called before the future of its request
    /// is dropped: a request that redis-rs took up while the future was there is not skipped.
    pub(super) fn given_up(&mut self, position: Position, taken: u64) {
        self.open = self.open.saturating_sub(1);
        if taken > position.start {
            self.through = self.through.max(position.number);
        } else {
            self.exact_until = self.exact_until.min(position.start);
        }
    }

    /// Notes that the connection broke before a request was answered; nothing more is written. True
    /// if certainly none of its bytes has left this machine.
    pub(super) fn broken(&mut self, position: Position, taken: u64) -> bool {
        self.open = self.open.saturating_sub(1);
        taken <= position.start && position.start <= self.exact_until
    }

    /// Requests that may still stand in redis-rs's queue.
    const fn inside(&self) -> u64 {
        self.started.saturating_sub(self.through)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window in which `count` requests of 10 bytes were started, and their positions.
    fn with(count: u64) -> (Window, Vec<Position>) {
        let mut window = Window::new(0);
        let positions = (0..count).map(|_| window.start(10)).collect();
        (window, positions)
    }

    #[test]
    fn a_request_is_unsent_if_the_socket_took_nothing_of_it() {
        for (taken, expected) in [
            (0, [true, true, true]),
            (1, [false, true, true]),
            (10, [false, true, true]),
            (11, [false, false, true]),
            (30, [false, false, false]),
        ] {
            let (mut window, positions) = with(3);
            let unsent: Vec<_> = positions.iter().map(|p| window.broken(*p, taken)).collect();
            assert_eq!(unsent, expected, "{taken} bytes were taken");
        }
    }

    #[test]
    fn what_was_said_before_counts() {
        let mut window = Window::new(500);
        let position = window.start(10);
        assert!(window.broken(position, 500));
        let position = Window::new(500).start(10);
        assert!(!window.broken(position, 501));
    }

    #[test]
    fn whatever_follows_one_that_may_have_been_skipped_counts_as_sent() {
        let (mut window, positions) = with(3);
        window.given_up(positions[1], 10);
        // 10 bytes of the third may have been taken, or 10 of the second.
        assert!(!window.broken(positions[2], 20));
        assert!(!window.broken(positions[2], 0), "in doubt");
        assert!(window.broken(positions[0], 0), "it stands before all doubt");
    }

    #[test]
    fn one_that_was_taken_up_before_its_caller_went_leaves_no_doubt() {
        let (mut window, positions) = with(3);
        window.given_up(positions[1], 11);
        assert!(window.broken(positions[2], 20));
    }

    #[test]
    fn the_answer_to_the_last_ends_all_doubt() {
        let (mut window, positions) = with(2);
        window.given_up(positions[0], 0);
        // The first was skipped.
        window.answered(positions[1], 10);
        let next = window.start(10);
        assert!(window.broken(next, 10));
        let next = window.start(10);
        assert!(!window.broken(next, 21));
    }

    #[test]
    fn the_answer_to_another_ends_no_doubt() {
        let (mut window, positions) = with(3);
        window.given_up(positions[0], 0);
        window.answered(positions[1], 10);
        assert!(!window.broken(positions[2], 10));
    }

    #[test]
    fn an_answer_makes_room_for_all_before_it() {
        let (mut window, positions) = with(LIMIT);
        assert!(!window.has_room());
        window.answered(positions[4], 50);
        for _ in 0..5 {
            assert!(window.has_room());
            window.start(10);
        }
        assert!(!window.has_room());
        window.answered(positions[2], 50);
        assert!(!window.has_room(), "it was counted already");
    }

    #[test]
    fn callers_that_go_make_room_only_if_their_requests_have_left_the_queue() {
        let (mut window, positions) = with(LIMIT);
        window.given_up(positions[0], 0);
        assert!(!window.has_room());
        window.given_up(positions[2], 21);
        assert!(window.has_room());
    }

    #[test]
    fn after_a_crowd_that_is_gone_others_go_on_until_the_queue_may_be_full() {
        let (mut window, positions) = with(LIMIT);
        for position in positions {
            assert!(!window.has_room() && !window.is_clogged());
            window.given_up(position, 0);
        }
        for _ in LIMIT..BUFFER as u64 {
            assert!(window.has_room());
            let position = window.start(10);
            assert!(!window.has_room(), "one at a time");
            window.given_up(position, 0);
        }
        assert!(window.is_clogged() && !window.has_room());
    }

    #[test]
    fn one_answer_after_a_crowd_that_is_gone_makes_room_for_all() {
        let (mut window, positions) = with(LIMIT);
        positions.iter().for_each(|position| window.given_up(*position, 0));
        let position = window.start(10);
        window.answered(position, 10);
        assert!(window.has_room() && !window.is_clogged());
        assert_eq!(window.inside(), 0);
    }
}
