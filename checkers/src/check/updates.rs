//! I3, and without fencing tokens only as far as it goes: a write of the witness made within a hold is
//! never lost.
//!
//! Every value of the witness names its writer, so a write says which write it replaces. Writes
//! within holds must form one chain. A write that landed after its deadline (its process was
//! stopped between the check and the write) may overwrite anything; only a store that checks
//! tokens could refuse it. So a chain may go on from such a write too, and they are counted.

use std::{collections::HashMap, time::Duration};

use super::{Invariant, Violation, promise, tokens};
use crate::{
    history::{History, Section, SectionId, Write},
    spans::Span,
    time::Time,
};

/// A write that was begun, and what is known of its end.
struct Update<'a> {
    section: &'a Section,
    write: Write,
    /// When it had landed at the latest.
    landed: Time,
    /// Whether it is known to have landed within the hold.
    in_time: bool,
}

// proves: counter-rises
pub(crate) fn check(history: &History) -> Vec<Violation> {
    let of_lock = |(lock, sections): (&str, Vec<&Section>)| {
        let fenced = sections.iter().all(|section| is_fenced(section))
            && !tokens::are_void(history, &sections);
        // Where holders could rightly overlap, so can their writes.
        let void = |(section, span): &(&Section, Span)| {
            !fenced && promise::is_void(history, section, *span)
        };
        let updates = updates(&sections);
        let breaks = breaks(lock, &updates, history.settings.longest_lease()).into_iter();
        breaks.filter(|(both, _)| !void(both)).map(|(_, found)| found).collect::<Vec<_>>()
    };
    history.by_lock().flat_map(of_lock).collect()
}

/// The writes that are known to have landed after their deadline.
pub fn late_writes(history: &History) -> impl Iterator<Item = &Section> {
    let late = |section: &&Section| {
        let hold = section.hold.as_ref();
        hold.is_some_and(|hold| hold.write.is_some_and(|write| write.landed > Some(hold.deadline)))
    };
    history.sections.iter().filter(late)
}

fn is_fenced(section: &Section) -> bool {
    section.hold.as_ref().is_none_or(|hold| !hold.tokens.is_empty())
}

fn token(section: &Section) -> Option<u64> {
    section.hold.as_ref()?.tokens.first().copied()
}

/// In the order in which they landed.
fn updates<'a>(sections: &[&'a Section]) -> Vec<Update<'a>> {
    let updates = sections.iter().filter_map(|section| {
        let hold = section.hold.as_ref()?;
        let write = hold.write?;
        // A writer that was killed before it could tell may have written until then.
        let landed = write.landed.unwrap_or(section.over);
        // A store that looks at tokens has let it through: it was in time, whatever the clock says.
        let fenced = !hold.tokens.is_empty();
        let in_time = write.landed.is_some_and(|landed| fenced || landed <= hold.deadline);
        Some(Update { section, write, landed, in_time })
    });
    let mut updates: Vec<_> = updates.collect();
    // Where tokens are looked at, their order is that of the writes: a process may be stopped before
    // it can tell that its own has landed.
    updates.sort_by_key(|update| (token(update.section), update.landed));
    updates
}

/// Every write within a hold that does not go on from the one before it; with the time from when the
/// first of the two was granted the lock at the earliest until the second had written.
fn breaks<'a>(
    lock: &str,
    updates: &[Update<'a>],
    longest_lease: Duration,
) -> Vec<((&'a Section, Span), Violation)> {
    let known: HashMap<_, _> = updates.iter().map(|update| (update.section.id, update)).collect();
    let excused = |read: Option<SectionId>| {
        let writer = read.and_then(|id| known.get(&id));
        writer.is_some_and(|update| !update.in_time)
    };
    let mut found = Vec::new();
    let mut last: Option<&Update<'a>> = None;
    for update in updates.iter().filter(|update| update.in_time) {
        let before = last.map(|last| last.section.id);
        if update.write.read != before && !excused(update.write.read) {
            let since = |section: &Section| section.granted_since(longest_lease);
            let before = last.map_or(update.landed, |last| since(last.section));
            let both = Span::new(before.min(since(update.section)), update.landed);
            found.push(((update.section, both), broken(lock, last, update)));
        }
        last = Some(update);
    }
    found
}

fn broken(lock: &str, last: Option<&Update<'_>>, update: &Update<'_>) -> Violation {
    let name = |id: Option<SectionId>| id.map_or("nobody".to_owned(), |id| id.to_string());
    let own = Span::new(update.write.began, update.landed);
    let before = last.map_or(own, |last| Span::new(last.write.began, last.landed));
    Violation {
        invariant: Invariant::NoLostUpdate,
        lock: Some(lock.to_owned()),
        span: before.around(own),
        what: format!(
            "the witness of {lock}: {} replaced the value of {}, the last one was that of {}",
            update.section.id,
            name(update.write.read),
            name(last.map(|last| last.section.id)),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check::story::Story, history::Event};

    #[test]
    fn a_chain_of_writes_is_fine() {
        let history = Story::new()
            .section("w0.0/0#1", |s| s.asked(0).granted(5, 1_000).wrote(8, "").released(9))
            .section("w1.0/0#1", |s| {
                s.asked(2).granted(9, 1_009).wrote(12, "w0.0/0#1").released(30)
            })
            .history();
        assert_eq!(check(&history), []);
        assert_eq!(late_writes(&history).count(), 0);
    }

    #[test]
    fn two_writes_over_the_same_value_lose_one() {
        let history = Story::new()
            .section("w0.0/0#1", |s| s.asked(0).granted(5, 1_000).wrote(8, "").released(9))
            .section("w1.0/0#1", |s| {
                s.asked(2).granted(9, 1_009).wrote(15, "w0.0/0#1").released(30)
            })
            .section("w2.0/0#1", |s| {
                s.asked(2).granted(9, 1_009).wrote(16, "w0.0/0#1").released(30)
            })
            .history();
        let found = check(&history);
        assert_eq!(found.len(), 1);
        let what = "the witness of red-a: w2.0/0#1 replaced the value of w0.0/0#1, \
                    the last one was that of w1.0/0#1";
        assert_eq!(found[0].what, what);
    }

    #[test]
    fn a_clock_that_was_set_excuses_what_was_lost_around_it() {
        let lost = || {
            Story::new()
                .section("w0.0/0#1", |s| {
                    s.asked(100).granted(105, 900).wrote(115, "").released(130)
                })
                .section("w1.0/0#1", |s| {
                    s.asked(102).granted(109, 900).wrote(116, "").released(130)
                })
        };
        let found = |at| {
            let jump = Event::ClockJumped { master: 0, by_ms: 3_000 };
            check(&lost().and(at, jump).history()).len()
        };
        assert_eq!([found(50), found(107), found(200)], [1, 0, 1]);
    }

    #[test]
    fn a_value_that_came_from_nowhere_is_found() {
        let history = Story::new()
            .section("w0.0/0#1", |s| s.asked(0).granted(5, 1_000).wrote(8, "w9.9/0#1").released(9))
            .history();
        assert_eq!(check(&history).len(), 1);
    }

    #[test]
    fn a_late_write_may_overwrite_and_is_counted() {
        let history = Story::new()
            .section("w0.0/0#1", |s| s.asked(0).granted(5, 400).wrote(2_000, "").released(2_001))
            .section("w1.0/0#1", |s| s.asked(2).granted(500, 900).wrote(510, "").released(511))
            .section("w2.0/0#1", |s| {
                s.asked(2).granted(2_100, 2_500).wrote(2_110, "w0.0/0#1").released(2_111)
            })
            .history();
        assert_eq!(check(&history), []);
        let late: Vec<_> = late_writes(&history).map(|section| section.id.to_string()).collect();
        assert_eq!(late, ["w0.0/0#1"]);
    }

    #[test]
    fn a_store_that_looks_at_tokens_lets_nothing_be_lost() {
        let story = |read: &str| {
            Story::new()
                .section("w0.0/0#1", |s| {
                    s.asked(0).fenced(5, 400, 1).wrote(2_000, "").released(2_001)
                })
                .section("w1.0/0#1", |s| s.asked(2).fenced(500, 2_900, 2).wrote(2_010, read))
        };
        assert_eq!(check(&story("w0.0/0#1").history()), []);
        assert_eq!(check(&story("").history()).len(), 1);
    }

    #[test]
    fn what_a_killed_writer_wrote_may_be_built_upon_or_not_be_there() {
        let told = |read: &str| {
            Story::new()
                .section("w0.0/0#1", |s| s.asked(0).granted(5, 1_000).writing(8, ""))
                .killed(10, "w0.0")
                .section("w1.0/0#1", |s| s.asked(2).granted(1_100, 2_000).wrote(1_110, read))
                .history()
        };
        assert_eq!(check(&told("w0.0/0#1")), []);
        assert_eq!(check(&told("")), []);
    }
}
