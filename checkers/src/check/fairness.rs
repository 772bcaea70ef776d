//! I10: one process does not keep a lock to itself while another has a waiter.
//!
//! Locks pass from user to user inside a process without a word to the servers, for a while. So there is
//! a bound for how long the sections of one process may follow each other while a patient one of
//! another, which is looked after, gets none.

use std::time::Duration;

use super::{Invariant, Violation};
use crate::{
    history::{History, Section, Worker},
    spans::{Span, Spans},
    time::Time,
};

pub(crate) fn check(history: &History) -> Vec<Violation> {
    let bound = Duration::from_millis(history.settings.fair_ms);
    if bound.is_zero() {
        return Vec::new();
    }
    let unfair = history.by_lock().flat_map(|(_, sections)| {
        let grants = grants(&sections);
        let longest = sections.iter().flat_map(|section| {
            let waits = looked_after(section, &sections).iter().collect::<Vec<_>>();
            waits.into_iter().map(|wait| (*section, longest_run(section, wait, &grants)))
        });
        longest.filter(|(_, run)| run.length() > bound).map(unfair).collect::<Vec<_>>()
    });
    unfair.collect()
}

/// When there is a waiter that can be served: not behind one of its process that is not looked
/// after.
fn looked_after(section: &Section, sections: &[&Section]) -> Spans {
    let of_worker = sections.iter().filter(|other| other.id.worker == section.id.worker);
    let parked: Spans = of_worker.flat_map(|other| other.parked.iter().copied()).collect();
    Spans::from_iter([section.wait()]).without(&parked)
}

/// Which worker was granted the lock, and when, in the order of time.
fn grants(sections: &[&Section]) -> Vec<(Time, Worker)> {
    let granted = |section: &&Section| Some((section.hold.as_ref()?.granted, section.id.worker));
    let mut grants: Vec<_> = sections.iter().filter_map(granted).collect();
    grants.sort_unstable_by_key(|(at, _)| *at);
    grants
}

/// From the first to the last grant of one other process in a row, within a wait of a section.
fn longest_run(section: &Section, wait: Span, grants: &[(Time, Worker)]) -> Span {
    let within = |at: Time| wait.from <= at && at < wait.to;
    let during: Vec<_> = grants.iter().filter(|(at, _)| within(*at)).collect();
    let runs = during.chunk_by(|one, other| one.1 == other.1);
    let of_others = runs.filter(|run| run.iter().all(|(_, worker)| *worker != section.id.worker));
    let spans = of_others.filter_map(|run| Some(Span::new(run.first()?.0, run.last()?.0)));
    spans.max_by_key(|span| span.length()).unwrap_or(Span::new(wait.from, wait.from))
}

fn unfair((section, run): (&Section, Span)) -> Violation {
    Violation {
        invariant: Invariant::Fairness,
        lock: Some(section.lock.clone()),
        span: run,
        what: format!(
            "{} waited while another process had {} again and again for {:?}",
            section.id,
            section.lock,
            run.length()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        check::story::{Story, ms},
        history::Event,
    };

    /// A waiter waits from 0 to 900 ms, while these are granted the lock at these times.
    fn found(grants: &[(&str, u64)]) -> usize {
        found_in(Story::new(), grants)
    }

    fn found_in(story: Story, grants: &[(&str, u64)]) -> usize {
        let mut story = story.section("w0.0/0#1", |s| s.asked(0).granted(900, 1_900).released(950));
        for (number, (worker, at)) in grants.iter().enumerate() {
            let id = format!("{worker}/0#{}", number + 1);
            story = story.section(&id, |s| s.asked(1).granted(*at, at + 50).released(at + 10));
        }
        let mut history = story.history();
        history.settings.fair_ms = 100;
        check(&history).len()
    }

    #[test]
    fn process_that_is_granted_the_lock_for_too_long_is_found() {
        assert_eq!(found(&[("w1.0", 10), ("w1.0", 100), ("w1.0", 110)]), 0);
        assert_eq!(found(&[("w1.0", 10), ("w1.0", 100), ("w1.0", 111)]), 1);
        assert_eq!(found(&[("w1.0", 10), ("w2.0", 60), ("w1.0", 111)]), 0, "others had it");
        assert_eq!(found(&[("w0.0", 10), ("w0.0", 500)]), 0, "its own process");
        assert_eq!(found(&[("w1.0", 800), ("w1.0", 1_000)]), 0, "not while it waits");
    }

    #[test]
    fn nobody_is_served_behind_one_who_is_not_looked_after() {
        let parked = |worker: &str| {
            let section = format!("{worker}/1#1").parse().expect("a name");
            Story::new()
                .section(&format!("{worker}/1#1"), |s| s.asked(0))
                .and(700, Event::Parked { section, from: ms(50) })
        };
        let grants = [("w1.0", 10), ("w1.0", 400), ("w1.0", 790)];
        assert_eq!(found_in(parked("w0.0"), &grants), 0);
        assert_eq!(found_in(parked("w3.0"), &grants), 1, "of another process");
    }
}
