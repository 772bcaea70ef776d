//! I1: the intervals `[acquire returned, min(release called, deadline)]` of different holders of a
//! lock never overlap, unless both share it. Locks that have some members in common are judged by each of
//! these.

use std::time::Duration;

use super::{Invariant, Violation, promise};
use crate::{
    history::{History, Section},
    spans::Span,
};

// proves: no-forgetful-vote, lost-at-deadline, fresh-holder, three-answers
pub(crate) fn check(history: &History) -> Vec<Violation> {
    let of_locks = history.by_lock().flat_map(|(lock, sections)| {
        overlaps(lock, &sections, history, |section, since| {
            promise::is_void(history, section, since)
        })
    });
    let of_keys = history.by_key().flat_map(|(key, sections)| {
        overlaps(&key.name, &sections, history, |_, since| {
            promise::is_void_at(history, key.master, since)
        })
    });
    of_locks.chain(of_keys).collect()
}

/// Every hold that begins before all earlier ones have ended that it must not meet.
fn overlaps(
    lock: &str,
    sections: &[&Section],
    history: &History,
    is_void: impl Fn(&Section, Span) -> bool,
) -> Vec<Violation> {
    let holds = sections.iter().flat_map(|section| parts(section));
    let mut holds: Vec<_> = holds.filter(|hold| !hold.span.is_empty()).collect();
    holds.sort_by_key(|hold| hold.span.from);
    let longest = history.settings.longest_lease();
    let mut found = Vec::new();
    // The last to end of those that share it, and of the others.
    let (mut sharing, mut alone): (Option<Part<'_>>, Option<Part<'_>>) = (None, None);
    for next in holds {
        let kept_out = if next.shared { None } else { sharing };
        for before in alone.into_iter().chain(kept_out) {
            // The second part of a hold stands as long as the first one does.
            let granted = [before, next].map(|part| part.section.granted_since(longest));
            let since = Span::new(granted[0].min(granted[1]), next.span.from);
            if next.span.from < before.span.to && !is_void(before.section, since) {
                found.push(overlap(lock, before, next));
            }
        }
        let latest = if next.shared { &mut sharing } else { &mut alone };
        if latest.is_none_or(|latest| next.span.to > latest.span.to) {
            *latest = Some(next);
        }
    }
    found
}

/// A hold, or what it is before or after it was downgraded.
#[derive(Clone, Copy)]
struct Part<'a> {
    span: Span,
    shared: bool,
    section: &'a Section,
}

fn parts(section: &Section) -> impl Iterator<Item = Part<'_>> {
    let part = |from, to, shared| Part { span: Span::new(from, to), shared, section };
    let all = section.validity();
    let shared_from = section.hold.as_ref().and_then(|hold| hold.shared_from);
    let (first, second) = match (all, shared_from) {
        (Some(all), Some(at)) if at < all.to => {
            (Some(part(all.from, at, section.shared)), Some(part(at, all.to, true)))
        }
        (all, _) => (all.map(|all| part(all.from, all.to, section.shared)), None),
    };
    first.into_iter().chain(second)
}

fn overlap(lock: &str, first: Part<'_>, second: Part<'_>) -> Violation {
    let both: Duration = first.span.common(second.span).length();
    Violation {
        invariant: Invariant::Exclusion,
        lock: Some(lock.to_owned()),
        span: first.span.around(second.span),
        what: format!(
            "{lock} was held by {} and by {} at once, for {both:?}",
            first.section.id, second.section.id
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check::story::Story, history::Event};

    #[test]
    fn holders_one_after_the_other_are_fine() {
        let history = Story::new()
            .section("w0.0/0#1", |s| s.asked(0).granted(5, 1_000).released(9))
            .section("w1.0/0#1", |s| s.asked(2).granted(9, 1_009).released(30))
            .section("w2.0/0#1", |s| s.asked(2).granted(30, 1_030).released(40))
            .history();
        assert_eq!(check(&history), []);
    }

    #[test]
    fn two_holders_at_once_are_found() {
        let history = Story::new()
            .section("w0.0/0#1", |s| s.asked(0).granted(5, 1_000).released(9))
            .section("w1.0/0#1", |s| s.asked(2).granted(8, 1_009).released(30))
            .history();
        let found = check(&history);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].what, "red-a was held by w0.0/0#1 and by w1.0/0#1 at once, for 1ms");
    }

    #[test]
    fn locks_with_a_member_in_common_are_judged_by_that() {
        let meet = |theirs: &str| {
            let story = Story::new()
                .section("w0.0/0#1", |s| s.parts("xy").asked(0).granted(5, 1_000).released(9))
                .section("w1.0/0#1", |s| s.parts(theirs).asked(0).granted(8, 1_009).released(30));
            check(&story.history()).len()
        };
        assert_eq!([meet("yz"), meet("z")], [1, 0]);
    }

    #[test]
    fn a_holder_inside_a_longer_hold_is_found_behind_another() {
        let history = Story::new()
            .section("w0.0/0#1", |s| s.asked(0).granted(0, 1_000).released(100))
            .section("w1.0/0#1", |s| s.asked(0).granted(10, 1_000).released(20))
            .section("w2.0/0#1", |s| s.asked(0).granted(50, 1_000).released(60))
            .history();
        assert_eq!(check(&history).len(), 2);
    }

    #[test]
    fn a_holder_that_slept_past_its_deadline_holds_no_more() {
        let history = Story::new()
            .section("w0.0/0#1", |s| s.asked(0).granted(5, 400).released(2_000))
            .section("w1.0/0#1", |s| s.asked(2).granted(400, 800).released(420))
            .history();
        assert_eq!(check(&history), []);
    }

    #[test]
    fn a_moved_deadline_prolongs_the_hold() {
        let history = Story::new()
            .section("w0.0/0#1", |s| s.asked(0).granted(5, 400).extended(300, 700).released(650))
            .section("w1.0/0#1", |s| s.asked(2).granted(500, 900).released(510))
            .history();
        assert_eq!(check(&history).len(), 1);
    }

    #[test]
    fn those_who_share_meet_each_other_and_nobody_else() {
        let reader = |id: &str, from: u64, to: u64| {
            Story::new().section(id, |s| s.shared().asked(0).granted(from, 1_000).released(to))
        };
        assert_eq!(check(&reader("w0.0/0#1", 5, 50).history()), []);
        let readers = || {
            reader("w0.0/0#1", 5, 50)
                .section("w1.0/0#1", |s| s.shared().asked(0).granted(10, 1_000).released(20))
        };
        assert_eq!(check(&readers().history()), []);
        let writer = |at: u64| {
            readers().section("w2.0/0#1", |s| s.asked(0).granted(at, 1_000).released(at + 5))
        };
        assert_eq!(check(&writer(30).history()).len(), 1);
        assert_eq!(check(&writer(50).history()), []);
        let within =
            writer(50).section("w3.0/0#1", |s| s.shared().asked(0).granted(52, 1_000).released(53));
        assert_eq!(check(&within.history()).len(), 1);
    }

    #[test]
    fn downgraded_one_meets_those_who_share_from_then_on_and_nobody_else() {
        let story = |reads: u64, writes: u64| {
            Story::new()
                .section("w0.0/0#1", |s| s.asked(0).granted(5, 1_000).downgrading(20).released(50))
                .section("w1.0/0#1", |s| s.shared().asked(0).granted(reads, 1_000).released(45))
                .section("w2.0/0#1", |s| s.asked(0).granted(writes, 1_000).released(60))
        };
        assert_eq!(check(&story(20, 50).history()), []);
        assert_eq!(check(&story(19, 50).history()).len(), 1);
        assert_eq!(check(&story(20, 49).history()).len(), 1);
    }

    #[test]
    fn what_excuses_a_hold_excuses_what_it_is_once_downgraded() {
        let met = |jumped: u64| {
            let story = Story::new()
                .section("w0.0/0#1", |s| {
                    s.asked(100).granted(105, 900).downgrading(400).released(500)
                })
                .section("w1.0/0#1", |s| s.asked(300).granted(301, 900).released(800));
            let jump = Event::ClockJumped { master: 0, by_ms: 3_000 };
            check(&story.and(jumped, jump).history()).len()
        };
        assert_eq!(met(200), 0);
        assert_eq!(met(50), 2, "before either");
    }

    #[test]
    fn a_killed_holder_holds_no_more() {
        let story = Story::new()
            .section("w0.0/0#1", |s| s.asked(0).granted(5, 1_000))
            .section("w1.0/0#1", |s| s.asked(2).granted(500, 1_500).released(510));
        assert_eq!(check(&story.clone().history()).len(), 1);
        assert_eq!(check(&story.killed(450, "w0.0").history()), []);
    }

    #[test]
    fn another_lock_is_another_matter() {
        let history = Story::new()
            .section("w0.0/0#1", |s| s.asked(0).granted(5, 1_000).released(100))
            .section("w1.0/0#1", |s| s.on("red-b").asked(2).granted(8, 1_009).released(30))
            .history();
        assert_eq!(check(&history), []);
    }
}
