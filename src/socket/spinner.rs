//! Whether the driver of a socket looks for an answer for a moment before its thread sleeps. Pure, but for
//! the look at the runtime that it is made on.
//!
//! Near a server the sleep and the wake-up cost more than the round trip. So while a call is alone on
//! its socket, and one that its caller waits for, the driver looks again.
//!
//! For instance: a call is sent at 0, and its answer comes at 30 µs. A thread that slept would be awake at 80 µs; the
//! driver looks again and again, and has the answer at 31. After sixteen calls it judges: at least half of the answers
//! came while it looked, so it goes on. On a busy machine they come at 500 µs: it looks in vain for 80, sleeps, and
//! after sixteen such calls looks for none for a second.

use std::time::Duration;

use super::{call_table::OnlyCall, priority::Priority, spin::Way};
use crate::{clock::Instant, reach::Spin};

/// Decides for one socket.
#[derive(Debug)]
pub(super) struct Spinner {
    way: Option<Way>,
    record: Record,
    look: Option<BusyPoll>,
}

/// What is looked for.
#[derive(Debug)]
struct BusyPoll {
    /// When the call was sent that it is the answer to.
    of: Instant,
    since: Instant,
    /// `None` if it took too long.
    until: Option<Instant>,
    /// It was not there yet at the first look.
    is_needed: bool,
}

/// What the driver does until the answer is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PollStep {
    /// It sleeps.
    Sleep,
    /// It comes again after the others.
    Yield,
    /// It looks at its socket until then.
    Look(Instant),
}

impl Spinner {
    /// For a socket of the current runtime; whether what is read from that comes as it is.
    pub(super) fn new(spin: Spin, is_bare_socket: bool) -> Self {
        let way = spin.way_here(is_bare_socket);
        Self { way, record: Record::default(), look: None }
    }

    /// Whether it looks for answers that are so awaited, if they come soon enough.
    pub(super) fn looks_for(&self, priority: Priority) -> bool {
        self.way.is_some_and(|way| way.serves(priority))
    }

    /// What to do next. `is_heard`: whether something was answered just now.
    pub(super) fn next(
        &mut self,
        only_call: Option<OnlyCall>,
        is_heard: bool,
        now: impl FnOnce() -> Instant,
        round_trip: impl FnOnce() -> Duration,
    ) -> PollStep {
        let Some(way) = self.way else { return PollStep::Sleep };
        let sought = only_call.filter(|call| way.serves(call.priority)).map(|call| call.sent);
        let ended = self.look.take_if(|look| Some(look.of) != sought);
        let ended = ended.filter(|look| is_heard && look.until.is_some());
        if sought.is_none() && ended.is_none() {
            return PollStep::Sleep;
        }
        let now = now();
        if let Some(BusyPoll { since, is_needed, .. }) = ended {
            self.record.note(is_needed && now.saturating_since(since) < BUDGET, now);
        }
        self.note_in_vain();
        let until = sought.and_then(|of| self.look_for(of, now, round_trip));
        match (way, until) {
            (_, None) => PollStep::Sleep,
            (Way::InTurns, Some(_)) => PollStep::Yield,
            (Way::Itself, Some(until)) => PollStep::Look(until),
        }
    }

    /// Notes that what is looked for was not there yet.
    pub(super) fn note_in_vain(&mut self) {
        if let Some(look) = &mut self.look {
            look.is_needed = true;
        }
    }

    /// Until when, for the answer to the call that was sent at `of`.
    fn look_for(
        &mut self,
        of: Instant,
        now: Instant,
        round_trip: impl FnOnce() -> Duration,
    ) -> Option<Instant> {
        if self.look.is_none() {
            let patience = self.record.patience(now, round_trip)?;
            let until = Some(now + patience);
            self.look = Some(BusyPoll { of, since: now, until, is_needed: false });
        }
        let look = self.look.as_mut()?;
        if look.until.take_if(|until| now >= *until).is_some() {
            self.record.note(false, now);
        }
        look.until
    }
}

/// How it went lately.
#[derive(Debug, Default)]
struct Record {
    /// Whether the last tries helped, one bit each.
    helped: u16,
    tried: u8,
    /// It went well once since the last pause.
    is_going: bool,
    off_until: Option<Instant>,
}

impl Record {
    /// How long to look, if an answer can come in that time. At first longer: a server that was asleep, and
    /// the machine under it, are awake after a few calls that follow one another closely.
    fn patience(
        &mut self,
        now: Instant,
        round_trip: impl FnOnce() -> Duration,
    ) -> Option<Duration> {
        if self.off_until.is_some_and(|until| now < until) {
            return None;
        }
        let least = round_trip();
        self.is_going &= least < BUDGET;
        let patience = if self.is_going { BUDGET } else { AT_FIRST };
        (least < patience).then_some(patience)
    }

    fn note(&mut self, helped: bool, now: Instant) {
        self.tried += 1;
        self.helped = self.helped << 1 | u16::from(helped);
        if self.tried < TRIES {
            return;
        }
        let counted = if self.is_going { u16::MAX } else { LAST };
        let is_good = (self.helped & counted).count_ones() * 2 >= counted.count_ones();
        let off_until = (!is_good).then(|| now + PAUSE);
        *self = Self { is_going: is_good, off_until, ..Self::default() };
    }
}

const BUDGET: Duration = Duration::from_micros(80);
/// So many are judged together: busy cores and quotas let most of them down, a shared CPU all.
const TRIES: u8 = 16;
/// The last of the first tries.
const LAST: u16 = 0xff;
/// Above most round trips of threads that slept: it takes them most of the time to wake.
const AT_FIRST: Duration = Duration::from_micros(200);
const PAUSE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::from_origin(Duration::from_micros(us))
    }

    fn alone(us: u64) -> Option<OnlyCall> {
        Some(OnlyCall { sent: at(us), priority: Priority::Single })
    }

    fn spinner() -> Spinner {
        Spinner { way: Some(Way::Itself), record: Record::default(), look: None }
    }

    const NEAR: Duration = Duration::from_micros(30);

    /// A call that is sent at `sent` and answered so many µs later.
    fn answered_after(spinner: &mut Spinner, sent: u64, us: u64) {
        spinner.next(alone(sent), false, || at(sent), || NEAR);
        spinner.note_in_vain();
        spinner.next(None, true, || at(sent + us), || NEAR);
    }

    fn begins(spinner: &mut Spinner, us: u64) -> PollStep {
        spinner.next(alone(us), false, || at(us), || NEAR)
    }

    #[test]
    fn far_servers_and_calls_that_are_not_alone_are_slept_for() {
        assert_eq!(spinner().next(alone(5), false, || at(5), || AT_FIRST), PollStep::Sleep);
        assert_eq!(spinner().next(None, false, || at(5), || NEAR), PollStep::Sleep);
        assert_eq!(spinner().next(None, true, || at(5), || NEAR), PollStep::Sleep);
        assert_eq!(begins(&mut spinner(), 5), PollStep::Look(at(205)));
        let in_turns = Spinner { way: Some(Way::InTurns), ..spinner() };
        assert_eq!(begins(&mut { in_turns }, 5), PollStep::Yield);
    }

    #[test]
    fn answers_of_several_servers_are_looked_for_in_turns_only() {
        use Priority::{Fanout, Normal, Single};
        for (way, looks) in
            [(Way::InTurns, [false, true, true]), (Way::Itself, [false, false, true])]
        {
            let looks_for = |priority| {
                let mut spinner = Spinner { way: Some(way), ..spinner() };
                spinner.next(Some(OnlyCall { sent: at(5), priority }), false, || at(5), || NEAR)
                    != PollStep::Sleep
            };
            assert_eq!([Normal, Fanout, Single].map(looks_for), looks, "{way:?}");
        }
    }

    /// It begins anew where round trips have become longer, with what is longer than those of threads that
    /// slept; else it would never go on again there.
    #[test]
    fn server_that_has_moved_away_is_looked_at_as_at_first() {
        let mut spinner = spinner();
        (0..16).for_each(|_| answered_after(&mut spinner, 0, 79));
        for (round_trip, until) in [(79, at(85)), (80, at(205)), (79, at(205))] {
            let next =
                spinner.next(alone(5), false, || at(5), || Duration::from_micros(round_trip));
            assert_eq!(next, PollStep::Look(until), "{round_trip}");
            spinner.next(None, false, || at(6), || NEAR);
        }
    }

    #[test]
    fn nobody_looks_twice_for_what_did_not_come_in_time() {
        let mut spinner = spinner();
        for (now, until) in
            [(5, PollStep::Look(at(205))), (205, PollStep::Sleep), (206, PollStep::Sleep)]
        {
            assert_eq!(spinner.next(alone(5), false, || at(now), || NEAR), until);
        }
        assert_eq!(spinner.record.tried, 1);
        spinner.next(None, true, || at(300), || NEAR);
        assert_eq!(spinner.record.tried, 1, "it is counted once");
    }

    #[test]
    fn what_others_cut_short_says_nothing() {
        let mut spinner = spinner();
        begins(&mut spinner, 5);
        assert_eq!(spinner.next(None, false, || at(6), || NEAR), PollStep::Sleep);
        assert_eq!(spinner.record.tried, 0);
    }

    #[test]
    fn it_is_off_for_a_second_where_most_answers_are_late() {
        for (in_time, is_on) in [(8, true), (7, false)] {
            let mut spinner = spinner();
            // It is going.
            (0..16).for_each(|_| answered_after(&mut spinner, 0, 79));
            (0..16)
                .for_each(|i| answered_after(&mut spinner, 0, if i < in_time { 79 } else { 80 }));
            let until = begins(&mut spinner, 999_999);
            let on = PollStep::Look(at(999_999) + BUDGET);
            assert_eq!(until, if is_on { on } else { PollStep::Sleep }, "{in_time}");
            assert_ne!(begins(&mut spinner, 1_000_080), PollStep::Sleep);
        }
    }

    #[test]
    fn it_is_off_for_a_second_where_most_answers_are_there_at_the_first_look() {
        for (way, on) in
            [(Way::InTurns, PollStep::Yield), (Way::Itself, PollStep::Look(at(30) + BUDGET))]
        {
            for (looks, is_on) in [(2, true), (1, false)] {
                let mut spinner = Spinner { way: Some(way), ..spinner() };
                for _ in 0..16 {
                    (0..looks).for_each(|_| assert_ne!(begins(&mut spinner, 5), PollStep::Sleep));
                    spinner.next(None, true, || at(20), || NEAR);
                }
                let next = begins(&mut spinner, 30);
                assert_eq!(next, if is_on { on } else { PollStep::Sleep }, "{way:?}, {looks}");
            }
        }
    }

    #[test]
    fn first_tries_may_take_longer_if_the_last_of_them_do_not() {
        for (late, is_on) in [(8, true), (12, true), (13, false)] {
            let mut spinner = spinner();
            (0..16).for_each(|i| answered_after(&mut spinner, 0, if i < late { 80 } else { 79 }));
            let on = PollStep::Look(at(99) + BUDGET);
            assert_eq!(
                begins(&mut spinner, 99),
                if is_on { on } else { PollStep::Sleep },
                "{late}"
            );
        }
    }
}
