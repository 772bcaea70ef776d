//! What was handed to redis-rs on one socket, and how far it has come. Pure.
//!
//! redis-rs tells neither what it has written nor what still stands in its queue. But that queue is
//! first in, first out, so an answer shows that everything before it has left the queue, and the
//! number of bytes that the socket took shows which requests may have left the machine.
//!
//! A request whose caller is gone before redis-rs has taken it up is skipped, or is not: nobody can
//! tell. From there on the bytes that were counted may be more than those that will be written, and
//! a comparison would call unsent what was sent. So from there on everything counts as sent, until
//! the answer to the last request shows how many bytes there were.

/// How many requests redis-rs's queue holds. One more, and a request would wait outside of it, in no
/// order that is ours.
pub(super) const BUFFER: usize = 1024;

/// How many requests are kept inside. The rest of the queue is for those that follow a crowd whose
/// callers are all gone: an answer has to show that the crowd has left it.
const LIMIT: u64 = 1000;

/// The place of a request in the order of its socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Counted from 1.
    number: u64,
    /// Bytes that stand before it, at most.
    start: u64,
}

#[derive(Debug)]
pub(super) struct Window {
    /// Requests that were handed over.
    started: u64,
    /// The last of them that is known to have left redis-rs's queue, and all before it.
    through: u64,
    /// How many of them somebody still waits for.
    open: u64,
    /// Bytes of all of them, at most.
    bytes: u64,
    /// Up to where the count of bytes is exact.
    exact_until: u64,
}

impl Window {
    /// `taken` is what the socket took so far.
    pub(super) const fn new(taken: u64) -> Self {
        Self { started: 0, through: 0, open: 0, bytes: taken, exact_until: u64::MAX }
    }

    /// Whether one more is certain to find a place in redis-rs's queue, and is to be handed over.
    pub(super) const fn has_room(&self) -> bool {
        self.inside() < if self.open == 0 { BUFFER as u64 } else { LIMIT }
    }

    /// Whether there is no room, and nobody left by whose answer there could be: so many callers
    /// were gone one after the other that nothing is known of the queue any more.
    pub(super) const fn is_clogged(&self) -> bool {
        self.open == 0 && !self.has_room()
    }

    /// A request of so many bytes is handed over.
    pub(super) const fn start(&mut self, bytes: u64) -> Place {
        let start = self.bytes;
        self.started += 1;
        self.open += 1;
        self.bytes += bytes;
        Place { number: self.started, start }
    }

    /// It was answered; the socket has taken so many bytes.
    pub(super) fn answered(&mut self, place: Place, taken: u64) {
        self.open = self.open.saturating_sub(1);
        self.through = self.through.max(place.number);
        if place.number == self.started {
            // The last of all was written, so what was taken is what there was.
            self.bytes = taken;
            self.exact_until = u64::MAX;
        }
    }

    /// Its caller is going, and has not been answered. To be told while redis-rs can still see the
    /// caller: by then what was taken up is not skipped.
    pub(super) fn given_up(&mut self, place: Place, taken: u64) {
        self.open = self.open.saturating_sub(1);
        if taken > place.start {
            self.through = self.through.max(place.number);
        } else {
            self.exact_until = self.exact_until.min(place.start);
        }
    }

    /// The connection broke under it, and no more is written. Whether none of its bytes left; in
    /// doubt they did.
    pub(super) fn broken(&mut self, place: Place, taken: u64) -> bool {
        self.open = self.open.saturating_sub(1);
        taken <= place.start && place.start <= self.exact_until
    }

    const fn inside(&self) -> u64 {
        self.started.saturating_sub(self.through)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window in which `count` requests of 10 bytes were started, and their places.
    fn with(count: u64) -> (Window, Vec<Place>) {
        let mut window = Window::new(0);
        let places = (0..count).map(|_| window.start(10)).collect();
        (window, places)
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
            let (mut window, places) = with(3);
            let unsent: Vec<_> = places.iter().map(|p| window.broken(*p, taken)).collect();
            assert_eq!(unsent, expected, "{taken} bytes were taken");
        }
    }

    #[test]
    fn what_was_said_before_counts() {
        let mut window = Window::new(500);
        let place = window.start(10);
        assert!(window.broken(place, 500));
        let place = Window::new(500).start(10);
        assert!(!window.broken(place, 501));
    }

    #[test]
    fn whatever_follows_one_that_may_have_been_skipped_counts_as_sent() {
        let (mut window, places) = with(3);
        window.given_up(places[1], 10);
        // 10 bytes of the third may have been taken, or 10 of the second.
        assert!(!window.broken(places[2], 20));
        assert!(!window.broken(places[2], 0), "in doubt");
        assert!(window.broken(places[0], 0), "it stands before all doubt");
    }

    #[test]
    fn one_that_was_taken_up_before_its_caller_went_leaves_no_doubt() {
        let (mut window, places) = with(3);
        window.given_up(places[1], 11);
        assert!(window.broken(places[2], 20));
    }

    #[test]
    fn the_answer_to_the_last_ends_all_doubt() {
        let (mut window, places) = with(2);
        window.given_up(places[0], 0);
        // The first was skipped.
        window.answered(places[1], 10);
        let next = window.start(10);
        assert!(window.broken(next, 10));
        let next = window.start(10);
        assert!(!window.broken(next, 21));
    }

    #[test]
    fn the_answer_to_another_ends_no_doubt() {
        let (mut window, places) = with(3);
        window.given_up(places[0], 0);
        window.answered(places[1], 10);
        assert!(!window.broken(places[2], 10));
    }

    #[test]
    fn an_answer_makes_room_for_all_before_it() {
        let (mut window, places) = with(LIMIT);
        assert!(!window.has_room());
        window.answered(places[4], 50);
        for _ in 0..5 {
            assert!(window.has_room());
            window.start(10);
        }
        assert!(!window.has_room());
        window.answered(places[2], 50);
        assert!(!window.has_room(), "it was counted already");
    }

    #[test]
    fn callers_that_go_make_room_only_if_their_requests_have_left_the_queue() {
        let (mut window, places) = with(LIMIT);
        window.given_up(places[0], 0);
        assert!(!window.has_room());
        window.given_up(places[2], 21);
        assert!(window.has_room());
    }

    #[test]
    fn after_a_crowd_that_is_gone_others_go_on_until_the_queue_may_be_full() {
        let (mut window, places) = with(LIMIT);
        for place in places {
            assert!(!window.has_room() && !window.is_clogged());
            window.given_up(place, 0);
        }
        for _ in LIMIT..BUFFER as u64 {
            assert!(window.has_room());
            let place = window.start(10);
            assert!(!window.has_room(), "one at a time");
            window.given_up(place, 0);
        }
        assert!(window.is_clogged() && !window.has_room());
    }

    #[test]
    fn one_answer_after_a_crowd_that_is_gone_makes_room_for_all() {
        let (mut window, places) = with(LIMIT);
        places.iter().for_each(|place| window.given_up(*place, 0));
        let place = window.start(10);
        window.answered(place, 10);
        assert!(window.has_room() && !window.is_clogged());
        assert_eq!(window.inside(), 0);
    }
}
