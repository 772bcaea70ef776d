//! I9: whether a run has seen enough to mean something.

use std::{collections::BTreeMap, ops::Range, time::Duration};

use super::{guarded_calls, reentry};
use crate::{
    history::{Event, History, Kind, LatchAnswer, LatchStep, Refusal},
    spans::{Span, Spans},
    time::Time,
};

/// What there was too little of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortfall {
    pub what: String,
    pub seen: u64,
    pub wanted: u64,
}

/// How much a run must have seen of what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Demands {
    pub grants: u64,
    /// Of the run, from its beginning; none: the run is not divided.
    pub parts: Vec<Range<Duration>>,
    /// How many of them are lively: they have so many grants.
    pub lively_parts: u64,
    pub grants_of_a_part: u64,
    pub reentries: u64,
    /// That were executed.
    pub guarded_calls: u64,
    /// How often each lock was held, as [`uses`] names them.
    pub uses: Vec<(String, u64)>,
    /// That a worker has felt.
    pub quorum_losses: u64,
    /// By kind.
    pub faults: Vec<(&'static str, u64)>,
}

/// What is missing of `demands`.
pub fn shortfalls(history: &History, demands: &Demands) -> Vec<Shortfall> {
    let of_a_part = demands.grants_of_a_part;
    let by_part = grants_by_part(history, &demands.parts);
    let lively = by_part.iter().filter(|grants| **grants >= of_a_part).count() as u64;
    let mut seen = vec![
        ("grants".to_owned(), grants(history), demands.grants),
        (format!("parts with {of_a_part} grants"), lively, demands.lively_parts),
        ("re-entries".to_owned(), reentry::reentries(history), demands.reentries),
        ("guarded calls".to_owned(), guarded_calls::executed(history), demands.guarded_calls),
        (
            "quorums lost and noticed".to_owned(),
            quorum_losses(history).noticed,
            demands.quorum_losses,
        ),
    ];
    let uses = uses(history);
    seen.extend(demands.uses.iter().map(|(what, wanted)| {
        (format!("holds of {what:?}"), uses.get(what).copied().unwrap_or(0), *wanted)
    }));
    let possible = demands.faults.iter().filter(|(kind, _)| left_out(history, kind).is_none());
    seen.extend(
        possible.map(|(kind, wanted)| {
            (format!("faults {kind:?}"), count_faults(history, kind), *wanted)
        }),
    );
    let short = seen.into_iter().filter(|(_, seen, wanted)| seen < wanted);
    short.map(|(what, seen, wanted)| Shortfall { what, seen, wanted }).collect()
}

/// How often a majority was down, and how often a worker has felt it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuorumLosses {
    pub happened: u64,
    pub noticed: u64,
}

pub fn quorum_losses(history: &History) -> QuorumLosses {
    let run: Spans = [history.weather.run].into_iter().collect();
    let losses = run.without(&history.weather.healthy(Kind::RedLock));
    let felt: Vec<_> = felt(history).collect();
    let noticed = |loss: &Span| felt.iter().any(|at| loss.from <= *at && *at < loss.to + ECHO);
    QuorumLosses {
        happened: losses.iter().count() as u64,
        noticed: losses.iter().filter(noticed).count() as u64,
    }
}

pub fn grants(history: &History) -> u64 {
    history.sections.iter().filter(|section| section.hold.is_some()).count() as u64
}

/// How often each lock was held; of one with readers, how often it was read, written, and read on after
/// that; and of latches, how often one counted down, and let a waiter through.
pub fn uses(history: &History) -> BTreeMap<String, u64> {
    let mut uses = BTreeMap::new();
    for (lock, sections) in history.by_lock() {
        let has_sides = sections.iter().any(|section| section.shared && section.share.is_none());
        let held = sections.iter().filter_map(|section| Some((section, section.hold.as_ref()?)));
        for (section, hold) in held {
            let way = match hold.shared_from {
                _ if !has_sides => "",
                Some(_) => " downgraded",
                None if section.shared => " read",
                None => " written",
            };
            *uses.entry(format!("{lock}{way}")).or_default() += 1;
        }
    }
    for used in history.by_latch().values().flatten() {
        let way = match (used.step, used.ended) {
            (LatchStep::CountDown, Some((_, LatchAnswer::Done))) => "counted down",
            // What was let through at once may not have waited.
            (LatchStep::Wait, Some((at, LatchAnswer::Done))) if at.since(used.began) > AT_ONCE => {
                "let through"
            }
            _ => continue,
        };
        *uses.entry(format!("latches {way}")).or_default() += 1;
    }
    uses
}

/// How many grants fell into each of `parts`.
pub fn grants_by_part(history: &History, parts: &[Range<Duration>]) -> Vec<u64> {
    let began = history.weather.run.from;
    let holds = history.sections.iter().filter_map(|section| section.hold.as_ref());
    let granted: Vec<_> = holds.map(|hold| hold.granted.since(began)).collect();
    let count = |part: &Range<Duration>| granted.iter().filter(|at| part.contains(at)).count();
    parts.iter().map(|part| count(part) as u64).collect()
}

pub fn count_faults(history: &History, kind: &str) -> u64 {
    let of_kind = |event: &Event| matches!(event, Event::FaultBegan { fault, .. } if fault == kind);
    history.records.iter().filter(|record| of_kind(&record.event)).count() as u64
}

/// Why this machine could not have such faults, if so.
pub fn left_out<'a>(history: &'a History, kind: &str) -> Option<&'a str> {
    history.records.iter().find_map(|record| match &record.event {
        Event::LeftOut { fault, why } if fault == kind => Some(why.as_str()),
        _ => None,
    })
}

/// When a `RedLock` was refused for want of a quorum, or lost.
fn felt(history: &History) -> impl Iterator<Item = Time> + '_ {
    let red = history.sections.iter().filter(|section| section.kind == Kind::RedLock);
    red.filter_map(|section| match (&section.gave_up, &section.hold) {
        (Some((at, Refusal::Outage(_))), _) => Some(*at),
        (_, Some(hold)) => hold.lost.as_ref().map(|loss| loss.at),
        _ => None,
    })
}

/// Longer than a look at a latch takes.
const AT_ONCE: Duration = Duration::from_millis(20);
/// An attempt that began while the quorum was away may end a little after it is back.
const ECHO: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::story::Story;

    fn with_faults(kinds: &[&str]) -> Story {
        kinds.iter().fold(Story::new(), |story, kind| {
            let (fault, victims) = ((*kind).to_owned(), Vec::new());
            story.and(1, Event::FaultBegan { fault, victims })
        })
    }

    #[test]
    fn faults_are_counted_by_kind() {
        let history = with_faults(&["kill", "freeze", "kill"]).history();
        assert_eq!(count_faults(&history, "kill"), 2);
        assert_eq!(count_faults(&history, "flood"), 0);
    }

    #[test]
    fn a_lost_quorum_counts_when_a_worker_felt_it() {
        let story = Story::new()
            .master_down(1_000, 3_000, 0)
            .master_down(1_500, 2_500, 2)
            .master_down(5_000, 7_000, 0)
            .master_down(5_500, 6_500, 1)
            .section("w0.0/0#1", |s| s.asked(1_600).gave_up(1_700, Refusal::Outage("no".into())))
            .section("w0.0/0#2", |s| s.asked(4_600).gave_up(4_700, Refusal::Outage("no".into())));
        let losses = |story: Story| quorum_losses(&story.history());
        assert_eq!(losses(story.clone()), QuorumLosses { happened: 2, noticed: 1 });
        let story = story.section("w0.0/0#3", |s| s.asked(5_000).granted(5_001, 5_700).lost(5_700));
        assert_eq!(losses(story), QuorumLosses { happened: 2, noticed: 2 });
    }

    fn missing(story: &Story, demands: &Demands) -> Vec<(String, u64, u64)> {
        let short = shortfalls(&story.clone().history(), demands).into_iter();
        short.map(|short| (short.what, short.seen, short.wanted)).collect()
    }

    /// So many grants, each in its own second.
    fn with_grants(seconds: &[u64]) -> Story {
        seconds.iter().fold(Story::new(), |story, second| {
            let granted = second * 1_000 + 500;
            story.section(&format!("w0.0/0#{second}"), |s| {
                s.asked(granted - 1).granted(granted, granted + 2).released(granted + 1)
            })
        })
    }

    #[test]
    fn what_is_demanded_and_missing_is_told() {
        let story = with_faults(&["kill", "kill", "kill", "freeze"]);
        let faults = vec![("kill", 3), ("freeze", 3)];
        let demands =
            Demands { grants: 9, reentries: 2, quorum_losses: 1, faults, ..Demands::default() };
        let expected = [
            ("grants".to_owned(), 0, 9),
            ("re-entries".to_owned(), 0, 2),
            ("quorums lost and noticed".to_owned(), 0, 1),
            ("faults \"freeze\"".to_owned(), 1, 3),
        ];
        assert_eq!(missing(&story, &demands), expected);
        assert_eq!(missing(&story, &Demands::default()), []);
    }

    #[test]
    fn holds_are_counted_by_what_was_done_with_the_lock() {
        let story = with_grants(&[1])
            .section("w1.0/0#1", |s| s.on("rw").shared().asked(0).granted(5, 90).released(9))
            .section("w1.0/0#2", |s| s.on("rw").asked(10).granted(15, 90).released(19))
            .section("w1.0/0#3", |s| s.on("rw").asked(20).granted(25, 90).downgrading(27))
            .section("w1.0/0#4", |s| s.on("permits").of_permits(1, 2).asked(30).granted(31, 90))
            .section("w1.0/0#5", |s| s.on("rw").asked(40));
        let uses = uses(&story.clone().history());
        let uses: Vec<_> = uses.iter().map(|(what, count)| (what.as_str(), *count)).collect();
        let expected = ["permits", "red-a", "rw downgraded", "rw read", "rw written"];
        assert_eq!(uses, expected.map(|what| (what, 1)));
        let demands = Demands { uses: vec![("rw read".into(), 2)], ..Demands::default() };
        assert_eq!(missing(&story, &demands), [("holds of \"rw read\"".to_owned(), 1, 2)]);
    }

    #[test]
    fn what_the_machine_cannot_do_is_not_demanded() {
        let demands = Demands { faults: vec![("kill", 3)], ..Demands::default() };
        assert_eq!(missing(&Story::new(), &demands).len(), 1);
        let why = "no compiler".to_owned();
        let left_out = Story::new().and(1, Event::LeftOut { fault: "kill".into(), why });
        assert_eq!(missing(&left_out, &demands), []);
    }

    #[test]
    fn many_grants_in_one_part_do_not_make_up_for_few_in_another() {
        let part = |from, to| Duration::from_secs(from)..Duration::from_secs(to);
        let parts = vec![part(0, 5), part(5, 10), part(10, 15)];
        let demands = Demands {
            grants: 5,
            parts,
            lively_parts: 2,
            grants_of_a_part: 2,
            ..Demands::default()
        };
        assert_eq!(missing(&with_grants(&[1, 2, 6, 12, 13]), &demands), []);
        let uneven = with_grants(&[1, 2, 3, 4, 6, 12]);
        let expected = [("parts with 2 grants".to_owned(), 1, 2)];
        assert_eq!(missing(&uneven, &demands), expected);
    }
}
