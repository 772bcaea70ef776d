//! Which fault comes when and where, by the seed. Pure.
//!
//! Three tracks run side by side: what is done to the masters' processes, to their service and the
//! way to it, and to the workers. Within a track one fault is over before the next begins. A track
//! deals from a shuffled deck of all its faults, so that each comes equally often.
//!
//! So faults of the first two come in pairs, on different masters as far as there are any. In the
//! sparse stretches of a long run masters suffer one fault at a time, of either track.

use std::time::Duration;

use super::{
    Fault, TABLE, Whom,
    dealer::Dealer,
    planned::Planned,
    stretches::{Pace, Stretch, stretches},
};
use crate::random::Random;

/// Everything that is going to be done in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Schedule {
    pub(crate) processes: Vec<Planned>,
    pub(crate) service: Vec<Planned>,
    pub(crate) workers: Vec<Planned>,
}

impl Schedule {
    /// For a run of such length, on so many masters and workers.
    pub(crate) fn draw(seed: u64, masters: usize, workers: usize, run: Duration) -> Self {
        let mut sparse = Sparse::new(seed, masters, workers);
        let parts = (0..).zip(stretches(run)).map(|(number, stretch)| match stretch.pace {
            Pace::Dense => Self::dense(seed, number, masters, workers, stretch),
            Pace::Sparse => sparse.deal(stretch),
        });
        parts.fold(Self::default(), Self::then)
    }

    /// How often `fault` comes.
    pub(crate) fn count(&self, fault: &Fault) -> u64 {
        let all = [&self.processes, &self.service, &self.workers].into_iter().flatten();
        all.filter(|planned| planned.fault == fault).count() as u64
    }

    fn dense(seed: u64, number: u32, masters: usize, workers: usize, stretch: Stretch) -> Self {
        let random = |track| stream(seed, number, track);
        let (begin, end) = (stretch.begins + WARM_UP, stretch.calm);
        let of_masters = |track, deck| Dealer::new(random(track), Pace::Dense, deck, masters);
        let processes = of_masters(0, deck(is_of_process)).deal(begin, end);
        let mut leisure =
            processes.iter().filter(|planned| planned.fault.to == Whom::EachAtLeisure);
        // Nothing else may strike while one master is killed after the other.
        let then = leisure.next().map_or(begin, Planned::ends);
        let mut of_workers = Dealer::new(random(1), Pace::Dense, deck(is_of_worker), workers);
        Self {
            service: of_masters(2, deck(is_of_service)).beside(&processes).deal(then, end),
            workers: of_workers.deal(begin, end),
            processes,
        }
    }

    fn then(mut self, later: Self) -> Self {
        self.processes.extend(later.processes);
        self.service.extend(later.service);
        self.workers.extend(later.workers);
        self
    }
}

/// Draws the sparse stretches. One deck goes through all of them, since it is too much for one.
struct Sparse {
    masters: Dealer,
    workers: Dealer,
}

impl Sparse {
    fn new(seed: u64, masters: usize, workers: usize) -> Self {
        let random = |track| stream(seed, SPARSE, track);
        let of_masters = deck(|fault| !is_of_worker(fault));
        Self {
            masters: Dealer::new(random(0), Pace::Sparse, of_masters, masters),
            workers: Dealer::new(random(1), Pace::Sparse, deck(is_of_worker), workers),
        }
    }

    fn deal(&mut self, stretch: Stretch) -> Schedule {
        let (begin, end) = (stretch.begins + WARM_UP, stretch.calm);
        let of_masters = self.masters.deal(begin, end).into_iter();
        let (processes, service) = of_masters.partition(|planned| is_of_process(planned.fault));
        Schedule { processes, service, workers: self.workers.deal(begin, end) }
    }
}

/// Of a track in a stretch.
fn stream(seed: u64, stretch: u32, track: u32) -> Random {
    match stretch {
        // As it was before there were others: a seed of a minute keeps its meaning.
        0 => Random::branch(seed, &[u32::MAX, track]),
        later => Random::branch(seed, &[u32::MAX, track, later]),
    }
}

fn deck(of: fn(&Fault) -> bool) -> Vec<&'static Fault> {
    TABLE.iter().filter(|fault| of(fault)).collect()
}

fn is_of_worker(fault: &Fault) -> bool {
    fault.to == Whom::Worker
}

fn is_of_process(fault: &Fault) -> bool {
    !is_of_worker(fault) && fault.does.strikes_process()
}

fn is_of_service(fault: &Fault) -> bool {
    !is_of_worker(fault) && !fault.does.strikes_process()
}

/// In place of the number of a stretch.
const SPARSE: u32 = u32::MAX;
/// Before the first fault.
const WARM_UP: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::stretches::{QUARANTINE, calm};

    const MINUTE: Duration = Duration::from_secs(60);
    const HOUR: Duration = Duration::from_secs(3_600);

    fn minute(seed: u64, masters: usize) -> Schedule {
        Schedule::draw(seed, masters, 6, MINUTE)
    }

    fn hour(seed: u64, masters: usize) -> Schedule {
        Schedule::draw(seed, masters, 6, HOUR)
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
    fn the_first_minute_of_an_hour_is_that_of_a_run_of_a_minute() {
        let (minute, hour) = (minute(7, 3), hour(7, 3));
        for (short, long) in tracks(&minute).into_iter().zip(tracks(&hour)) {
            assert!(long.starts_with(short));
            assert!(long.get(short.len()).is_some_and(|next| next.begins >= MINUTE));
        }
    }

    /// What an hour deals in each of its stretches of such a pace.
    fn stretches_at(pace: Pace, schedule: &Schedule) -> Vec<Schedule> {
        let within = |stretch: Stretch, plan: &[Planned]| {
            let inside = |one: &&Planned| stretch.begins < one.begins && one.begins < stretch.ends;
            plan.iter().filter(inside).cloned().collect()
        };
        let at_pace = stretches(HOUR).into_iter().filter(|stretch| stretch.pace == pace);
        let part = |stretch| Schedule {
            processes: within(stretch, &schedule.processes),
            service: within(stretch, &schedule.service),
            workers: within(stretch, &schedule.workers),
        };
        at_pace.map(part).collect()
    }

    #[test]
    fn every_dense_stretch_of_an_hour_deals_as_much_as_a_minute() {
        for seed in 0..3 {
            let dense = stretches_at(Pace::Dense, &hour(seed, 3));
            assert_eq!(dense.len(), 30);
            // What they strike, and for how long.
            let [first, second] = [0, 1].map(|number| {
                let plan = dense[number].processes.iter();
                plan.map(|planned| (&planned.victims, planned.lasts)).collect::<Vec<_>>()
            });
            assert_ne!(first, second);
            for (stretch, fault) in dense.iter().flat_map(|one| TABLE.iter().map(move |f| (one, f)))
            {
                assert!(stretch.count(fault) >= fault.to.least_a_minute(), "{}", fault.name);
            }
        }
    }

    #[test]
    fn sparse_stretches_of_an_hour_deal_every_fault_equally_often() {
        for seed in 0..3 {
            let sparse = stretches_at(Pace::Sparse, &hour(seed, 3));
            let count = |fault| sparse.iter().map(|one| one.count(fault)).sum::<u64>();
            for of in [is_of_worker, |fault: &Fault| !is_of_worker(fault)] {
                let faults = deck(of).into_iter().filter(|f| f.to != Whom::EachAtLeisure);
                let counts: Vec<_> = faults.map(count).collect();
                let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
                assert!(*least >= 15 && most - least <= 1, "seed {seed}: {counts:?}");
            }
        }
    }

    #[test]
    fn in_a_sparse_stretch_all_masters_vote_when_one_suffers() {
        for stretch in stretches_at(Pace::Sparse, &hour(7, 5)) {
            let mut all = [stretch.processes, stretch.service].concat();
            all.sort_by_key(|planned| planned.begins);
            for two in all.windows(2) {
                let forgotten = two[0].fault.does.downs() == Some(true);
                let healing = if forgotten { QUARANTINE } else { Duration::ZERO };
                assert!(two[0].ends() + healing < two[1].begins);
            }
        }
    }

    #[test]
    fn every_fault_comes_often_enough_within_a_minute() {
        for seed in 0..200 {
            for masters in [3, 5] {
                let schedule = minute(seed, masters);
                for fault in &TABLE {
                    let came = schedule.count(fault);
                    assert!(
                        came >= fault.to.least_a_minute(),
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
                assert!(track.iter().all(|planned| planned.ends() <= MINUTE - calm(MINUTE)));
            }
        }
        for seed in 0..3 {
            for track in tracks(&hour(seed, 3)) {
                assert!(track.windows(2).all(|two| two[0].ends() < two[1].begins));
                assert!(track.iter().all(|planned| planned.ends() <= HOUR - calm(MINUTE)));
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
