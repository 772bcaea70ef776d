//! I13: of a semaphore no more permits are held at once than it has, from when the acquire has returned until
//! the release is called, or the deadline.
//!
//! A server that loses its data forgets the holders of permits, and what is set there anew knows nothing of
//! them: what it granted counts until then, and only beside what it granted since the loss before. One whose clock is
//! set forward ends leases early: against that there is no remedy, and what it granted before counts until then.

use super::{Invariant, Violation, promise};
use crate::{
    history::{History, Section},
    spans::{Span, at_least},
};

pub(crate) fn check(history: &History) -> Vec<Violation> {
    let too_many = history.by_lock().flat_map(|(lock, sections)| {
        let of = sections.iter().find_map(|section| Some(section.share?.of)).unwrap_or(0);
        let held = sections.iter().flat_map(|section| held(history, section));
        let violation = |span| Violation {
            invariant: Invariant::Permits,
            lock: Some(lock.to_owned()),
            span,
            what: format!("more than {of} permits of {lock} were held at once"),
        };
        at_least(of + 1, held).iter().map(violation).collect::<Vec<_>>()
    });
    too_many.collect()
}

/// While its server knows that it holds permits, once for each.
fn held(history: &History, section: &Section) -> impl Iterator<Item = Span> {
    let permits = section.share.map_or(0, |share| share.permits);
    let known = section.share.and_then(|_| known(history, section));
    known.into_iter().flat_map(move |held| std::iter::repeat_n(held, permits))
}

/// What it was granted late in one memory of its server may have been granted in the one before: then nothing
/// is known of it.
fn known(history: &History, section: &Section) -> Option<Span> {
    let held = section.validity()?;
    let Some(home) = section.on.first() else { return Some(held) };
    let memories = history.weather.memories(*home);
    let memory =
        memories.iter().find(|memory| memory.from <= held.from && held.from < memory.to)?;
    let awake = Span::new(memory.from, held.from);
    let asleep = history.weather.asleep(section.id.worker).within(awake);
    let since = section.granted_since(history.settings.longest_lease() + asleep);
    let jumped = promise::forward_jumps(history, Span::new(since, held.to))
        .find_map(|(at, master)| (master == *home).then_some(at));
    let kept = Span::new(memory.from, jumped.map_or(memory.to, |jumped| jumped.min(memory.to)));
    (since >= memory.from).then(|| held.common(kept))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::story::{Story, Told};
    use crate::history::Event;

    /// Two have one permit each from 10 to 50 and from 20 to 60, a third so many from 50 to 70.
    fn found(permits: usize, of: usize) -> usize {
        let holds = [(1, 10, 50), (1, 20, 60), (permits, 50, 70)];
        let mut story = Story::new();
        for (number, (permits, from, to)) in holds.into_iter().enumerate() {
            story = story.section(&format!("w{number}.0/0#1"), |s| {
                s.of_permits(permits, of).asked(0).granted(from, 1_000).released(to)
            });
        }
        check(&story.history()).len()
    }

    #[test]
    fn more_permits_than_there_are_are_found() {
        assert_eq!(found(1, 2), 0);
        assert_eq!(found(2, 2), 1, "beside one");
        assert_eq!(found(2, 3), 0);
        assert_eq!(found(1, 1), 1, "two at once");
    }

    /// One holds the only permit from 100 ms on, another one from then until 3 s; master 1 is killed at 1 s and
    /// is back at 1.1 s.
    fn around_a_loss(home: usize, asked: u64, granted: u64) -> usize {
        let one = |s: Told| s.on_one(home).of_permits(1, 1);
        let story = Story::new()
            .forgetful()
            .section("w0.0/0#1", |s| one(s).asked(90).granted(100, 9_000).released(5_000))
            .section("w1.0/0#1", |s| one(s).asked(asked).granted(granted, 9_000).released(3_000))
            .master_killed(1_000, 1_100, 1);
        check(&story.history()).len()
    }

    #[test]
    fn what_a_server_forgot_does_not_count_beside_what_it_grants_later() {
        assert_eq!(around_a_loss(1, 1_200, 1_210), 0, "after the loss");
        assert_eq!(around_a_loss(1, 500, 510), 1, "before it");
        assert_eq!(around_a_loss(0, 1_200, 1_210), 1, "another server's");
    }

    #[test]
    fn two_who_are_granted_the_same_after_a_loss_are_found() {
        let one = |s: Told| s.on_one(1).of_permits(1, 1);
        let found = |asked| {
            let story = Story::new()
                .forgetful()
                .master_killed(1_000, 1_100, 1)
                .section("w0.0/0#1", |s| one(s).asked(1_200).granted(1_210, 9_000).released(5_000))
                .section("w1.0/0#1", |s| one(s).asked(asked).granted(1_500, 9_000).released(3_000));
            check(&story.history()).len()
        };
        assert_eq!(found(1_110), 1);
        assert_eq!(found(900), 0, "it may have been granted before");
    }

    #[test]
    fn a_lease_may_end_early_after_a_clock_was_set_forward() {
        let one = |s: Told| s.on_one(1).of_permits(1, 1);
        let found = |by_ms, master, asked| {
            let story = Story::new()
                .section("w0.0/0#1", |s| one(s).asked(90).granted(100, 9_000).released(5_000))
                .and(900, Event::ClockJumped { master, by_ms })
                .section("w1.0/0#1", |s| one(s).asked(asked).granted(1_000, 9_000).released(3_000));
            check(&story.history()).len()
        };
        assert_eq!(found(200, 1, 950), 0);
        assert_eq!(found(200, 0, 950), 1, "another server's clock");
        assert_eq!(found(-200, 1, 950), 1, "back");
    }

    #[test]
    fn two_that_are_granted_the_same_after_a_clock_was_set_are_found() {
        let one = |s: Told| s.on_one(1).of_permits(1, 1);
        let story = Story::new()
            .and(50, Event::ClockJumped { master: 1, by_ms: 200 })
            .section("w0.0/0#1", |s| one(s).asked(90).granted(100, 9_000).released(5_000))
            .section("w1.0/0#1", |s| one(s).asked(900).granted(1_000, 9_000).released(3_000));
        assert_eq!(check(&story.history()).len(), 1);
    }

    #[test]
    fn locks_have_no_permits() {
        let story = Story::new().section("w0.0/0#1", |s| s.asked(0).granted(5, 100).released(9));
        assert_eq!(check(&story.history()), []);
    }
}
