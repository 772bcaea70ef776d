//! What is needed to carry a profile's faults out while a run goes on.

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use crate::{
    faults::{Deed, Interrupt, Interrupted, Planned, Schedule, calm, workers_track},
    history::{Event, Settings},
    random::Random,
    recorder::Recorder,
    traffic::Fleet,
};

/// A run from its first fault to its last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Course<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) recorder: &'a Recorder,
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) began: Instant,
}

impl Course<'_> {
    pub(crate) fn length(&self) -> Duration {
        Duration::from_secs(self.settings.secs)
    }

    /// Whether a fault that takes so long would still be over before the calm.
    pub(super) fn has_time_for(&self, fault: Duration) -> bool {
        Instant::now() + fault <= self.began + self.length() - calm(self.length())
    }

    /// What a track draws from.
    pub(super) fn random(&self, track: u32) -> Random {
        Random::branch(self.settings.seed, &[u32::MAX, u32::MAX, track])
    }

    pub(super) fn sleep(&self, length: Duration) -> Result<(), Interrupted> {
        self.interrupt.sleep_until(Instant::now() + length)
    }

    pub(super) fn sleep_within(
        &self,
        random: &mut Random,
        range: &Range<Duration>,
    ) -> Result<(), Interrupted> {
        self.sleep(random.within(range))
    }

    pub(super) fn note_fault(&self, fault: &str, victims: Vec<String>) {
        self.recorder.note(Event::FaultBegan { fault: fault.to_owned(), victims });
    }

    /// Between these two nothing is expected of the service, and it may forget what it granted last.
    pub(super) fn note_down(&self) {
        self.recorder.note(Event::MasterDown { master: 0, killed: true });
    }

    pub(super) fn note_up(&self) {
        self.recorder.note(Event::MasterUp { master: 0 });
    }

    /// What is done to the workers is the same wherever the servers are, but that fewer are killed: here no
    /// server forgets what stood in a queue and died, and each such place keeps others waiting for 5 s.
    pub(super) fn torment_workers(&self, fleet: &mut Fleet<'_>) -> Result<(), Interrupted> {
        self.carry_out(fleet, &self.plan_for_workers())
    }

    /// The same, but that no worker stands still for longer than [`HEARD_OF_IN_TIME`].
    pub(super) fn torment_workers_briefly(&self, fleet: &mut Fleet<'_>) -> Result<(), Interrupted> {
        self.carry_out(fleet, &briefly_frozen(self.plan_for_workers()))
    }

    fn plan_for_workers(&self) -> Vec<Planned> {
        let Settings { seed, masters, workers, .. } = *self.settings;
        let schedule = Schedule::draw(seed, masters.max(3), workers as usize, self.length());
        seldom_killed(schedule.workers)
    }

    fn carry_out(&self, fleet: &mut Fleet<'_>, plan: &[Planned]) -> Result<(), Interrupted> {
        workers_track(fleet, self.recorder, plan, self.began, self.interrupt)
    }
}

fn seldom_killed(mut plan: Vec<Planned>) -> Vec<Planned> {
    let mut next_kill = Duration::ZERO;
    plan.retain(|planned| {
        let is_kill = planned.fault.does == Deed::Kill;
        let too_soon = is_kill && planned.begins < next_kill;
        if is_kill && !too_soon {
            next_kill = planned.begins + BETWEEN_KILLS;
        }
        !too_soon
    });
    plan
}

fn briefly_frozen(mut plan: Vec<Planned>) -> Vec<Planned> {
    for planned in plan.iter_mut().filter(|planned| planned.fault.does == Deed::Freeze) {
        planned.lasts = planned.lasts.min(HEARD_OF_IN_TIME);
    }
    plan
}

/// Less than is left of a lease of a second when it is renewed next, with room for a busy machine. A hold that moves on to
/// a new master is renewed there alone, and ends on the old one. There a worker that has not heard of the new one may be
/// granted the same lock until that server is told, which takes sentinels some ten seconds.
const HEARD_OF_IN_TIME: Duration = Duration::from_millis(350);
/// Both contenders of a worker that was killed may stand in a queue.
const BETWEEN_KILLS: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_are_far_apart_and_nothing_else_is_rarer() {
        let all = Schedule::draw(7, 3, 6, Duration::from_secs(60)).workers;
        let plan = seldom_killed(all.clone());
        let is_kill = |planned: &&Planned| planned.fault.does == Deed::Kill;
        let kills: Vec<_> = plan.iter().filter(is_kill).map(|planned| planned.begins).collect();
        assert!((2..=4).contains(&kills.len()), "{kills:?}");
        assert!(kills.windows(2).all(|two| two[0] + BETWEEN_KILLS <= two[1]), "{kills:?}");
        let others = |plan: &[Planned]| plan.iter().filter(|it| !is_kill(it)).count();
        assert_eq!(others(&plan), others(&all));
    }

    #[test]
    fn no_worker_stands_still_for_long_where_an_old_master_lives_on() {
        let all = Schedule::draw(7, 3, 6, Duration::from_secs(60)).workers;
        let frozen = |plan: &[Planned]| -> Vec<Duration> {
            let freezes = plan.iter().filter(|planned| planned.fault.does == Deed::Freeze);
            freezes.map(|planned| planned.lasts).collect()
        };
        assert!(frozen(&all).iter().all(|lasts| *lasts > HEARD_OF_IN_TIME));
        let brief = briefly_frozen(all.clone());
        assert_eq!(frozen(&brief), vec![HEARD_OF_IN_TIME; frozen(&all).len()]);
        assert_eq!(brief.len(), all.len());
    }
}
