//! Runs in which one lock passes from one caller of a process to the next. Pure.
//!
//! Several callers of each process want the same again and again, without a rest. Most of them take what
//! is passed on to them; some hold it for a fixed time or as an owner, and some are not polled for so
//! long that others are to get what they were offered.

use std::time::Duration;

use checkers::{history::Manner, random::Random};
use palisade::{Lease, Quarantine, settings::LocalHandover};
use workload::{Ending, Intent};

use crate::{
    plan::{About, Company, Fault, Plan, Way},
    targets,
};

/// For how long locks stay in a process, whatever a run is about.
pub(crate) fn draw_limit(random: &mut Random) -> LocalHandover {
    let up_to = |ms| LocalHandover::UpTo(Duration::from_millis(ms));
    let (short, long) = (1 + random.below(20), 100 + random.below(901));
    random.weighted(&[
        (1, LocalHandover::Off),
        (4, LocalHandover::default()),
        (4, up_to(short)),
        (2, up_to(long)),
    ])
}

impl Plan {
    /// Turns a run into one of these.
    pub(crate) fn draw_handovers(&mut self, random: &mut Random) {
        let names = targets::of_all_kinds();
        let drawn = usize::try_from(random.below(names.len() as u64)).unwrap_or(0);
        let lock = names.get(drawn).copied().unwrap_or("single");
        let among = random.weighted(&[(2, Company::Mixed), (1, Company::Alike)]);
        self.about = About::Handover { lock, among };
        self.sections = 15 + random.below(25);
        for process in &mut self.processes {
            process.lanes = 2 + u32::try_from(random.below(4)).unwrap_or(0);
            (process.beat_us, process.begins_us) = (0, 0);
        }
        self.draw_nearness(random);
        self.calm_at = 1_500 * MS + random.below(1_000 * MS);
        self.finish_at = self.calm_at + 3_000 * MS;
        self.network.reset_amid_release = if random.one_in(2) { random.below(200) } else { 0 };
        if self.faulty {
            self.leases.watchdog_ms = 300 + random.below(300);
            self.draw_faults(random);
            self.draw_broken(random);
            if random.one_in(3) {
                self.leave_one_alone(lock, random);
            }
        } else {
            self.keep_whole(random);
            if random.one_in(3) {
                self.thin_out(random);
            }
        }
    }

    /// A caller that sleeps until a lease ends, for want of a word, is found out.
    fn keep_whole(&mut self, random: &mut Random) {
        self.leases.max_ms = self.leases.max_ms.max(3_000);
        self.leases.watchdog_ms = 2_000 + random.below(1_000);
        if self.leases.quarantine == Quarantine::Strict {
            self.leases.quarantine = Quarantine::Always;
        }
    }

    /// No caller comes soon with a release that would wake those that were not woken by the last.
    fn thin_out(&mut self, random: &mut Random) {
        // Of one server: a word of another would do.
        let lock = random.weighted(&[(1, "single"), (1, "fenced-single")]);
        self.about = About::Handover { lock, among: Company::Sparse };
        self.processes.iter_mut().for_each(|process| process.lanes = 1);
        self.network.reset_amid_release = 500 + random.below(1_000);
    }

    /// The first process is alone for a while, and knows that: it passes its lock on for long.
    /// Meanwhile it is cut off, and others come that may have the lock once its lease is over.
    fn leave_one_alone(&mut self, lock: &'static str, random: &mut Random) {
        self.about = About::Handover { lock, among: Company::Alike };
        let cut_at = 50 * MS + random.below(300 * MS);
        for node in 0..self.nodes.len() {
            let for_us = 500 * MS + random.below(1_000 * MS);
            self.faults.push((cut_at, Fault::Cut { process: 0, node, way: Way::Both, for_us }));
        }
        for process in self.processes.iter_mut().skip(1) {
            process.begins_us = cut_at + random.below(300 * MS);
        }
        self.leases.watchdog_ms = 300;
        self.handover = LocalHandover::UpTo(Duration::from_millis(800 + random.below(201)));
        // It has enough to do meanwhile.
        self.sections *= 4;
    }

    /// For how long the lock may lie free, if one after the other does not take what it is offered.
    pub(crate) fn brisk_handover_ms(&self) -> u64 {
        300 + 2 * self.handover_ms()
    }

    /// For how long one process may have the lock, if others wait. There is no word on it where each
    /// caller asks for himself.
    pub(crate) fn fair_ms(&self) -> u64 {
        if self.handover == LocalHandover::Off || !self.is_brisk() || !self.passes_on() {
            return 0;
        }
        let (turn_ms, round_trip_ms) =
            (self.handover_ms() + LONGEST_WORK_US / MS, self.network.round_trip_us() / MS + 1);
        let is_on_one =
            matches!(self.about, About::Handover { lock: "single" | "fenced-single", .. });
        let pause_ms = if is_on_one { 0 } else { LONGEST_PAUSE_MS };
        let cut_ms = if self.network.reset_amid_release > 0 { LONGEST_CUT_MS } else { 0 };
        10 * (turn_ms + round_trip_ms + pause_ms) + cut_ms
    }
}

/// One turn of many: `is_calm` if every caller is to get what it asks for.
pub(crate) fn brief(
    random: &mut Random,
    intent: Intent,
    plan: &Plan,
    among: Company,
    is_calm: bool,
) -> Intent {
    let (us, ms) = (Duration::from_micros, Duration::from_millis);
    let is_mixed = among == Company::Mixed;
    let rest = draw_rest(random, among);
    let fixed = Lease::Fixed(ms(plan.leases.least_ms + random.below(200)));
    let lease = random.weighted(&[(9, Lease::Watchdog), (u32::from(is_mixed), fixed)]);
    let may_leave = plan.faulty && !is_calm;
    let (manner, polls) = draw_manner(random, may_leave);
    let parks = draw_parking(random, plan);
    let half = Ending::HalfRelease(1 + random.below(4));
    Intent {
        lease,
        manner,
        polls,
        parks: (is_mixed && !is_calm && random.one_in(PARKS_ONE_IN)).then_some(parks),
        as_owner: is_mixed && random.one_in(5),
        reentries: random.weighted(&[(9, 0), (1, 1)]),
        work: us(500 + random.below(LONGEST_WORK_US - 500)),
        write: Duration::ZERO,
        ending: random.weighted(&[
            (6, Ending::Release),
            (3, Ending::Drop),
            (if may_leave { 1 } else { 0 }, half),
        ]),
        rest,
        ..intent
    }
}

fn draw_manner(random: &mut Random, may_leave: bool) -> (Manner, Option<u64>) {
    if may_leave && random.one_in(6) {
        (Manner::Dropped, Some(1 + random.below(12)))
    } else {
        (Manner::Patient, None)
    }
}

/// Where nothing breaks, of one that stands behind another: what servers granted cannot be granted to
/// others.
fn draw_parking(random: &mut Random, plan: &Plan) -> (u64, Duration) {
    let most_polls = if plan.faulty { 4 } else { 1 };
    (1 + random.below(most_polls), Duration::from_millis(200 + random.below(600)))
}

/// Before the next turn.
fn draw_rest(random: &mut Random, among: Company) -> Duration {
    let rests = among == Company::Sparse && random.one_in(4);
    Duration::from_micros(if rests { random.below(LONGEST_REST_US) } else { 0 })
}

const PARKS_ONE_IN: u64 = 25;
/// Of those that lost a round, before they ask for a lock on several servers again: others come
/// before them.
const LONGEST_PAUSE_MS: u64 = 64;
/// Until a release is said again that lost its socket, and a few times in a row: nothing else tells of
/// it before.
const LONGEST_CUT_MS: u64 = 400;
const LONGEST_REST_US: u64 = 1_500 * MS;
const LONGEST_WORK_US: u64 = 5_000;
const MS: u64 = 1_000;
