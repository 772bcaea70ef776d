//! What becomes due while the watchdog sleeps.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use super::{Due, Report, Tick, Watchdog, Watched};
use crate::{
    by_member::MemberId,
    clock::{Clock, Instant, TokioClock},
    random::Random,
};

/// Remembers when it was looked at, and when it was asked whether its time is over, and wants nothing.
#[derive(Debug, Default)]
struct Looked(Mutex<Vec<Instant>>, Mutex<Vec<Instant>>);

impl Watched for Looked {
    fn end_in_time(&self, now: Instant) -> Option<Instant> {
        self.1.lock().expect("nobody panics").push(now);
        None
    }

    fn tick(self: Arc<Self>, now: Instant, _most: usize) -> Tick {
        self.0.lock().expect("nobody panics").push(now);
        Tick::default()
    }

    fn on_report(&self, _member: MemberId, _report: Report, _now: Instant) -> Option<Instant> {
        None
    }

    fn recount(&self) -> Vec<Due> {
        Vec::new()
    }

    fn on_recounted(&self, _member: MemberId, _report: Report, _now: Instant) {}
}

impl Looked {
    /// How long after `instant`, each time.
    fn after(&self, instant: Instant) -> Vec<u128> {
        let looked = self.0.lock().expect("nobody panics");
        looked.iter().map(|at| at.saturating_since(instant).as_millis()).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_due_before_the_end_of_a_sleep_is_looked_at_in_its_time() {
    for is_new in [true, false] {
        let clock = Arc::new(TokioClock::new());
        let watchdog = Watchdog::on_current_runtime(clock.clone(), Arc::new(Random::seeded(1)));
        let start = clock.now();
        let at = |ms| start + Duration::from_millis(ms);
        let (patient, hasty) = (Arc::new(Looked::default()), Arc::new(Looked::default()));
        // Nothing is due before this, and it would not look around before either.
        watchdog.watch(1, at(900), patient.clone());
        if !is_new {
            watchdog.watch(2, at(800), hasty.clone());
        }
        clock.sleep_until(at(100)).await;
        if is_new {
            watchdog.watch(2, at(200), hasty.clone());
        } else {
            watchdog.reschedule(2, at(200));
        }
        clock.sleep_until(at(2_000)).await;
        let looked = (hasty.after(start), patient.after(start));
        let in_time = matches!((&*looked.0, &*looked.1), ([200..=202], [900..=902]));
        assert!(in_time, "{looked:?}, new: {is_new}");
    }
}

/// How many were looked at, each time.
fn together(when: &[u128]) -> Vec<usize> {
    when.chunk_by(|one, next| one == next).map(<[u128]>::len).collect()
}

#[tokio::test(start_paused = true)]
async fn many_that_are_due_together_are_looked_at_by_and_by_and_at_once_if_they_are_late() {
    let clock = Arc::new(TokioClock::new());
    let watchdog = Watchdog::on_current_runtime(clock.clone(), Arc::new(Random::seeded(1)));
    let start = clock.now();
    let at = |ms| start + Duration::from_millis(ms);
    let looked = Arc::new(Looked::default());
    (0..1_200).for_each(|id| watchdog.watch(id, at(100), looked.clone()));
    clock.sleep_until(at(900)).await;
    let when = looked.after(start);
    assert_eq!(together(&when), [512, 512, 176], "{when:?}");
    assert!(when.last().is_some_and(|&last| last <= 110), "{when:?}");
    // The loss of a lock is not to be told later because many were lost.
    let asked = looked.1.lock().expect("nobody panics").clone();
    assert!(asked.len() == 1_200 && asked.iter().all(|now| *now == asked[0]), "{asked:?}");

    let late = Arc::new(Looked::default());
    tokio::time::advance(Duration::from_secs(2)).await;
    (2_000..3_200).for_each(|id| watchdog.watch(id, at(900), late.clone()));
    clock.sleep_until(at(4_000)).await;
    assert_eq!(together(&late.after(start)), [1_200]);
}
