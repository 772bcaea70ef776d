//! I9: whether a run has seen enough to mean something.

use std::time::Duration;

use super::reentry;
use crate::{
    history::{Event, History, Kind, Refusal},
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

/// What is missing of 1,500 grants and 100 re-entries in a minute, of so many faults of each of
/// `kinds` in a minute, and of a quorum that was lost. A run of a few seconds need not have seen anything.
pub fn shortfalls(history: &History, kinds: &[(&str, u64)]) -> Vec<Shortfall> {
    let secs = history.settings.secs;
    if secs < LEAST_SECS {
        return Vec::new();
    }
    let mut demands = vec![
        ("grants".to_owned(), grants(history), GRANTS_A_MINUTE * secs / 60),
        ("re-entries".to_owned(), reentry::reentries(history), REENTRIES_A_MINUTE * secs / 60),
        ("quorums lost and noticed".to_owned(), quorum_losses(history).noticed, 1),
    ];
    let possible = kinds.iter().filter(|(kind, _)| left_out(history, kind).is_none());
    let faults = possible.map(|(kind, a_minute)| {
        (format!("faults {kind:?}"), count_faults(history, kind), a_minute * secs / 60)
    });
    demands.extend(faults);
    let short = demands.into_iter().filter(|(_, seen, wanted)| seen < wanted);
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

const LEAST_SECS: u64 = 20;
/// Masters keep out of votes for half of a mixed minute, and a busy machine halves what is left.
const GRANTS_A_MINUTE: u64 = 1_500;
const REENTRIES_A_MINUTE: u64 = 100;
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

    #[test]
    fn a_part_of_a_minute_wants_its_part_of_the_grants() {
        let short = |grants: u64, secs| {
            let story = (0..grants).fold(Story::new(), |story, i| {
                story.section(&format!("w0.0/0#{i}"), |s| s.asked(0).granted(1, 2).released(2))
            });
            let mut history = story.history();
            history.settings.secs = secs;
            let short = shortfalls(&history, &[]).into_iter();
            short.map(|short| (short.what, short.wanted)).find(|(what, _)| what == "grants")
        };
        assert_eq!(short(750, 30), None);
        assert_eq!(short(749, 30), Some(("grants".into(), 750)));
        assert_eq!(short(0, 19), None);
    }

    #[test]
    fn a_minute_wants_re_entries_three_faults_of_each_kind_and_a_lost_quorum() {
        let mut history = with_faults(&["kill", "kill", "kill", "freeze"]).history();
        history.settings.secs = 60;
        let short = shortfalls(&history, &[("kill", 3), ("freeze", 3)]);
        let missing: Vec<_> = short.iter().map(|s| (s.what.as_str(), s.wanted)).collect();
        let expected = [
            ("grants", 1_500),
            ("re-entries", 100),
            ("quorums lost and noticed", 1),
            ("faults \"freeze\"", 3),
        ];
        assert_eq!(missing, expected);
        let why = "no compiler".to_owned();
        let left_out = with_faults(&[]).and(1, Event::LeftOut { fault: "kill".into(), why });
        let mut history = left_out.history();
        history.settings.secs = 60;
        let short = shortfalls(&history, &[("kill", 3)]);
        assert!(short.iter().all(|short| short.what != "faults \"kill\""));
    }
}
