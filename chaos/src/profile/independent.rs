//! Masters that know nothing of each other, killed, frozen and cut off.

use std::{io, panic::resume_unwind, thread};

use super::{Course, Ground, Profile};
use crate::{
    check::coverage::Demands,
    demands::demands,
    faults::{Interrupted, Schedule, TABLE, masters_track, workers_track},
    history::{History, Leftovers, Settings},
    leftovers,
    masters::Masters,
    traffic::{Access, Fleet, Prizes},
};

#[derive(Debug)]
pub(super) struct Independent;

impl Profile for Independent {
    fn name(&self) -> &'static str {
        "masters"
    }

    fn words(&self, settings: &Settings) -> String {
        format!("{} masters", settings.masters)
    }

    fn flags(&self, settings: &Settings) -> String {
        format!("--masters {}", settings.masters)
    }

    fn prizes(&self) -> Prizes {
        Prizes::Masters
    }

    fn adapt(&self, _settings: &mut Settings) {}

    fn faults(&self) -> Vec<&'static str> {
        TABLE.iter().map(|fault| fault.name).collect()
    }

    fn demands(&self, history: &History) -> Demands {
        demands(history)
    }

    fn start(&self, settings: &Settings) -> io::Result<Box<dyn Ground>> {
        let masters = Masters::start(settings.masters);
        let access = Access { urls: masters.urls(), ..Access::default() };
        Ok(Box::new(Harmed { masters, access }))
    }
}

struct Harmed {
    masters: Masters,
    access: Access,
}

impl Ground for Harmed {
    fn access(&self) -> &Access {
        &self.access
    }

    fn left_out(&self) -> Option<(&'static str, String)> {
        let reason = self.masters.no_clocks()?;
        Some(("step-clock", format!("no shim for the clock: {reason}")))
    }

    fn torment(&self, course: &Course<'_>, fleet: &mut Fleet<'_>) -> Result<(), Interrupted> {
        let Course { settings, recorder, interrupt, began } = *course;
        let (masters, workers) = (&self.masters, settings.workers as usize);
        let schedule = Schedule::draw(settings.seed, settings.masters, workers, course.length());
        thread::scope(|scope| {
            let tracks = [&schedule.processes, &schedule.service].map(|plan| {
                scope.spawn(|| masters_track(masters, recorder, plan, began, interrupt))
            });
            let workers = workers_track(fleet, recorder, &schedule.workers, began, interrupt);
            let ended =
                tracks.map(|track| track.join().unwrap_or_else(|panic| resume_unwind(panic)));
            ended.into_iter().fold(workers, Result::and)
        })?;
        // What is half open still would be noticed in the calm.
        (0..settings.masters).for_each(|master| masters.wire(master).heal());
        Ok(())
    }

    fn leftovers(&self, dead: &[String]) -> Vec<Leftovers> {
        let servers = self.masters.servers().iter().enumerate();
        servers.map(|(n, server)| leftovers::on(n, server, Prizes::Masters.all(), dead)).collect()
    }
}
