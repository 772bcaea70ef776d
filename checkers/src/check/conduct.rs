//! The workers ended as they should, and met only errors that the faults explain.

use super::{Invariant, Violation};
use crate::{
    history::{Event, History, Record, Refusal, SectionId},
    spans::Span,
};

// proves: mark-adds-waiting, three-answers
pub(crate) fn check(history: &History) -> Vec<Violation> {
    let odd = |record: &Record| {
        let problem = problem(&record.event).or_else(|| outage_of_nothing(history, &record.event));
        Some((record.at, problem?))
    };
    let violation = |(at, what)| Violation {
        invariant: Invariant::Conduct,
        lock: None,
        span: Span::new(at, at),
        what,
    };
    history.records.iter().filter_map(odd).map(violation).collect()
}

fn problem(event: &Event) -> Option<String> {
    match event {
        Event::WorkerEnded { worker, problem: Some(problem) } => {
            Some(format!("{worker} {problem}"))
        }
        // Every master is up then, so every release must have come to its end.
        Event::ShutDown { worker, unfinished } if *unfinished > 0 => {
            Some(format!("{worker} shut down with {unfinished} releases unconfirmed"))
        }
        Event::Waits { master, for_nothing: true } => {
            Some(format!("master {master} has lost nothing and was told to wait"))
        }
        Event::Trespassed { master, lock } => {
            Some(format!("{lock} was asked for on master {master} as a user whose it is not"))
        }
        Event::GaveUp { section, why: Refusal::Unexpected(error) } => {
            Some(format!("{section} was refused: {error}"))
        }
        _ => None,
    }
}

/// An outage where every server can be reached: a socket that was closed while nothing was said on it is
/// none, nor are rights to another lock.
fn outage_of_nothing(history: &History, event: &Event) -> Option<String> {
    match event {
        Event::GaveUp { section, why: Refusal::Outage(error) }
            if history.settings.near && !was_denied(history, *section) =>
        {
            Some(format!("{section} was refused though all servers can be reached: {error}"))
        }
        _ => None,
    }
}

fn was_denied(history: &History, id: SectionId) -> bool {
    let section = history.sections.iter().find(|section| section.id == id);
    section.is_some_and(|section| history.weather.was_denied(&section.lock, section.wait()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::story::{Story, ms};

    #[test]
    fn outage_where_all_can_be_reached_is_found() {
        let outage = Refusal::Outage("broken".into());
        let story = Story::new().section("w0.0/0#2", |s| s.asked(6).gave_up(7, outage));
        let mut history = story.clone().history();
        assert_eq!(check(&history), []);
        history.settings.near = true;
        assert_eq!(check(&history).len(), 1);
        let denied = |lock: &str| Event::Denied { lock: lock.into(), from: ms(0) };
        for (lock, violations) in [("red-a", 0), ("red-b", 1)] {
            let mut history = story.clone().and(20, denied(lock)).history();
            history.settings.near = true;
            assert_eq!(check(&history).len(), violations, "{lock}");
        }
    }

    #[test]
    fn what_faults_explain_is_fine() {
        let worker = "w0.0".parse().unwrap();
        let history = Story::new()
            .section("w0.0/0#1", |s| s.asked(0).gave_up(5, Refusal::Held))
            .section("w0.0/0#2", |s| s.asked(6).gave_up(7, Refusal::Outage("frozen".into())))
            .and(8, Event::ShutDown { worker, unfinished: 0 })
            .and(9, Event::WorkerEnded { worker, problem: None })
            .history();
        assert_eq!(check(&history), []);
    }

    #[test]
    fn crashes_odd_errors_and_unfinished_releases_are_found() {
        let worker = "w0.0".parse().unwrap();
        let history = Story::new()
            .section("w0.0/0#1", |s| s.asked(0).gave_up(5, Refusal::Unexpected("odd".into())))
            .and(8, Event::ShutDown { worker, unfinished: 2 })
            .and(9, Event::WorkerEnded { worker, problem: Some("crashed".into()) })
            .history();
        let found: Vec<_> = check(&history).into_iter().map(|violation| violation.what).collect();
        let unconfirmed = "w0.0 shut down with 2 releases unconfirmed";
        assert_eq!(found, ["w0.0/0#1 was refused: odd", unconfirmed, "w0.0 crashed"]);
    }

    #[test]
    fn what_is_said_as_the_wrong_user_is_found() {
        let trespassed = Event::Trespassed { master: 1, lock: "red-a".into() };
        let found = check(&Story::new().and(5, trespassed).history());
        let found: Vec<_> = found.into_iter().map(|found| found.what).collect();
        assert_eq!(found, ["red-a was asked for on master 1 as a user whose it is not"]);
    }

    #[test]
    fn a_wait_without_a_loss_is_found() {
        let waits = |for_nothing| Event::Waits { master: 1, for_nothing };
        let history = Story::new().and(5, waits(false)).and(9, waits(true)).history();
        let found: Vec<_> = check(&history).into_iter().map(|found| found.what).collect();
        assert_eq!(found, ["master 1 has lost nothing and was told to wait"]);
    }
}
