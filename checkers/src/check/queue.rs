//! I12: where nothing breaks, a lock that has a queue is granted in the order in which it was asked for.
//!
//! The server's order counts, and requests take their time. Only a section that asked clearly later must not be
//! granted the lock while another waits, whichever way it asked. Where faults were, that goes for the calm: for
//! sections that asked when connections stood again, and ran when they asked. A `MultiLock` of such locks stands in
//! one queue after the other, and gets in behind others: of those no order is promised.

use std::time::Duration;

use super::{Invariant, Violation};
use crate::{
    history::{Event, History, Manner, Section},
    spans::Span,
    time::Time,
};

pub(crate) fn check(history: &History) -> Vec<Violation> {
    let apart = Duration::from_millis(history.settings.in_order_ms);
    if apart.is_zero() {
        return Vec::new();
    }
    let since = undisturbed_since(history);
    let queues = history.by_lock().filter(|(_, sections)| sections.iter().any(|one| one.queued));
    let passed = queues.flat_map(|(_, sections)| {
        let passed = granted(&sections).filter_map(|(other, at)| {
            let is_passed = |first: &&Section| {
                waits(first)
                    && since <= first.asked
                    && !slept(history, first, apart, at)
                    && first.asked + apart < other.asked
                    && at < first.wait().to
            };
            sections.iter().copied().find(is_passed).map(|first| passed(first, other, at))
        });
        passed.collect::<Vec<_>>()
    });
    passed.collect()
}

/// From when on nothing kept a section from standing in line.
fn undisturbed_since(history: &History) -> Time {
    let mut faults =
        history.records.iter().filter(|record| matches!(record.event, Event::FaultBegan { .. }));
    let Span { from, .. } = history.weather.run;
    faults.next().map_or(from, |_| history.weather.calm.from + SETTLED)
}

/// Whether its process did not run when it asked, and it came to stand in line later than it says; or while
/// it waited, and what it was granted was over before it could know.
fn slept(history: &History, section: &Section, apart: Duration, until: Time) -> bool {
    let waiting = Span::new(section.asked - apart, until);
    !history.weather.asleep(section.id.worker).within(waiting).is_zero()
}

/// A section that attempts once has no place.
fn waits(section: &Section) -> bool {
    section.manner != Manner::Once
}

fn granted<'a>(sections: &[&'a Section]) -> impl Iterator<Item = (&'a Section, Time)> {
    sections.iter().filter_map(|section| Some((*section, section.hold.as_ref()?.granted)))
}

fn passed(first: &Section, other: &Section, at: Time) -> Violation {
    Violation {
        invariant: Invariant::Queue,
        lock: Some(first.lock.clone()),
        span: Span::new(first.asked, at),
        what: format!(
            "{} waited for {} when {} was granted it, which had asked {:?} later",
            first.id,
            first.lock,
            other.id,
            other.asked.since(first.asked)
        ),
    }
}

/// By then connections stand again that faults have broken.
const SETTLED: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::story::Story;

    /// One asks at 100 and is granted the lock at 500; another one in between.
    fn found(manner: Manner, asked: u64, granted: u64) -> usize {
        let story = Story::new()
            .section("w0.0/0#1", |s| {
                s.queued().asking(manner).asked(100).granted(500, 1_500).released(510)
            })
            .section("w1.0/0#1", |s| {
                s.queued().asked(asked).granted(granted, 1_400).released(granted + 5)
            });
        let mut history = story.history();
        assert_eq!(check(&history), [], "no order was promised");
        history.settings.in_order_ms = 20;
        check(&history).len()
    }

    #[test]
    fn whoever_asked_later_and_is_granted_before_one_that_waits_is_found() {
        for waits in [Manner::Patient, Manner::FailFast, Manner::Limited, Manner::Dropped] {
            assert_eq!(found(waits, 121, 499), 1, "{waits:?}");
        }
        assert_eq!(found(Manner::Patient, 120, 499), 0, "about the same time");
        assert_eq!(found(Manner::Patient, 200, 500), 0, "behind it");
        assert_eq!(found(Manner::Patient, 10, 300), 0, "it asked before");
        assert_eq!(found(Manner::Once, 200, 300), 0, "the other has no place");
    }

    #[test]
    fn whoever_gave_up_is_not_passed() {
        let story = |until: u64| {
            let gave_up = crate::history::Refusal::Held;
            let story = Story::new()
                .section("w0.0/0#1", |s| s.queued().asked(100).gave_up(until, gave_up))
                .section("w1.0/0#1", |s| s.queued().asked(200).granted(300, 1_400).released(305));
            let mut history = story.history();
            history.settings.in_order_ms = 20;
            check(&history).len()
        };
        assert_eq!(story(300), 0);
        assert_eq!(story(301), 1);
    }

    /// One that asks at 5 s is passed by one that asks half a second later.
    fn passed_in(story: Story) -> usize {
        let story = story
            .section("w0.0/0#1", |s| s.queued().asked(5_000).granted(6_000, 7_000).released(6_010))
            .section("w1.0/0#1", |s| s.queued().asked(5_500).granted(5_600, 6_600).released(5_605));
        let mut history = story.history();
        history.settings.in_order_ms = 250;
        check(&history).len()
    }

    #[test]
    fn where_faults_were_the_order_counts_once_all_is_calm() {
        let fault = || Event::FaultBegan { fault: "kill".into(), victims: Vec::new() };
        let calm_from = |at| passed_in(Story::new().and(100, fault()).calm_from(at));
        assert_eq!(passed_in(Story::new().calm_from(4_000)), 1, "there was no fault");
        assert_eq!(calm_from(3_000), 1);
        assert_eq!(calm_from(3_001), 0, "too early");
    }

    #[test]
    fn whose_process_stood_still_came_late_or_missed_its_turn() {
        assert_eq!(passed_in(Story::new().stalled(4_700, 4_800, "w0.0")), 0, "as it asked");
        assert_eq!(passed_in(Story::new().stalled(5_300, 5_599, "w0.0")), 0, "as it waited");
        assert_eq!(passed_in(Story::new().stalled(4_700, 5_599, "w1.0")), 1, "the other one");
        assert_eq!(passed_in(Story::new().stalled(5_600, 5_700, "w0.0")), 1, "later");
    }

    #[test]
    fn locks_without_a_queue_have_no_order() {
        let story = Story::new()
            .section("w0.0/0#1", |s| s.asked(100).granted(900, 1_500).released(910))
            .section("w1.0/0#1", |s| s.asked(500).granted(600, 1_400).released(605));
        let mut history = story.history();
        history.settings.in_order_ms = 20;
        assert_eq!(check(&history), []);
    }
}
