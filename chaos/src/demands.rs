//! How much a run must have seen to mean something, by what its schedule deals. Pure.

use std::{ops::Range, time::Duration};

use crate::{
    check::coverage::Demands,
    faults::{Pace, Schedule, TABLE, stretches},
    history::{Event, History, Settings},
    traffic::Prizes,
};

/// Those of the run that `history` tells of.
pub(crate) fn demands(history: &History) -> Demands {
    let undisturbed = history.records.iter().any(|record| record.event == Event::Undisturbed);
    let settings = &history.settings;
    match settings.secs {
        0..LEAST_SECS => Demands::default(),
        _ if undisturbed => of_traffic(settings),
        _ => with_faults(settings),
    }
}

/// The stretches of a run that has several of them, from its beginning.
pub(crate) fn parts(settings: &Settings) -> Vec<Range<Duration>> {
    let all = stretches(length(settings));
    let parts = all.iter().filter(|_| all.len() > 1);
    parts.map(|stretch| stretch.begins..stretch.ends).collect()
}

fn of_traffic(settings: &Settings) -> Demands {
    let all = stretches(length(settings));
    Demands {
        grants: of_stretches(settings, all.iter().map(|stretch| grants(stretch.pace)).sum()),
        lively_parts: parts(settings).len() as u64 * 9 / 10,
        parts: parts(settings),
        grants_of_a_part: GRANTS_AT_LEAST,
        reentries: of_stretches(settings, REENTRIES * all.len() as u64),
        guarded_calls: of_stretches(settings, GUARDED_CALLS * all.len() as u64),
        uses: Prizes::Masters.uses().map(|what| (what, of_stretches(settings, USES))).collect(),
        ..Demands::default()
    }
}

/// Of a stretch, on average: half as many as a machine with two cores can do that builds something
/// all the time. Masters keep out of votes for half of a dense stretch.
const fn grants(pace: Pace) -> u64 {
    match pace {
        Pace::Dense => 1_500,
        Pace::Sparse => 3_000,
    }
}

fn with_faults(settings: &Settings) -> Demands {
    let all = stretches(length(settings));
    let dense = all.iter().filter(|stretch| stretch.pace == Pace::Dense).count();
    Demands { quorum_losses: dense as u64, faults: faults(settings), ..of_traffic(settings) }
}

/// A track carries out whatever is dealt, late if need be. So of a run of several stretches all is
/// demanded: less means that a track has come to its end early.
fn faults(settings: &Settings) -> Vec<(&'static str, u64)> {
    let run = length(settings);
    let workers = settings.workers as usize;
    let schedule = Schedule::draw(settings.seed, settings.masters, workers, run);
    let is_long = stretches(run).len() > 1;
    let wanted = TABLE.iter().map(|fault| {
        let dealt = schedule.count(fault);
        let enough = of_stretches(settings, fault.to.least_a_minute());
        (fault.name, if is_long { dealt } else { enough.min(dealt) })
    });
    wanted.collect()
}

fn length(settings: &Settings) -> Duration {
    Duration::from_secs(settings.secs)
}

/// The part of it that a run has time for which is shorter than a minute.
const fn of_stretches(settings: &Settings, whole: u64) -> u64 {
    if settings.secs < 60 { whole * settings.secs / 60 } else { whole }
}

/// A run of a few seconds need not have seen anything.
const LEAST_SECS: u64 = 20;
/// Of nine stretches in ten, since a machine that does too much else stands still now and then.
const GRANTS_AT_LEAST: u64 = 300;
/// Of a stretch.
const REENTRIES: u64 = 100;
/// Of a stretch.
const GUARDED_CALLS: u64 = 20;
/// Of each way, in the whole run.
const USES: u64 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        check::{
            coverage::{Shortfall, shortfalls},
            story::Story,
        },
        faults::Whom,
    };

    fn run(seed: u64, secs: u64) -> History {
        let mut history = Story::new().history();
        history.settings = Settings { seed, secs, masters: 3, workers: 6, ..history.settings };
        history
    }

    fn schedule(seed: u64, secs: u64) -> Schedule {
        Schedule::draw(seed, 3, 6, Duration::from_secs(secs))
    }

    #[test]
    fn a_minute_demands_three_of_each_fault_and_all_masters_killed_once() {
        for seed in 0..20 {
            let faults = TABLE.iter().map(|fault| match fault.to {
                Whom::EachAtLeisure => (fault.name, 1),
                _ => (fault.name, 3),
            });
            let expected = Demands {
                grants: 1_500,
                parts: Vec::new(),
                lively_parts: 0,
                grants_of_a_part: 300,
                reentries: 100,
                guarded_calls: 20,
                uses: demanded_uses(),
                quorum_losses: 1,
                faults: faults.collect(),
            };
            assert_eq!(demands(&run(seed, 60)), expected);
        }
    }

    fn demanded_uses() -> Vec<(String, u64)> {
        Prizes::Masters.uses().map(|what| (what, 3)).collect()
    }

    #[test]
    fn all_sides_are_demanded() {
        let uses: Vec<_> = Prizes::Masters.uses().collect();
        for what in [
            "rw-multi read",
            "rw-red downgraded",
            "rw-single written",
            "fair",
            "permits",
            "latches let through",
        ] {
            assert!(uses.iter().any(|known| known == what), "{what}");
        }
    }

    #[test]
    fn an_hour_demands_every_fault_that_is_dealt() {
        let demands = demands(&run(7, 3_600));
        let schedule = schedule(7, 3_600);
        let dealt = TABLE.iter().map(|fault| (fault.name, schedule.count(fault)));
        assert_eq!(demands.faults, dealt.collect::<Vec<_>>());
        assert_eq!(demands.faults.first(), Some(&("kill-at-leisure", 30)));
        assert!(demands.faults.iter().all(|(_, wanted)| *wanted >= 30));
        assert_eq!((demands.grants, demands.reentries), (135_000, 6_000));
        assert_eq!((demands.parts.len(), demands.lively_parts), (60, 54));
        assert_eq!(demands.quorum_losses, 30);
    }

    #[test]
    fn nothing_is_demanded_that_is_not_dealt() {
        for (seed, secs) in (0..10).flat_map(|seed| [20, 30, 59, 90, 119].map(|secs| (seed, secs)))
        {
            let schedule = schedule(seed, secs);
            for (fault, (name, wanted)) in TABLE.iter().zip(demands(&run(seed, secs)).faults) {
                assert!(wanted <= schedule.count(fault), "{name} in {secs} s of seed {seed}");
            }
        }
    }

    /// An hour in which all faults come that are dealt, but `lacking` once less.
    fn hour_without_one(lacking: &str) -> History {
        let came = TABLE.iter().flat_map(|fault| {
            let less = u64::from(fault.name == lacking);
            (less..schedule(7, 3_600).count(fault)).map(|_| fault.name.to_owned())
        });
        let story = came.fold(Story::new(), |story, fault| {
            story.and(1, Event::FaultBegan { fault, victims: Vec::new() })
        });
        let settings = run(7, 3_600).settings;
        History { settings, ..story.history() }
    }

    #[test]
    fn one_fault_that_did_not_come_in_an_hour_is_missed() {
        let missing = |lacking: &str| {
            let history = hour_without_one(lacking);
            let all = shortfalls(&history, &demands(&history)).into_iter();
            let faults = all.map(|Shortfall { what, .. }| what);
            faults.filter(|what| what.starts_with("faults")).collect::<Vec<_>>()
        };
        assert!(missing("none").is_empty());
        assert_eq!(missing("freeze"), ["faults \"freeze\""]);
        assert_eq!(missing("kill-at-leisure"), ["faults \"kill-at-leisure\""]);
    }

    #[test]
    fn a_few_seconds_demand_nothing_and_a_run_without_faults_no_faults() {
        assert_eq!(demands(&run(7, 19)), Demands::default());
        let mut history = Story::new().and(1, Event::Undisturbed).history();
        history.settings.secs = 60;
        let expected = Demands {
            grants: 1_500,
            grants_of_a_part: 300,
            reentries: 100,
            guarded_calls: 20,
            uses: demanded_uses(),
            ..Demands::default()
        };
        assert_eq!(demands(&history), expected);
    }
}
