//! I2: fencing tokens are strictly increasing along the grants of a lock. A section that asked after
//! another was granted gets a greater one, and as long as leases hold, so does one that is granted
//! later. No two holds have the same, and all guards of one hold do.

use std::collections::HashMap;

use super::{Invariant, Violation, promise};
use crate::{
    history::{Event, History, Hold, Section},
    spans::Span,
    time::Time,
};

// proves: counter-rises
pub(super) fn check(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    for (lock, sections) in history.by_lock() {
        found.extend(sections.iter().filter_map(|section| changed(section)));
        if !are_void(history, &sections) {
            found.extend(disorder(history, lock, &sections));
        }
    }
    found
}

/// Whether the order could rightly fail: with clocks that were set *and* masters that forgot, a
/// client's clock is no floor any more. A lock on one master that forgot has no memory at all.
pub(crate) fn are_void(history: &History, sections: &[&Section]) -> bool {
    let happened =
        |wanted: fn(&Event) -> bool| history.records.iter().any(|record| wanted(&record.event));
    let forgot = happened(|event| matches!(event, Event::Forgot { .. }));
    let jumped = happened(|event| matches!(event, Event::ClockJumped { .. }));
    let settings = &history.settings;
    let is_kept_out = |section: &&Section| {
        section.kind.keeps_out(section.members(settings.masters), settings.quarantine_all)
    };
    forgot && (jumped || !sections.iter().all(is_kept_out))
}

/// A hold whose guards do not agree.
fn changed(section: &Section) -> Option<Violation> {
    let hold = section.hold.as_ref()?;
    let first = *hold.tokens.first()?;
    let other = hold.tokens.iter().find(|token| **token != first)?;
    let what = format!("{} has guards with the tokens {first} and {other}", section.id);
    Some(violation(&section.lock, Span::new(section.asked, section.end_of_use()), what))
}

/// Every hold whose token is not greater than all that must come before it.
fn disorder(history: &History, lock: &str, sections: &[&Section]) -> Vec<Violation> {
    let token = |hold: &Hold| hold.tokens.first().copied();
    let holds = sections.iter().filter_map(|section| {
        let hold = section.hold.as_ref()?;
        Some((hold.granted, token(hold)?, *section))
    });
    let mut holds: Vec<_> = holds.collect();
    holds.sort_by_key(|(granted, ..)| *granted);
    let run_is_sound = sections
        .first()
        .is_some_and(|first| !promise::is_void(history, first, history.weather.run));
    let forgot = history.records.iter().any(|record| matches!(record.event, Event::Forgot { .. }));
    let greatest = greatest_so_far(&holds);
    let mut first_with = HashMap::new();
    let mut found = Vec::new();
    for (index, hold @ (granted, token, section)) in holds.iter().enumerate() {
        // A clock that was set can only part a lesser token from its key while it is asked for.
        let asking = Span::new(section.asked, *granted);
        let sound = run_is_sound || !forgot && !promise::is_void(history, section, asking);
        // A worker that was stopped on the way may get a guard that is over, at any time after it
        // was granted.
        let sound = sound && section.hold.as_ref().is_some_and(|hold| hold.deadline > *granted);
        let asked_after = || holds.partition_point(|(at, ..)| *at <= section.asked).min(index);
        let before = if sound { index } else { asked_after() };
        let greatest = before.checked_sub(1).and_then(|last| greatest.get(last).copied());
        let twin = first_with.get(token).copied();
        first_with.entry(*token).or_insert(hold);
        if let Some((since, other, earlier)) =
            greatest.filter(|(_, other, _)| other >= token).or(twin)
        {
            found.push(out_of_order(lock, (*since, *other, earlier), (*granted, *token, section)));
        }
    }
    found
}

/// For each hold the one with the greatest token of it and all before.
fn greatest_so_far<'a, 'b>(holds: &'b [Granted<'a>]) -> Vec<&'b Granted<'a>> {
    let greater = |greatest: &mut Option<&'b Granted<'a>>, hold: &'b Granted<'a>| {
        let before = greatest.filter(|before| before.1 > hold.1);
        *greatest = Some(before.unwrap_or(hold));
        *greatest
    };
    holds.iter().scan(None, greater).collect()
}

/// When, the token, and the section that was granted it.
type Granted<'a> = (Time, u64, &'a Section);

fn out_of_order(
    lock: &str,
    first: (Time, u64, &Section),
    second: (Time, u64, &Section),
) -> Violation {
    let what = format!(
        "{} got the token {} after {} had got {}",
        second.2.id, second.1, first.2.id, first.1
    );
    violation(lock, Span::new(first.0, second.0), what)
}

fn violation(lock: &str, span: Span, what: String) -> Violation {
    Violation { invariant: Invariant::Tokens, lock: Some(lock.to_owned()), span, what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::story::Story;

    fn two(first: u64, second: u64) -> Story {
        Story::new()
            .section("w0.0/0#1", |s| s.asked(0).fenced(5, 900, first).released(50))
            .section("w1.0/0#1", |s| s.asked(10).fenced(60, 900, second).released(90))
    }

    #[test]
    fn tokens_that_grow_are_fine_and_others_are_found() {
        assert_eq!(check(&two(7, 8).history()), []);
        assert_eq!(check(&two(7, 7).history()).len(), 1);
        assert_eq!(check(&two(8, 7).history()).len(), 1);
    }

    #[test]
    fn where_leases_do_not_hold_only_the_order_of_asking_counts() {
        let jump = Event::ClockJumped { master: 0, by_ms: 3_000 };
        let asked_at = |asked, first, second| {
            let story = Story::new()
                .section("w0.0/0#1", |s| s.asked(0).fenced(5, 900, first).released(50))
                .section("w1.0/0#1", |s| s.asked(asked).fenced(60, 900, second).released(90));
            check(&story.and(30, jump.clone()).history()).len()
        };
        assert_eq!(asked_at(4, 8, 7), 0);
        assert_eq!(asked_at(6, 8, 7), 1);
        assert_eq!(asked_at(4, 7, 7), 1, "twins are never right");
        assert_eq!(check(&two(8, 7).and(70, jump).history()).len(), 1, "the jump came later");
    }

    /// The third asked after the first was granted, and before the second was.
    fn third(tokens: [u64; 3]) -> Story {
        let [first, second, third] = tokens;
        Story::new()
            .section("w0.0/0#1", |s| s.asked(0).fenced(5, 900, first).released(20))
            .section("w1.0/0#1", |s| s.asked(10).fenced(60, 900, second).released(80))
            .section("w2.0/0#1", |s| s.asked(30).fenced(90, 900, third).released(95))
    }

    #[test]
    fn the_greatest_token_of_all_before_is_what_counts() {
        let found = |tokens| {
            let found = check(&third(tokens).history()).into_iter();
            found.map(|violation| violation.what).collect::<Vec<_>>()
        };
        assert!(found([5, 10, 11]).is_empty());
        assert_eq!(found([10, 11, 5]), ["w2.0/0#1 got the token 5 after w1.0/0#1 had got 11"]);
        assert_eq!(found([10, 5, 7]).len(), 2, "the second is no excuse");
    }

    #[test]
    fn while_clocks_are_set_only_those_count_that_were_granted_before_the_question() {
        let jump = Event::ClockJumped { master: 0, by_ms: 3_000 };
        let found = |tokens| check(&third(tokens).and(40, jump.clone()).history());
        assert_eq!(found([5, 10, 7]), []);
        assert_eq!(found([5, 10, 4]).len(), 1);
        assert!(found([5, 10, 10])[0].what.contains("after w1.0/0#1"), "twins are never right");
    }

    #[test]
    fn a_guard_that_is_over_when_it_comes_was_granted_some_time_before() {
        let came = |asked| {
            let story = Story::new()
                .section("w0.0/0#1", |s| s.asked(10).fenced(60, 900, 8).released(90))
                .section("w1.0/0#1", |s| s.asked(asked).fenced(2_000, 0, 7).released(2_001));
            check(&story.history()).len()
        };
        assert_eq!([came(0), came(70)], [0, 1]);
    }

    #[test]
    fn a_guard_with_another_token_is_found() {
        let story = |token| {
            Story::new().section("w0.0/0#1", |s| {
                s.asked(0).fenced(5, 900, 7).reentered(6, token).released(50)
            })
        };
        assert_eq!(check(&story(7).history()), []);
        assert_eq!(check(&story(8).history()).len(), 1);
    }
}
