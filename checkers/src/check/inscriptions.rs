//! I17: a line that is written by a guarded script is written while its hold stands: never behind one of a later hold,
//! at most once, and exactly once where that was told. A line that was refused is nowhere.
//!
//! Later holds have greater tokens, which the second invariant judges.

use std::collections::BTreeMap;

use super::{Invariant, Violation};
use crate::{
    history::{Event, History, InscriptionAnswer, Record},
    spans::Span,
    time::Time,
};

pub(super) fn check(history: &History) -> Vec<Violation> {
    let sent = sent(&history.records);
    let mut found = Vec::new();
    for Record { at: end, event } in &history.records {
        if let Event::Inscriptions { lock, lines, .. } = event {
            let violation = |from: Time, what: String| Violation {
                invariant: Invariant::Guarded,
                lock: Some(lock.clone()),
                span: Span::new(from, *end),
                what,
            };
            let wrong = [out_of_order(lines, &sent), miscounted(lines, &sent)].concat();
            found.extend(wrong.into_iter().map(|(from, what)| violation(from, what)));
        }
    }
    found
}

/// A line, from when it was sent.
struct Line {
    at: Time,
    token: u64,
    answer: InscriptionAnswer,
}

fn sent(records: &[Record]) -> BTreeMap<&str, Line> {
    let mut all = BTreeMap::new();
    for Record { at, event } in records {
        match event {
            Event::Inscribing { token, line, .. } => {
                let answer = InscriptionAnswer::Unknown;
                all.insert(line.as_str(), Line { at: *at, token: *token, answer });
            }
            Event::Inscribed { line, answer, .. } => {
                if let Some(line) = all.get_mut(line.as_str()) {
                    line.answer = *answer;
                }
            }
            _ => {}
        }
    }
    all
}

/// What is wrong, and since when.
type Wrong = (Time, String);

/// Those that stand behind a line of a later hold.
fn out_of_order(lines: &[String], sent: &BTreeMap<&str, Line>) -> Vec<Wrong> {
    let mut newest: Option<(u64, &str)> = None;
    let mut wrong = Vec::new();
    for line in lines {
        let Some(Line { at, token, .. }) = sent.get(line.as_str()) else { continue };
        match newest {
            Some((token_before, before)) if *token < token_before => {
                wrong
                    .push((*at, format!("{line:?} was written behind {before:?} of a later hold")));
            }
            _ => newest = Some((*token, line)),
        }
    }
    wrong
}

/// Those that were written too often, or not.
fn miscounted(lines: &[String], sent: &BTreeMap<&str, Line>) -> Vec<Wrong> {
    let mut written = BTreeMap::<&str, usize>::new();
    for line in lines {
        *written.entry(line).or_default() += 1;
    }
    let mut wrong = Vec::new();
    for (line, Line { at, answer, .. }) in sent {
        match (answer, written.get(line).copied().unwrap_or(0)) {
            (_, 2..) => wrong.push((*at, format!("{line:?} was written twice"))),
            (InscriptionAnswer::Done, 0) => {
                wrong.push((*at, format!("{line:?} was written, and is not there")));
            }
            (InscriptionAnswer::Refused, 1) => {
                wrong.push((*at, format!("{line:?} was refused, and is there")));
            }
            _ => {}
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check::story::Story, history::SectionId};

    /// How many things are wrong where these lines of three holds are there in the end.
    fn wrong(lines: &[&str], answers: &[(&str, InscriptionAnswer)]) -> usize {
        let section: SectionId = "w0.0/0#1".parse().unwrap();
        let mut story = Story::new();
        for (token, line) in [(1, "a"), (2, "b"), (2, "c"), (3, "d")] {
            story = story.and(token * 100, Event::Inscribing { section, token, line: line.into() });
        }
        for (line, answer) in answers {
            let (line, answer) = ((*line).to_owned(), *answer);
            story = story.and(1_000, Event::Inscribed { section, line, answer });
        }
        let lines = lines.iter().map(|line| (*line).to_owned()).collect();
        let end = Event::Inscriptions { master: 0, lock: "red-a".into(), lines };
        check(&story.and(9_000, end).history()).len()
    }

    #[test]
    fn line_behind_one_of_a_later_hold_is_wrong() {
        for (lines, expected) in [
            (&["a", "b", "c", "d"][..], 0),
            (&["c", "b", "d"], 0),
            (&[], 0),
            (&["b", "a"], 1),
            (&["d", "a", "b"], 2),
            (&["b", "a", "c"], 1),
        ] {
            assert_eq!(wrong(lines, &[]), expected, "{lines:?}");
        }
    }

    #[test]
    fn line_is_there_as_often_as_was_told() {
        use InscriptionAnswer::{Done, Refused, Unknown};
        for (lines, answer, expected) in [
            (&["a"][..], Done, 0),
            (&[], Done, 1),
            (&["a", "a"], Done, 1),
            (&["a"], Refused, 1),
            (&[], Refused, 0),
            (&["a"], Unknown, 0),
            (&[], Unknown, 0),
            (&["a", "a"], Unknown, 1),
        ] {
            assert_eq!(wrong(lines, &[("a", answer)]), expected, "{lines:?} {answer:?}");
        }
    }
}
