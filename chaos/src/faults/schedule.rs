//! Which fault comes when and to whom, by the seed. Pure.
//!
//! Three tracks run side by side: what is done to the masters' processes, to their service and the
//! way to it, and to the workers. Within a track one fault is over before the next begins. A track
//! deals from a shuffled deck of all its faults, so that each comes equally often.
//!
//! So faults of the first two come in pairs, on different masters as far as there are any.

use std::time::Duration;

use super::{Fault, TABLE, Whom, dealer::Dealer, planned::Planned};
use crate::random::Random;

/// Everything that is going to be done in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Schedule {
    pub(crate) processes: Vec<Planned>,
    pub(crate) service: Vec<Planned>,
    pub(crate) workers: Vec<Planned>,
}

impl Schedule {
    /// For a run whose last fault is over at `end`.
    pub(crate) fn draw(seed: u64, masters: usize, workers: usize, end: Duration) -> Self {
        let deck = |dealt: fn(&Fault) -> bool| TABLE.iter().filter(|fault| dealt(fault)).collect();
        let track = |number, deck, population, beside: &[Planned]| {
            let random = Random::branch(seed, &[u32::MAX, number]);
            Dealer { random, deck, masters, population, beside: beside.to_vec() }
        };
        let of_worker = |fault: &Fault| fault.to == Whom::Worker;
        let of_process = |fault: &Fault| fault.to != Whom::Worker && fault.does.strikes_process();
        let of_service = |fault: &Fault| fault.to != Whom::Worker && !fault.does.strikes_process();
        let processes = track(0, deck(of_process), masters, &[]).deal(WARM_UP, end);
        let mut leisure =
            processes.iter().filter(|planned| planned.fault.to == Whom::EachAtLeisure);
        // Nothing else may strike while one master is killed after the other.
        let begin = leisure.next().map_or(WARM_UP, Planned::ends);
        Self {
            service: track(2, deck(of_service), masters, &processes).deal(begin, end),
            workers: track(1, deck(of_worker), workers, &[]).deal(WARM_UP, end),
            processes,
        }
    }
}

/// Before the first fault.
const WARM_UP: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);
    const CALM: Duration = Duration::from_secs(8);

    fn minute(seed: u64, masters: usize) -> Schedule {
        Schedule::draw(seed, masters, 6, MINUTE - CALM)
    }

    fn tracks(schedule: &Schedule) -> [&[Planned]; 3] {
        [&schedule.processes, &schedule.service, &schedule.workers]
    }

    #[test]
    fn a_seed_fixes_the_schedule() {
        assert_eq!(minute(7, 3), minute(7, 3));
        assert_ne!(minute(7, 3), minute(8, 3));
    }

    #[test]
    fn every_fault_comes_often_enough_within_a_minute() {
        for seed in 0..200 {
            for masters in [3, 5] {
                let schedule = minute(seed, masters);
                for fault in &TABLE {
                    let all = tracks(&schedule).into_iter().flatten();
                    let came = all.filter(|planned| planned.fault == fault).count();
                    assert!(
                        came >= fault.to.least_a_minute() as usize,
                        "seed {seed}: {} came {came} times",
                        fault.name
                    );
                }
            }
        }
    }

    #[test]
    fn faults_of_a_track_do_not_overlap_and_end_in_time() {
        for seed in 0..50 {
            for track in tracks(&minute(seed, 3)) {
                assert!(track.windows(2).all(|two| two[0].ends() < two[1].begins));
                assert!(track.iter().all(|planned| planned.ends() <= MINUTE - CALM));
            }
        }
    }

    #[test]
    fn faults_come_in_pairs_and_strike_different_masters_where_that_is_possible() {
        let Schedule { processes, service, .. } = minute(7, 3);
        let mut pairs = 0;
        for one in &service {
            let (from, to) = (one.begins, one.ends());
            let busy = |master: &usize| processes.iter().any(|two| two.strikes(*master, from, to));
            let struck = one.victims.iter().flatten().filter(|master| busy(master)).count();
            let all = (0..3).filter(busy).count();
            assert_eq!(struck, (one.victims.concat().len() + all).saturating_sub(3));
            pairs += usize::from(all > 0);
        }
        assert!(pairs > 10, "{pairs}");
    }

    #[test]
    fn a_minority_leaves_a_majority_and_a_quorum_does_not() {
        for masters in [3, 5] {
            let majority = masters / 2 + 1;
            let mut minorities = std::collections::HashSet::new();
            let minutes = (0..50).map(|seed| minute(seed, masters));
            for planned in minutes.flat_map(|minute| [minute.processes, minute.service].concat()) {
                let at_once = planned.victims.iter().map(Vec::len).max().unwrap();
                let left = masters - at_once;
                match planned.fault.to {
                    Whom::Minority => {
                        assert!(left >= majority);
                        minorities.insert(at_once);
                    }
                    Whom::Some => assert!(at_once <= masters),
                    Whom::Quorum => assert_eq!(left, majority - 1),
                    Whom::EachInTurn | Whom::EachAtLeisure => {
                        assert_eq!((at_once, planned.victims.len()), (1, masters));
                    }
                    Whom::Worker => panic!("a worker among the masters"),
                }
            }
            assert_eq!(minorities.len(), masters - majority, "every size of a minority comes up");
        }
    }
}
