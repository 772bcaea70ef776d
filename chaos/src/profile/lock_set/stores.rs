//! The servers, which forget nothing, and the sets on them.

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use testkit::{FaultProxy, RedisServer};

use super::words::{decode, key};
use crate::{
    faults::{Interrupt, Interrupted},
    random::Random,
};

/// As many sets on each.
#[derive(Debug)]
pub(super) struct Stores {
    /// Held while it is killed, or asked: one that is dead has no answer.
    servers: Vec<Mutex<RedisServer>>,
    sets_of_each: u32,
}

impl Stores {
    pub(super) fn start(servers: u32, sets_of_each: u32) -> Self {
        let durable =
            RedisServer::builder().arg("--appendonly", "yes").arg("--appendfsync", "always");
        let servers = (0..servers).map(|_| Mutex::new(durable.clone().start())).collect();
        Self { servers, sets_of_each }
    }

    pub(super) fn sets(&self) -> Range<u32> {
        0..self.sets_of_each * u32::try_from(self.servers.len()).unwrap_or(u32::MAX)
    }

    /// Which sets stand where those of this worker do, and a new wire to there.
    pub(super) fn place(&self, worker: u32) -> (Range<u32>, FaultProxy) {
        let server = worker as usize % self.servers.len();
        let first = u32::try_from(server).unwrap_or(0) * self.sets_of_each;
        let wire = self.with(server, FaultProxy::before);
        (first..first + self.sets_of_each, wire)
    }

    /// What stands there now.
    pub(super) fn value(&self, set: u32) -> String {
        let server = (set / self.sets_of_each) as usize;
        self.with(server, |server| server.cli(&["GET", &key(set)]))
    }

    /// None if that is no set.
    pub(super) fn numbers(&self, set: u32) -> Option<Vec<u64>> {
        decode(&self.value(set))
    }

    /// SIGKILL, and back with all data, one server after the other. Returns how often.
    pub(super) fn torment(&self, seed: u64, until: &Interrupt) -> u32 {
        let mut random = Random::new(seed);
        let mut kills = 0;
        while self.torment_one(&mut random, until).is_ok() {
            kills += 1;
        }
        kills
    }

    fn torment_one(&self, random: &mut Random, until: &Interrupt) -> Result<(), Interrupted> {
        until.sleep_until(Instant::now() + random.within(&BETWEEN_KILLS))?;
        let server = random.below(self.servers.len() as u64);
        self.with(usize::try_from(server).unwrap_or(0), |server| {
            server.kill();
            let slept = until.sleep_until(Instant::now() + random.within(&DEAD));
            server.restart();
            slept
        })
    }

    fn with<T>(&self, server: usize, act: impl FnOnce(&RedisServer) -> T) -> T {
        let server = self.servers.get(server).expect("invariant: sets are on these servers");
        act(&server.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Not so often that hardly anything that is held up for some seconds finds its server as it was.
const BETWEEN_KILLS: Range<Duration> = Duration::from_secs(1)..Duration::from_secs(4);
const DEAD: Range<Duration> = Duration::from_millis(50)..Duration::from_millis(250);
