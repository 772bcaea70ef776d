//! I8: the counts of re-entries balance. Guards come and go one at a time, what the library says of
//! them is what the holder counts, and the hold ends with the last: it is not entered any more, and
//! its release leaves no guard. What a release leaves on the servers is looked for by `leaks`; an
//! unlock too many cannot be written, since it uses its guard up.

use std::collections::BTreeMap;

use super::{Invariant, Violation};
use crate::{
    history::{Event, History, Record, SectionId, Worker, section_of},
    spans::Span,
};

// proves: fresh-holder
pub(crate) fn check(history: &History) -> Vec<Violation> {
    let mut counts = Counts::default();
    let mut found = Vec::new();
    for Record { at, event } in &history.records {
        for (id, what) in counts.replay(event) {
            let section = history.sections.iter().find(|section| section.id == id);
            found.push(Violation {
                invariant: Invariant::Reentry,
                lock: section.map(|section| section.lock.clone()),
                span: Span::new(section.map_or(*at, |section| section.asked), *at),
                what: format!("{id} {what}"),
            });
        }
    }
    found
}

/// How often a hold was entered again.
pub fn reentries(history: &History) -> u64 {
    let mut counts = Counts::default();
    for record in &history.records {
        counts.replay(&record.event);
    }
    counts.reentries
}

/// The holds as far as their records have been replayed.
#[derive(Default)]
struct Counts {
    holds: BTreeMap<SectionId, Count>,
    reentries: u64,
}

/// The guards of one hold.
struct Count {
    guards: u32,
    /// `lost()` has told of its end.
    lost: bool,
    /// The last guard is about to go, or has gone.
    leaving: bool,
}

impl Counts {
    /// What is wrong with an event, and in which section.
    fn replay(&mut self, event: &Event) -> Vec<(SectionId, String)> {
        match event {
            Event::WorkerEnded { worker, .. } => self.end(*worker),
            // The dead leave nothing, and are asked for nothing.
            Event::WorkerKilled { worker } => {
                self.holds.retain(|id, _| id.worker != *worker);
                Vec::new()
            }
            Event::Granted { section, .. } => {
                self.holds.insert(*section, Count { guards: 1, lost: false, leaving: false });
                Vec::new()
            }
            _ => {
                let hold = section_of(event).and_then(|id| Some((id, self.holds.get_mut(&id)?)));
                let Some((id, count)) = hold else { return Vec::new() };
                let before = count.guards;
                let problem = count.replay(event);
                self.reentries += u64::from(count.guards > before);
                problem.map(|what| (id, what)).into_iter().collect()
            }
        }
    }

    fn end(&self, worker: Worker) -> Vec<(SectionId, String)> {
        let open = self.holds.iter().filter(|(id, count)| id.worker == worker && !count.leaving);
        open.map(|(id, _)| (*id, "was never left".to_owned())).collect()
    }
}

impl Count {
    fn replay(&mut self, event: &Event) -> Option<String> {
        match event {
            Event::Counted { guards, told, .. } => self.counted(*guards, *told),
            Event::Lost { .. } => {
                self.lost = true;
                None
            }
            Event::Releasing { .. } => self.releasing(),
            Event::Released { still, .. } => (*still > 0).then(|| {
                format!("was left by all, and the library says that {still} guards hold it still")
            }),
            _ => None,
        }
    }

    fn counted(&mut self, guards: u32, told: Option<u32>) -> Option<String> {
        let before = std::mem::replace(&mut self.guards, guards);
        if self.leaving {
            return Some(format!("counts {guards} guards after the last one has left"));
        }
        if self.lost && guards > before {
            return Some("was entered again after it was lost".to_owned());
        }
        if guards == 0 || guards.abs_diff(before) != 1 {
            return Some(format!("counts {guards} guards right after {before}"));
        }
        let told = told.filter(|told| *told != guards)?;
        Some(format!("counts {guards} guards, and the library says {told}"))
    }

    fn releasing(&mut self) -> Option<String> {
        let before = std::mem::take(&mut self.guards);
        if std::mem::replace(&mut self.leaving, true) {
            return Some("was left once too often".to_owned());
        }
        (before != 1).then(|| format!("ends with {before} guards"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::story::{Story, Told};

    /// One section that was granted at 5, by a worker that ends as it should.
    fn story(tell: impl FnOnce(Told) -> Told) -> Story {
        let story = Story::new().section("w0.0/0#1", |s| tell(s.asked(0).granted(5, 1_000)));
        let worker = "w0.0".parse().unwrap();
        story.and(9_000, Event::WorkerEnded { worker, problem: None })
    }

    fn is_fine(tell: impl FnOnce(Told) -> Told) {
        assert_eq!(check(&story(tell).history()), []);
    }

    fn is_found(what: &str, tell: impl FnOnce(Told) -> Told) {
        let found = check(&story(tell).history()).into_iter().map(|violation| violation.what);
        assert_eq!(found.collect::<Vec<_>>(), [format!("w0.0/0#1 {what}")]);
    }

    #[test]
    fn counts_that_balance_are_fine() {
        is_fine(|s| s.released(90));
        is_fine(|s| s.counted(6, 2, None).counted(7, 1, Some(1)).released(90));
        is_fine(|s| {
            let s = s.counted(6, 2, None).counted(7, 3, None).counted(8, 2, Some(2));
            s.counted(9, 3, None).counted(10, 2, None).counted(11, 1, Some(1)).released(90)
        });
        is_fine(|s| s.counted(6, 2, None).lost(7).counted(8, 1, None).released(90));
        is_fine(|s| s.counted(6, 2, None).counted(7, 1, Some(1)).orphaned(8));
    }

    #[test]
    fn a_guard_too_many_or_too_few_is_found() {
        is_found("counts 3 guards right after 1", |s| {
            s.counted(6, 3, None).counted(7, 2, None).counted(8, 1, None).released(90)
        });
        is_found("counts 2 guards right after 2", |s| {
            s.counted(6, 2, None).counted(7, 2, None).counted(8, 1, None).released(90)
        });
        is_found("ends with 2 guards", |s| s.counted(6, 2, None).released(90));
        is_found("counts 0 guards right after 1", |s| {
            s.counted(6, 0, None).counted(7, 1, None).released(90)
        });
    }

    #[test]
    fn another_count_of_the_librarys_is_found() {
        is_found("counts 2 guards, and the library says 1", |s| {
            let s = s.counted(6, 2, None).counted(7, 3, None).counted(8, 2, Some(1));
            s.counted(9, 1, Some(1)).released(90)
        });
        is_found("counts 1 guards, and the library says 0", |s| {
            s.counted(6, 2, None).counted(7, 1, Some(0)).released(90)
        });
        is_found("was left by all, and the library says that 1 guards hold it still", |s| {
            s.counted(6, 2, None).counted(7, 1, Some(1)).releasing(90).still_held(91, 1)
        });
    }

    #[test]
    fn whoever_enters_what_is_over_is_found() {
        is_found("counts 2 guards after the last one has left", |s| {
            s.released(6).counted(7, 2, None)
        });
        is_found("was entered again after it was lost", |s| {
            s.lost(6).counted(7, 2, None).counted(8, 1, None).released(90)
        });
        is_found("was left once too often", |s| s.released(6).releasing(7));
    }

    #[test]
    fn what_is_never_left_is_found_but_not_of_the_dead() {
        let twice = |s: Told| s.counted(6, 2, None);
        is_found("was never left", twice);
        assert_eq!(check(&story(twice).killed(7, "w0.0").history()), []);
    }

    #[test]
    fn re_entries_are_counted() {
        let story = story(|s| {
            s.counted(6, 2, None).counted(7, 1, None).counted(8, 2, None).counted(9, 3, None)
        });
        assert_eq!(reentries(&story.history()), 3);
    }
}
