//! Carries a schedule out on real processes.

use std::time::Instant;

use super::{
    Deed,
    deeds::{assert_answers, heal, strike},
    interrupt::{Interrupt, Interrupted},
    planned::Planned,
};
use crate::{
    history::Event,
    masters::Masters,
    recorder::Recorder,
    traffic::{CALM_DOWN, Fleet, PANIC},
};

/// Does to the masters what `plan` says, counted from `began`.
pub(crate) fn masters_track(
    masters: &Masters,
    recorder: &Recorder,
    plan: &[Planned],
    began: Instant,
    interrupt: &Interrupt,
) -> Result<(), Interrupted> {
    let can_be_done = |planned: &&Planned| match planned.fault.does {
        Deed::StepClock(_) => masters.no_clocks().is_none(),
        _ => true,
    };
    for planned in plan.iter().filter(can_be_done) {
        interrupt.sleep_until(began + planned.begins)?;
        note_fault(recorder, planned, |master| format!("master {master}"));
        for group in &planned.victims {
            let claimed = masters.claim(group);
            for master in group {
                // A fault on top of one that did not heal would be another fault than it says.
                assert_answers(&masters.servers()[*master]);
                strike(masters, recorder, planned.fault.does, *master);
            }
            interrupt.sleep_until(Instant::now() + planned.lasts)?;
            for master in group {
                heal(masters, recorder, planned.fault.does, *master);
            }
            drop(claimed);
            interrupt.sleep_until(Instant::now() + planned.pause)?;
        }
    }
    Ok(())
}

/// Does to the workers what `plan` says, counted from `began`.
pub(crate) fn workers_track(
    fleet: &mut Fleet<'_>,
    recorder: &Recorder,
    plan: &[Planned],
    began: Instant,
    interrupt: &Interrupt,
) -> Result<(), Interrupted> {
    for planned in plan {
        interrupt.sleep_until(began + planned.begins)?;
        note_fault(recorder, planned, |place| fleet.worker(place).to_string());
        for place in planned.victims.iter().flatten() {
            match planned.fault.does {
                Deed::Freeze => fleet.freeze(*place),
                Deed::Kill => fleet.kill(*place),
                Deed::Panic => fleet.tell(*place, PANIC),
                _ => unreachable!("that is done to masters"),
            }
        }
        interrupt.sleep_until(Instant::now() + planned.lasts)?;
        for place in planned.victims.iter().flatten() {
            match planned.fault.does {
                Deed::Freeze => fleet.thaw(*place),
                Deed::Kill => fleet.replace(*place),
                Deed::Panic => fleet.tell(*place, CALM_DOWN),
                _ => unreachable!("that is done to masters"),
            }
        }
    }
    Ok(())
}

fn note_fault(recorder: &Recorder, planned: &Planned, name: impl Fn(usize) -> String) {
    let victims = planned.victims.iter().flatten().map(|victim| name(*victim)).collect();
    recorder.note(Event::FaultBegan { fault: planned.fault.name.to_owned(), victims });
}
