//! I16: a process that follows an election is never shown an older term after a newer one, nor of one term an older
//! announcement after a newer one, and nothing that was not announced in that term. In the end it is shown that none
//! leads.
//!
//! The lock decides which candidate leads, and the first invariants judge that.

use std::collections::BTreeMap;

use super::{Invariant, Violation};
use crate::{
    history::{Event, History, Record, Worker},
    spans::Span,
    time::Time,
};

pub(super) fn check(history: &History) -> Vec<Violation> {
    let announced = announced(&history.records);
    let mut found = Vec::new();
    for ((worker, lock), shown) in shown(&history.records) {
        let mut newest: Option<(u64, Option<u32>, Time)> = None;
        for sight in &shown {
            let Some(token) = sight.token else { continue };
            let number = match sight.value {
                None => None,
                Some(value) => match announced.get(&(token, value)) {
                    Some(number) => Some(*number),
                    None => {
                        let what =
                            format!("{value:?} of term {token}, which did not announce that");
                        found.push(violation(worker, lock, sight.at, sight.at, &what));
                        continue;
                    }
                },
            };
            if let Some((token_before, number_before, at)) = newest
                && (token, number) < (token_before, number_before)
            {
                let what =
                    format!("term {token} ({number:?}) after {token_before} ({number_before:?})");
                found.push(violation(worker, lock, at, sight.at, &what));
                continue;
            }
            newest = Some((token, number, sight.at));
        }
        if let Some(last) = shown.last().filter(|last| last.token.is_some() || last.is_stale)
            && ended_well(&history.records, worker)
        {
            let what = "that one leads, or nothing new, when all had ended";
            found.push(violation(worker, lock, last.at, last.at, what));
        }
    }
    found
}

/// What a process was shown.
struct Sight<'a> {
    at: Time,
    token: Option<u64>,
    value: Option<&'a str>,
    is_stale: bool,
}

fn shown(records: &[Record]) -> BTreeMap<(Worker, &str), Vec<Sight<'_>>> {
    let mut all = BTreeMap::<_, Vec<_>>::new();
    for Record { at, event } in records {
        if let Event::Shown { worker, lock, token, value, stale } = event {
            let sight = Sight { at: *at, token: *token, value: value.as_deref(), is_stale: *stale };
            all.entry((*worker, lock.as_str())).or_default().push(sight);
        }
    }
    all
}

/// The texts that were announced, by term, and in which order.
fn announced(records: &[Record]) -> BTreeMap<(u64, &str), u32> {
    let mut all = BTreeMap::new();
    for record in records {
        if let Event::Proclaiming { token, text, number, .. } = &record.event {
            all.insert((*token, text.as_str()), *number);
        }
    }
    all
}

/// One that was killed, or hangs, was shown no more at some time.
fn ended_well(records: &[Record], worker: Worker) -> bool {
    let ends = |event: &Event| matches!(event, Event::WorkerEnded { worker: ended, .. } if *ended == worker);
    records.iter().any(|record| ends(&record.event))
}

fn violation(worker: Worker, lock: &str, from: Time, to: Time, what: &str) -> Violation {
    Violation {
        invariant: Invariant::Elections,
        lock: Some(lock.to_owned()),
        span: Span::new(from, to),
        what: format!("{worker} was shown {what}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check::story::Story, history::SectionId};

    fn worker() -> Worker {
        "w1.0".parse().unwrap()
    }

    fn proclaiming(token: u64, number: u32) -> Event {
        let section: SectionId = "w0.0/0#1".parse().unwrap();
        Event::Proclaiming { section, token, number, text: format!("{token}.{number}") }
    }

    fn shown(token: Option<u64>, value: Option<&str>) -> Event {
        let (lock, value) = ("red".to_owned(), value.map(str::to_owned));
        Event::Shown { worker: worker(), lock, token, value, stale: false }
    }

    /// What was shown after two terms of two announcements each, and whether that is wrong.
    fn wrong(sights: &[(Option<u64>, Option<&str>)]) -> usize {
        let mut story = Story::new();
        for (at, (token, number)) in [(7, 1), (7, 2), (9, 1), (9, 2)].into_iter().enumerate() {
            story = story.and(10 + at as u64, proclaiming(token, number));
        }
        for (at, (token, value)) in sights.iter().enumerate() {
            story = story.and(100 + at as u64, shown(*token, *value));
        }
        check(&story.history()).len()
    }

    #[test]
    fn terms_and_announcements_grow_and_may_be_left_out() {
        for sights in [
            &[][..],
            &[(None, None)],
            &[(Some(7), None), (Some(7), Some("7.1")), (Some(7), Some("7.2")), (None, None)],
            &[(Some(7), Some("7.2")), (None, None), (Some(9), None), (Some(9), Some("9.2"))],
            &[(Some(7), None), (None, None), (Some(7), Some("7.1"))],
            // No announcement of it is known: it may have been elected and said nothing yet.
            &[(Some(8), None)],
        ] {
            assert_eq!(wrong(sights), 0, "{sights:?}");
        }
        for sights in [
            &[(Some(9), None), (Some(7), None)][..],
            &[(Some(9), None), (None, None), (Some(7), None)],
            &[(Some(7), Some("7.2")), (Some(7), Some("7.1"))],
            &[(Some(7), Some("7.2")), (Some(7), None)],
            &[(Some(9), Some("7.1"))],
            &[(Some(8), Some("8.1"))],
        ] {
            assert_eq!(wrong(sights), 1, "{sights:?}");
        }
    }

    #[test]
    fn in_the_end_none_leads() {
        let ended = Event::WorkerEnded { worker: worker(), problem: None };
        let story = |last: Event| {
            let story = Story::new().and(10, proclaiming(7, 1)).and(20, shown(Some(7), None));
            check(&story.and(30, last).and(40, ended.clone()).history()).len()
        };
        assert_eq!(story(shown(None, None)), 0);
        assert_eq!(story(shown(Some(7), Some("7.1"))), 1);
        let stale = Event::Shown {
            worker: worker(),
            lock: "red".into(),
            token: None,
            value: None,
            stale: true,
        };
        assert_eq!(story(stale), 1);
    }
}
