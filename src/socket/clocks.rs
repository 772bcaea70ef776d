//! What time it is here, and on the server of one socket.

use std::{
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use crate::{
    clock::{Instant, SharedClock},
    reach::{Sample, ServerClock},
};

/// Ours, and that of the server, which is known before the first call is entered.
///
/// # Deadlock safety
/// The mutex of the server's clock is a leaf.
#[derive(Debug)]
pub(super) struct Clocks {
    here: SharedClock,
    server: OnceLock<Mutex<ServerClock>>,
}

impl Clocks {
    pub(super) fn new(here: SharedClock) -> Self {
        Self { here, server: OnceLock::new() }
    }

    /// What the handshake told of the server's.
    pub(super) fn introduce(&self, server: ServerClock) {
        let _the_first_stays = self.server.set(Mutex::new(server));
    }

    pub(super) fn here(&self) -> &SharedClock {
        &self.here
    }

    pub(super) fn now(&self) -> Instant {
        self.here.now()
    }

    /// The server's clock in µs at our instant `at`, never early.
    pub(super) fn server_at(&self, at: Instant) -> i64 {
        self.server().map_or(i64::MIN, |server| server.at(at))
    }

    /// What an answer usually takes.
    pub(super) fn round_trip(&self) -> Duration {
        self.server().map_or(Duration::ZERO, |server| server.round_trip())
    }

    /// An answer told the server's time.
    pub(super) fn observe(&self, sample: Sample) {
        if let Some(mut server) = self.server() {
            server.observe(sample);
        }
    }

    /// Takes an answer's word that shows that we were wrong.
    pub(super) fn believe(&self, sample: Sample) {
        if let Some(mut server) = self.server() {
            server.believe(sample);
        }
    }

    fn server(&self) -> Option<MutexGuard<'_, ServerClock>> {
        Some(self.server.get()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
