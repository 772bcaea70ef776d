//! Where nothing is done to servers and processes, a lock that is renewed is not lost: whatever its
//! holder does to its own runtime, renewals do not wait for that; and whatever rights are lost to the
//! keys of other locks.

use super::{
    Invariant, Violation,
    promise::{fell_with_master, is_void},
};
use crate::{
    history::{Event, History, Section},
    spans::Span,
};

// proves: ttl-not-shortened, no-forgetful-vote, three-answers
pub(crate) fn check(history: &History) -> Vec<Violation> {
    let mut records = history.records.iter();
    if !records.any(|record| record.event == Event::Undisturbed) {
        return Vec::new();
    }
    let renewed = history.sections.iter().filter(|section| section.renewed);
    renewed.filter_map(|section| lost(history, section)).collect()
}

fn lost(history: &History, section: &Section) -> Option<Violation> {
    let hold = section.hold.as_ref()?;
    let at = hold.lost.as_ref().map(|loss| loss.at).or(hold.withheld)?;
    let span = Span::new(hold.granted, at);
    let is_excused = history.weather.was_denied(&section.lock, span);
    // A replica that was promoted may show a holder of before, without having heard of its release. A
    // section that did not listen to its loss learns of it by its release.
    let told = hold.lost.as_ref().map(|loss| &loss.cause);
    let told = told.or(hold.released.as_ref().and_then(|(_, problem)| problem.as_ref()));
    let is_behind = history.settings.failover_ms > 0
        && told.is_some_and(|cause| cause.contains("another holds"));
    // What stands on one server falls with it, unless that keeps out of votes.
    let was_forgotten = is_void(history, section, span) || fell_with_master(history, section, span);
    (!is_excused && !is_behind && !was_forgotten).then(|| Violation {
        invariant: Invariant::Kept,
        lock: Some(section.lock.clone()),
        span,
        what: format!("{} lost a lock that was renewed, and nothing was broken", section.id),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        check::story::{Story, ms},
        history::Kind,
    };

    #[test]
    fn a_loss_without_a_fault_is_found() {
        let lost = || {
            Story::new().section("w0.0/0#1", |s| {
                s.asked(0).granted(5, 1_000).lost(900).releasing(905).released(910)
            })
        };
        assert_eq!(check(&lost().history()), []);
        assert_eq!(check(&lost().and(1, Event::Undisturbed).history()).len(), 1);
        let denied = |lock: &str| Event::Denied { lock: lock.into(), from: ms(300) };
        let refused = |lock| lost().and(1, Event::Undisturbed).and(600, denied(lock)).history();
        assert_eq!(check(&refused("red-a")), []);
        assert_eq!(check(&refused("red-b")).len(), 1, "of another lock");
        let kept = Story::new().section("w0.0/0#1", |s| s.asked(0).granted(5, 1_000).released(90));
        assert_eq!(check(&kept.and(1, Event::Undisturbed).history()), []);
    }

    #[test]
    fn replica_that_is_behind_may_show_another_to_those_who_listen_and_those_who_do_not() {
        let withheld = |behind: bool| {
            let story = Story::new()
                .section("w0.0/0#1", |s| s.asked(0).granted(5, 1_000))
                .and(1, Event::Undisturbed);
            let section = "w0.0/0#1".parse().unwrap();
            let problem =
                Some("x: the lock was lost: another holds it on n0 (holder y)".to_owned());
            let story = story
                .and(900, Event::Withheld { section })
                .and(905, Event::Releasing { section, deadline: ms(0) })
                .and(910, Event::Released { section, problem, still: 0 });
            let mut history = story.history();
            history.settings.failover_ms = if behind { 1_000 } else { 0 };
            check(&history).len()
        };
        assert_eq!((withheld(true), withheld(false)), (0, 1));
    }

    #[test]
    fn what_stands_on_one_server_alone_falls_when_that_is_restarted() {
        let lost = |kind: Kind, on: Option<usize>, restarted: usize| {
            let story = Story::new().section("w0.0/0#1", |s| {
                let s = if let Some(one) = on { s.on_one(one) } else { s };
                let s = s.of(kind).asked(0).granted(5, 1_000);
                s.lost(900).releasing(905).released(910)
            });
            let story = story.and(1, Event::Undisturbed).master_killed(700, 750, restarted);
            check(&story.history()).len()
        };
        assert_eq!(lost(Kind::MultiLock, Some(0), 0), 0);
        assert_eq!(lost(Kind::Lock, Some(0), 0), 0);
        assert_eq!(lost(Kind::MultiLock, Some(0), 1), 1, "another one");
        assert_eq!(lost(Kind::MultiLock, None, 0), 1, "the others know");
        assert_eq!(lost(Kind::RedLock, None, 0), 1);
    }
}
