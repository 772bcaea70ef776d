//! I5: `lost()` resolves no later than the deadline, give or take the time in which the worker did
//! not run; and at once when a server says that a key of a lock that needs all of them is gone.

use std::time::Duration;

use super::{Invariant, Violation};
use crate::{
    history::{Event, History, Kind, Section},
    spans::Span,
    time::Time,
};

// proves: no-answer-no-movement, lost-at-deadline, lost-not-healed
pub(crate) fn check(history: &History) -> Vec<Violation> {
    let late = history.sections.iter().filter_map(|section| {
        let (span, lateness) = unawareness(history, section)?;
        (lateness > history.settings.slack()).then(|| unaware(section, span, lateness))
    });
    let deaf = history.sections.iter().filter_map(|section| deaf(history, section));
    let unheard = history.sections.iter().filter_map(|section| unheard(history, section));
    late.chain(deaf).chain(unheard).collect()
}

/// A hold that goes on although a server that it needs came back without it.
fn unheard(history: &History, section: &Section) -> Option<Violation> {
    let limit = Duration::from_millis(history.settings.news_ms);
    if limit.is_zero() || outlives_restarts(history, section) || section.careless {
        return None;
    }
    let held = section.validity()?;
    let is_on = |master: usize| section.on.is_empty() || section.on.contains(&master);
    let mut back = history.records.iter().filter_map(|record| match record.event {
        Event::Forgot { master }
            if is_on(master) && record.at >= held.from && record.at < held.to =>
        {
            let is_up = |event: &Event| *event == Event::MasterUp { master };
            let later = history.records.iter().filter(|later| later.at > record.at);
            later.filter(|later| is_up(&later.event)).map(|later| later.at).next()
        }
        _ => None,
    });
    let span = Span::new(back.next()?, held.to);
    (span.length() > limit).then(|| Violation {
        invariant: Invariant::Detection,
        lock: Some(section.lock.clone()),
        span,
        what: format!(
            "{} went on for {:?} after its server was back without it",
            section.id,
            span.length()
        ),
    })
}

/// A hold that goes on although the process was told that it is no more.
fn deaf(history: &History, section: &Section) -> Option<Violation> {
    if section.kind == Kind::RedLock || section.careless {
        return None;
    }
    let hold = section.hold.as_ref()?;
    let told = hold.told_gone?;
    if outlives_restarts(history, section) && was_restarted(history, section, hold.granted, told) {
        return None;
    }
    let span = Span::new(told, section.end_of_use());
    let asleep = history.weather.asleep(section.id.worker).within(span);
    let lateness = span.length().saturating_sub(asleep);
    (lateness > history.settings.slack()).then(|| Violation {
        invariant: Invariant::Detection,
        lock: Some(section.lock.clone()),
        span,
        what: format!("{} went on for {lateness:?} after it was told of its loss", section.id),
    })
}

/// Whether it is written again where a server forgot it that votes for no other meanwhile.
fn outlives_restarts(history: &History, section: &Section) -> bool {
    let settings = &history.settings;
    let members = section.members(settings.masters);
    settings.quarantine_ms > 0 && section.kind.keeps_out(members, settings.quarantine_all)
}

/// Whether one of its servers was down meanwhile.
fn was_restarted(history: &History, section: &Section, from: Time, to: Time) -> bool {
    let is_on = |master: usize| section.on.is_empty() || section.on.contains(&master);
    let masters = history.weather.masters().iter().enumerate();
    let mut those = masters.filter(|(master, _)| is_on(*master));
    those.any(|(_, outages)| outages.killed.iter().any(|down| down.overlaps(Span::new(from, to))))
}

/// How long after the deadline each loss was noticed that was noticed at all; zero: before it.
pub fn lateness(history: &History) -> Vec<Duration> {
    let lost = |section: &&Section| section.hold.as_ref().is_some_and(|hold| hold.lost.is_some());
    let lost = history.sections.iter().filter(lost);
    lost.filter_map(|section| Some(unawareness(history, section)?.1)).collect()
}

/// From the deadline to the notice, or to the end of the section, and how much of it counts.
fn unawareness(history: &History, section: &Section) -> Option<(Span, Duration)> {
    // A section that does not listen is told nothing.
    let hold = section.hold.as_ref().filter(|hold| !section.careless || hold.lost.is_some())?;
    if hold.renewed_untold {
        return None;
    }
    // A worker that was stopped on the way may get a guard that is lost: it cannot have been told
    // before.
    let span = Span::new(hold.deadline.max(hold.granted), section.end_of_use());
    let asleep = history.weather.asleep(section.id.worker).within(span);
    Some((span, span.length().saturating_sub(asleep)))
}

fn unaware(section: &Section, span: Span, lateness: Duration) -> Violation {
    let noticed = section.hold.as_ref().is_some_and(|hold| hold.lost.is_some());
    let how = if noticed { "noticed its loss" } else { "was used" };
    Violation {
        invariant: Invariant::Detection,
        lock: Some(section.lock.clone()),
        span: span.around(Span::new(section.asked.max(span.from - CONTEXT), span.to)),
        what: format!("{} {how} {lateness:?} after its deadline", section.id),
    }
}

/// How much of the time before is of interest.
const CONTEXT: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::story::Story;

    fn noticed_at(at: u64) -> Story {
        Story::new().section("w0.0/0#1", |s| s.asked(0).granted(5, 1_000).lost(at).releasing(at))
    }

    #[test]
    fn a_guard_that_is_lost_already_is_told_of_at_once_or_too_late() {
        let noticed_at = |at| {
            let lost = Story::new().section("w0.0/0#1", |s| s.asked(0).granted(2_000, 0).lost(at));
            check(&lost.history()).len()
        };
        assert_eq!([noticed_at(2_001), noticed_at(2_300)], [0, 1]);
    }

    /// It is renewed where that is confirmed, and tells until when once it is done.
    #[test]
    fn of_a_hold_that_is_lost_while_it_is_downgraded_the_end_is_not_known() {
        let late = |told: bool| {
            let story = Story::new().section("w0.0/0#1", |s| {
                let s = s.asked(0).granted(5, 1_000).downgrading(900);
                let s = if told { s.extended(950, 1_000) } else { s };
                s.lost(1_300).releasing(1_300)
            });
            check(&story.history()).len()
        };
        assert_eq!([late(false), late(true)], [0, 1]);
    }

    #[test]
    fn whoever_was_killed_may_not_have_run_since_its_last_pulse() {
        let worker = "w0.0".parse().unwrap();
        let story = |pulse| {
            Story::new()
                .section("w0.0/0#1", |s| s.asked(0).granted(5, 1_000))
                .and(pulse, Event::Pulse { worker })
                .killed(5_000, "w0.0")
        };
        assert_eq!(check(&story(900).history()), []);
        assert_eq!(check(&story(2_000).history()).len(), 1);
    }

    #[test]
    fn a_loss_noticed_in_time_is_fine() {
        for at in [400, 1_000, 1_200] {
            assert_eq!(check(&noticed_at(at).history()), []);
        }
        assert_eq!(lateness(&noticed_at(1_200).history()), [Duration::from_millis(200)]);
        assert_eq!(lateness(&noticed_at(700).history()), [Duration::ZERO]);
    }

    #[test]
    fn a_loss_noticed_late_is_found() {
        let found = check(&noticed_at(1_300).history());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].what, "w0.0/0#1 noticed its loss 300ms after its deadline");
    }

    #[test]
    fn a_loss_never_noticed_is_found() {
        let story = Story::new()
            .section("w0.0/0#1", |s| s.asked(0).granted(5, 1_000).releasing(1_400))
            .section("w0.0/0#2", |s| s.asked(2_000).granted(2_005, 3_000));
        assert_eq!(check(&story.clone().history()).len(), 2);
        assert_eq!(check(&story.killed(3_100, "w0.0").history()).len(), 1);
    }

    #[test]
    fn a_holder_that_ignores_what_it_is_told_is_found() {
        let story = |kind| {
            Story::new().section("w0.0/0#1", |s| {
                s.of(kind).asked(0).granted(5, 1_000).told_gone(100).released(600)
            })
        };
        assert_eq!(check(&story(Kind::MultiLock).history()).len(), 1);
        assert_eq!(check(&story(Kind::RedLock).history()), []);
        assert_eq!(check(&story(Kind::Lock).stopped(90, 590, "w0.0").history()), []);
    }

    #[test]
    fn a_process_that_does_not_run_notices_nothing() {
        let story = noticed_at(3_100);
        assert_eq!(check(&story.clone().stopped(900, 3_000, "w0.0").history()), []);
        assert_eq!(check(&story.clone().stopped(900, 2_000, "w0.0").history()).len(), 1);
        let both = story.stopped(900, 2_000, "w0.0").stalled(1_990, 3_000, "w0.0");
        assert_eq!(check(&both.history()), []);
    }
}
