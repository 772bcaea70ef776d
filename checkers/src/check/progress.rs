//! I7: once the faults are over, all that is asked for gets an answer, and every process that is
//! told to finish does.

use super::{Invariant, Violation};
use crate::{
    history::{Event, History, Worker},
    spans::Span,
};

// proves: wake-up-is-hint
pub(super) fn check(history: &History) -> Vec<Violation> {
    let hangs = history.records.iter().filter_map(|record| match record.event {
        Event::Hung { worker } => Some((record.at, worker)),
        _ => None,
    });
    let violation = |(at, worker)| Violation {
        invariant: Invariant::Progress,
        lock: None,
        span: Span::new(history.weather.calm.from, at),
        what: format!("{worker} hangs: {}", open_sections(history, worker)),
    };
    hangs.map(violation).collect()
}

fn open_sections(history: &History, worker: Worker) -> String {
    let of_worker = history.sections.iter().filter(|section| section.id.worker == worker);
    let open = of_worker.filter_map(|section| {
        let state = match (&section.hold, &section.gave_up) {
            (None, None) => "waits for",
            (Some(hold), _) if hold.releasing.is_none() => "holds",
            _ => return None,
        };
        Some(format!("{} {state} {}", section.id, section.lock))
    });
    open.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::story::Story;

    #[test]
    fn a_process_that_does_not_finish_is_found() {
        let worker = "w0.0".parse().unwrap();
        let story = Story::new().calm_from(500).section("w0.0/0#1", |s| s.asked(1_000));
        assert_eq!(check(&story.clone().history()), []);
        let found = check(&story.and(9_000, Event::Hung { worker }).history());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].what, "w0.0 hangs: w0.0/0#1 waits for red-a");
    }
}
