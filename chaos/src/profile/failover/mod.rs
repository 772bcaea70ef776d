//! A master behind sentinels, whose replicas take its place.
//!
//! * `service`: the servers, and what can be done to them.
//! * `episodes`: what happens, one after the other, as the seed says.

mod episodes;
mod service;

use std::io;

use super::{
    Course, Ground, PROMOTION, Profile, is_trusting,
    service::{FIRST_GRANT_MS, OF_WORKERS, of_service},
};
use crate::{
    check::coverage::Demands,
    faults::Interrupted,
    history::{History, Leftovers, Settings},
    leftovers,
    traffic::{Access, Fleet, Prizes, QUARANTINE_MS},
};
use episodes::Episode;
use service::Service;

#[derive(Debug)]
pub(super) struct Replaced;

impl Profile for Replaced {
    fn name(&self) -> &'static str {
        "failover"
    }

    fn loses_grants(&self) -> bool {
        true
    }

    fn prizes(&self) -> Prizes {
        Prizes::One
    }

    fn adapt(&self, settings: &mut Settings) {
        settings.masters = 1;
        settings.quarantine_all = true;
        settings.quarantine_ms = WAIT_MS;
        settings.failover_ms = WAIT_MS + FIRST_GRANT_MS;
    }

    fn faults(&self) -> Vec<&'static str> {
        let episodes = Episode::ALL.iter().map(|(name, _)| *name);
        [PROMOTION].into_iter().chain(episodes).chain(OF_WORKERS).collect()
    }

    fn demands(&self, history: &History) -> Demands {
        of_service(history, Prizes::One, vec![(PROMOTION, history.settings.secs / 12)])
    }

    fn start(&self, settings: &Settings) -> io::Result<Box<dyn Ground>> {
        let service = Service::start();
        let urls = vec![service.url()];
        let access = Access { urls, trust: is_trusting(settings), lag_ms: LAG_MS, sharded: None };
        access.bless()?;
        Ok(Box::new(Watched { service, access }))
    }
}

struct Watched {
    service: Service,
    access: Access,
}

impl Ground for Watched {
    fn access(&self) -> &Access {
        &self.access
    }

    fn torment(&self, course: &Course<'_>, fleet: &mut Fleet<'_>) -> Result<(), Interrupted> {
        std::thread::scope(|scope| {
            let servers = scope.spawn(|| episodes::play(&self.service, course));
            let workers = course.torment_workers_briefly(fleet);
            let servers = servers.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            servers.and(workers)
        })
    }

    fn leftovers(&self, dead: &[String]) -> Vec<Leftovers> {
        let master = self.service.master();
        // Sentinels have some too.
        let connections = leftovers::connections_of_workers(master);
        vec![Leftovers { connections, ..leftovers::on(0, master, Prizes::One.all(), dead) }]
    }
}

/// An old master lives on where sentinels are told to replace it: so long until all clients have heard of that.
const LAG_MS: u64 = 1_000;
/// For how long a promoted replica waits.
const WAIT_MS: u64 = QUARANTINE_MS + LAG_MS;
