//! I17: a guarded call is executed while its hold stands on the server that executes it, and never behind one of a later
//! hold.
//!
//! Each call looks for the hold once more, leaves what it saw on the server, and is told what those before it have left. So
//! it also shows calls that were executed without an answer.
//!
//! What a server forgets costs it calls and holds alike, and what a replica has is what its master had at some moment. Calls
//! that stand together are therefore of holds that came one after the other in one memory. There a hold that was granted
//! before another was asked for is over once that one calls. So the order holds whichever masters come, go and forget.

use std::collections::{BTreeMap, BTreeSet};

use super::{Invariant, Violation};
use crate::{
    history::{Event, History, Record, Section, SectionId},
    spans::Span,
    time::Time,
};

pub(super) fn check(history: &History) -> Vec<Violation> {
    let sections: BTreeMap<_, _> = history.sections.iter().map(|one| (one.id, one)).collect();
    let mut found = Vec::new();
    for Record { at, event } in &history.records {
        let Event::CalledGuarded { calls, .. } = event else { continue };
        for (caller, _) in calls.iter().filter(|(_, stands)| !stands) {
            let what = format!("a call of {caller} was executed where its hold did not stand");
            found.push(violation(&sections, *caller, *at, what));
        }
        let order: Vec<_> = calls.iter().map(|(caller, _)| *caller).collect();
        found.extend(passed(&sections, &order).map(|(late, next)| {
            let what = format!("a call of {late} was executed behind one of {next}, a later hold");
            violation(&sections, late, *at, what)
        }));
    }
    // Each call is seen by the next ones, too.
    let mut known = BTreeSet::new();
    found.retain(|violation| known.insert(violation.what.clone()));
    found
}

/// How many calls were executed, as far as it was told.
pub fn executed(history: &History) -> u64 {
    let is_call = |event: &Event| matches!(event, Event::CalledGuarded { .. });
    history.records.iter().filter(|record| is_call(&record.event)).count() as u64
}

/// Each of `order` that stands behind one of a later hold, and that one.
fn passed<'a>(
    sections: &'a BTreeMap<SectionId, &Section>,
    order: &'a [SectionId],
) -> impl Iterator<Item = (SectionId, SectionId)> + 'a {
    let is_later = |late: &SectionId, next: &SectionId| {
        let granted =
            sections.get(late).and_then(|late| late.hold.as_ref()).map(|hold| hold.granted);
        let asked = sections.get(next).map(|next| next.asked);
        granted.zip(asked).is_some_and(|(granted, asked)| granted < asked)
    };
    order.iter().enumerate().filter_map(move |(before, late)| {
        let next = order.iter().take(before).find(|next| is_later(late, next))?;
        Some((*late, *next))
    })
}

fn violation(
    sections: &BTreeMap<SectionId, &Section>,
    caller: SectionId,
    at: Time,
    what: String,
) -> Violation {
    let section = sections.get(&caller);
    let from = section.and_then(|section| section.hold.as_ref()).map_or(at, |hold| hold.granted);
    Violation {
        invariant: Invariant::Guarded,
        lock: section.map(|section| section.lock.clone()),
        span: Span::new(from.min(at), at),
        what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::story::Story;

    const FIRST: &str = "w0.0/0#1";
    const SECOND: &str = "w1.0/0#1";
    const MEANWHILE: &str = "w2.0/0#1";

    /// What is wrong with these calls, in the order in which a server executed them. Two held the lock one after the other,
    /// and between them another that asked before the first was granted. Each is seen by itself and by those behind it.
    fn wrong(calls: &[(&str, bool)]) -> Vec<String> {
        let mut story = Story::new()
            .section(FIRST, |s| s.on_one(1).asked(0).granted(10, 500).released(300))
            .section(MEANWHILE, |s| s.on_one(1).asked(5).granted(310, 800).released(400))
            .section(SECOND, |s| s.on_one(1).asked(100).granted(410, 900).released(600));
        let calls: Vec<_> = calls.iter().map(|(name, stands)| (id(name), *stands)).collect();
        for so_far in 1..=calls.len() {
            let calls: Vec<_> = calls.iter().copied().take(so_far).collect();
            let section = calls.last().map_or_else(|| id(FIRST), |(section, _)| *section);
            story = story.and(700, Event::CalledGuarded { section, calls });
        }
        check(&story.history()).into_iter().map(|violation| violation.what).collect()
    }

    fn id(name: &str) -> SectionId {
        name.parse().unwrap()
    }

    #[test]
    fn call_without_its_hold_is_wrong() {
        assert_eq!(wrong(&[(FIRST, true), (SECOND, true)]), Vec::<String>::new());
        let expected = [format!("a call of {FIRST} was executed where its hold did not stand")];
        assert_eq!(wrong(&[(FIRST, false)]), expected);
        assert_eq!(wrong(&[(FIRST, true), (FIRST, false), (SECOND, true)]), expected);
    }

    #[test]
    fn call_behind_one_of_a_later_hold_is_wrong() {
        for in_order in [
            &[FIRST, FIRST, SECOND][..],
            &[FIRST, MEANWHILE, SECOND],
            // Which of these was granted first is not known.
            &[MEANWHILE, FIRST],
            &["w9.0/0#1", FIRST],
        ] {
            let calls: Vec<_> = in_order.iter().map(|name| (*name, true)).collect();
            assert_eq!(wrong(&calls), Vec::<String>::new(), "{in_order:?}");
        }
        let late = format!("a call of {FIRST} was executed behind one of {SECOND}, a later hold");
        for out_of_order in [&[SECOND, FIRST][..], &[FIRST, SECOND, MEANWHILE, FIRST, SECOND]] {
            let calls: Vec<_> = out_of_order.iter().map(|name| (*name, true)).collect();
            assert!(wrong(&calls).contains(&late), "{out_of_order:?}");
        }
    }

    #[test]
    fn call_that_only_others_tell_of_is_found_once() {
        let late = vec![(id(SECOND), true), (id(FIRST), true), (id(SECOND), true)];
        let told = Event::CalledGuarded { section: id(SECOND), calls: late };
        let story = Story::new()
            .section(FIRST, |s| s.on_one(1).asked(0).granted(10, 500).released(300))
            .section(SECOND, |s| s.on_one(1).asked(100).granted(410, 900).released(600));
        let found = check(&story.and(500, told.clone()).and(501, told).history());
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn calls_are_counted() {
        let call = Event::CalledGuarded { section: id(FIRST), calls: vec![(id(FIRST), true)] };
        assert_eq!(executed(&Story::new().and(1, call.clone()).and(2, call).history()), 2);
    }
}
