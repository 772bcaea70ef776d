//! Carries a schedule out on real processes.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

use testkit::{Cluster, RedisServer};

use super::{Deed, schedule::Planned};
use crate::{history::Event, recorder::Recorder, traffic::Fleet};

/// Does to the masters what `plan` says, counted from `began`.
pub(crate) fn masters_track(
    cluster: &Cluster,
    recorder: &Recorder,
    plan: &[Planned],
    began: Instant,
    interrupt: &Interrupt,
) -> Result<(), Interrupted> {
    for planned in plan {
        interrupt.sleep_until(began + planned.begins)?;
        note_fault(recorder, planned, |master| format!("master {master}"));
        for group in &planned.victims {
            // A fault on top of one that did not heal would be another fault than it says.
            cluster.iter().for_each(assert_answers);
            for master in group {
                strike(cluster, recorder, planned.fault.does, *master);
            }
            interrupt.sleep_until(Instant::now() + planned.lasts)?;
            for master in group {
                heal(cluster, recorder, planned.fault.does, *master);
            }
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
                Deed::Cut(_) => unreachable!("workers have no clients"),
            }
        }
        interrupt.sleep_until(Instant::now() + planned.lasts)?;
        for place in planned.victims.iter().flatten() {
            match planned.fault.does {
                Deed::Freeze => fleet.thaw(*place),
                Deed::Kill | Deed::Cut(_) => fleet.replace(*place),
            }
        }
    }
    Ok(())
}

fn note_fault(recorder: &Recorder, planned: &Planned, name: impl Fn(usize) -> String) {
    let victims = planned.victims.iter().flatten().map(|victim| name(*victim)).collect();
    recorder.note(Event::FaultBegan { fault: planned.fault.name.to_owned(), victims });
}

/// Down is noted before and up is noted after: in between nothing may be expected of a master.
fn strike(cluster: &Cluster, recorder: &Recorder, deed: Deed, master: usize) {
    match deed {
        Deed::Freeze => {
            recorder.note(Event::MasterDown { master, killed: false });
            cluster.freeze(master);
        }
        Deed::Kill => {
            recorder.note(Event::MasterDown { master, killed: true });
            cluster.kill(master);
        }
        Deed::Cut(kind) => {
            cluster[master].cli(&["CLIENT", "KILL", "TYPE", kind]);
        }
    }
}

fn heal(cluster: &Cluster, recorder: &Recorder, deed: Deed, master: usize) {
    match deed {
        Deed::Freeze => cluster.thaw(master),
        Deed::Kill => cluster.restart_empty(master),
        Deed::Cut(_) => return,
    }
    assert_answers(&cluster[master]);
    recorder.note(Event::MasterUp { master });
}

fn assert_answers(server: &RedisServer) {
    assert_eq!(server.cli(&["PING"]), "PONG", "redis-server at {}", server.addr());
}

/// The user's wish to end early, which cuts every sleep short.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<(Mutex<bool>, Condvar)>);

/// The user has had enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interrupted;

impl Interrupt {
    pub(crate) fn raise(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    pub(crate) fn sleep_until(&self, at: Instant) -> Result<(), Interrupted> {
        let (raised, changed) = &*self.0;
        let mut raised = raised.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let left = at.saturating_duration_since(Instant::now());
            match (*raised, left) {
                (true, _) => return Err(Interrupted),
                (false, Duration::ZERO) => return Ok(()),
                (false, _) => {}
            }
            let woken = changed.wait_timeout(raised, left);
            raised = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
