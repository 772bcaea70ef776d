//! A cluster with slots that move all the time, and with masters that are replaced now and then.
//!
//! * `shards`: the servers, and which task may change them.
//! * `mover`: moves the slots of what is contended for.
//! * `episodes`: what else happens, as the seed says.

mod episodes;
mod mover;
mod shards;

use std::{io, panic::resume_unwind, thread};

use super::{
    Course, Ground, PROMOTION, Profile,
    service::{FIRST_GRANT_MS, OF_WORKERS, of_service},
};
use crate::{
    check::coverage::Demands,
    faults::Interrupted,
    history::{History, Leftovers, Settings},
    traffic::{Access, Fleet, Prizes, QUARANTINE_MS},
};
use episodes::Episode;
use shards::Shards;

#[derive(Debug)]
pub(super) struct Resharded;

impl Profile for Resharded {
    fn name(&self) -> &'static str {
        "resharding"
    }

    /// The seed says how releases are announced: a listener in one way hears nothing of the other.
    fn words(&self, settings: &Settings) -> String {
        let by_shard = if is_by_shard(settings) { "by shard" } else { "to all" };
        format!("{}, announced {by_shard}", self.name())
    }

    fn prizes(&self) -> Prizes {
        Prizes::Cluster
    }

    fn adapt(&self, settings: &mut Settings) {
        settings.masters = 1;
        settings.quarantine_all = true;
        settings.absent_ms = 2 * ABSENT_OF_A_WORKER_MS;
        settings.failover_ms = QUARANTINE_MS + FIRST_GRANT_MS;
    }

    fn faults(&self) -> Vec<&'static str> {
        let episodes = Episode::ALL.iter().map(|(name, _)| *name);
        let all = [PROMOTION, mover::MOVED, mover::HALF_MOVED].into_iter();
        all.chain(episodes).chain(OF_WORKERS).collect()
    }

    fn demands(&self, history: &History) -> Demands {
        let secs = history.settings.secs;
        let faults =
            vec![(PROMOTION, secs / 20), (mover::MOVED, secs / 2), (mover::HALF_MOVED, secs / 40)];
        of_service(history, self.prizes(), faults)
    }

    fn start(&self, settings: &Settings) -> io::Result<Box<dyn Ground>> {
        let shards = Shards::start(self.prizes().all());
        let access = Access {
            urls: vec![shards.url()],
            sharded: Some(is_by_shard(settings)),
            ..Access::default()
        };
        access.bless()?;
        Ok(Box::new(Moved { shards, access }))
    }
}

const fn is_by_shard(settings: &Settings) -> bool {
    settings.seed.is_multiple_of(2)
}

struct Moved {
    shards: Shards,
    access: Access,
}

impl Ground for Moved {
    fn access(&self) -> &Access {
        &self.access
    }

    fn torment(&self, course: &Course<'_>, fleet: &mut Fleet<'_>) -> Result<(), Interrupted> {
        thread::scope(|scope| {
            let tracks = [
                scope.spawn(|| mover::play(&self.shards, course)),
                scope.spawn(|| episodes::play(&self.shards, course)),
            ];
            let workers = course.torment_workers(fleet);
            let ended =
                tracks.map(|track| track.join().unwrap_or_else(|panic| resume_unwind(panic)));
            ended.into_iter().fold(workers, Result::and)
        })
    }

    fn leftovers(&self, dead: &[String]) -> Vec<Leftovers> {
        self.shards.leftovers(dead)
    }
}

/// Both contenders of a worker that was killed are the first in a queue: where servers have replicas each is left
/// its turn for 10 s, and others look every 2 s.
const ABSENT_OF_A_WORKER_MS: u64 = 2 * (10_000 + 2_000);
