//! One run of a server, as all connections to it see it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::{
    identity::{Identity, Introduced, Unidentified},
    marker::Marker,
    run_id::RunId,
};
use crate::{
    clock::{Instant, SharedClock},
    error::NodeError,
};

/// What is known of one run of a server's process, shared by the connections that lead to it: a
/// socket does not outlive its process.
#[derive(Debug)]
pub(crate) struct Standing {
    /// `None` if the server does not tell.
    identity: Option<Mutex<Identity>>,
    unidentified: Unidentified,
    presence: Mutex<Presence>,
}

/// What a server told about itself in a handshake.
#[derive(Debug)]
pub(crate) struct Introduction {
    /// `None` if the user may not ask.
    pub(crate) told: Option<Introduced>,
    /// Read behind the uptime.
    pub(crate) marker: Option<Marker>,
    /// When it came, by our clock.
    pub(crate) at: Instant,
}

/// By which rules a server's votes count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// D: for how long after the start of its process they do not.
    pub(crate) quarantine: Duration,
    /// What becomes of those of servers that do not tell when they were started.
    pub(crate) unidentified: Unidentified,
}

/// Whether the process is there, and when somebody may ask again for its marker.
#[derive(Debug)]
struct Presence {
    connections: usize,
    /// As of the end of the last connection that ended.
    heard: Instant,
    look_from: Instant,
    /// In µs of the server's clock.
    waits_until: Option<i64>,
}

impl Standing {
    /// What the newest handshake says, joined with what was known from earlier ones.
    pub(crate) fn after(
        before: Option<&Arc<Self>>,
        introduction: Introduction,
        rules: Rules,
    ) -> Arc<Self> {
        let Introduction { told, marker, at } = introduction;
        let run_id = told.map(|told| told.run_id);
        let same = before.filter(|before| run_id.is_some() && before.run_id() == run_id);
        let standing = same.cloned().unwrap_or_else(|| {
            let heard =
                before.filter(|before| before.is_identified()).map(|before| before.last_heard(at));
            let identity = told.map(|told| Identity::new(told, rules.quarantine, heard));
            Arc::new(Self::new(identity, rules.unidentified, at))
        });
        standing.note(marker);
        standing
    }

    fn new(identity: Option<Identity>, unidentified: Unidentified, now: Instant) -> Self {
        Self {
            identity: identity.map(Mutex::new),
            unidentified,
            presence: Mutex::new(Presence {
                connections: 0,
                heard: now,
                look_from: now + LOOK,
                waits_until: None,
            }),
        }
    }

    pub(crate) fn run_id(&self) -> Option<RunId> {
        Some(self.identity()?.run_id())
    }

    pub(crate) fn is_identified(&self) -> bool {
        self.identity.is_some()
    }

    /// Whether a vote of this run counts now.
    ///
    /// # Errors
    /// [`NodeError::Quarantined`], [`NodeError::Unidentified`].
    pub(crate) fn may_vote(&self, now: Instant) -> Result<(), NodeError> {
        match (self.identity(), self.unidentified) {
            (Some(identity), _) => identity.may_vote(now),
            (None, Unidentified::Trust) => Ok(()),
            (None, Unidentified::Refuse) => Err(NodeError::Unidentified),
        }
    }

    /// From when on a vote counts; `None` if it never will.
    pub(crate) fn votes_from(&self) -> Option<Instant> {
        match (self.identity(), self.unidentified) {
            (Some(identity), _) => Some(identity.votes_from()),
            (None, Unidentified::Trust) => Some(Instant::from_origin(Duration::ZERO)),
            (None, Unidentified::Refuse) => None,
        }
    }

    /// How long the process has been running.
    pub(crate) fn uptime(&self, now: Instant) -> Option<Duration> {
        Some(self.identity()?.uptime(now))
    }

    /// The marker, if it is about this run.
    pub(crate) fn blessing(&self) -> Option<Marker> {
        self.identity()?.blessing().cloned()
    }

    /// Takes note of the marker that was read, or written, just now.
    pub(crate) fn note(&self, marker: Option<Marker>) {
        if let Some(mut identity) = self.identity() {
            identity.note(marker);
        }
    }

    /// Takes note that the marker was lost: no vote before that time of the server's clock, in µs,
    /// for whoever goes by markers.
    pub(crate) fn note_wait(&self, until: i64) {
        self.note(None);
        self.presence().waits_until = Some(until);
    }

    pub(crate) fn waits_until(&self) -> Option<i64> {
        self.presence().waits_until
    }

    /// Whether the caller is to look at the marker again: true about once a second for all.
    pub(crate) fn claim_look(&self, now: Instant) -> bool {
        let mut presence = self.presence();
        let claimed = now >= presence.look_from;
        if claimed {
            presence.look_from = now + LOOK;
        }
        claimed
    }

    /// Counts a connection to this run for as long as the answer lives.
    pub(crate) fn attend(self: &Arc<Self>, clock: &SharedClock) -> Attendance {
        self.presence().connections += 1;
        Attendance { standing: self.clone(), clock: clock.clone() }
    }

    /// When the process was last known to be there.
    fn last_heard(&self, now: Instant) -> Instant {
        let presence = self.presence();
        if presence.connections > 0 { now } else { presence.heard }
    }

    fn identity(&self) -> Option<MutexGuard<'_, Identity>> {
        Some(self.identity.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn presence(&self) -> MutexGuard<'_, Presence> {
        self.presence.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that leads to a run.
#[derive(Debug)]
pub(crate) struct Attendance {
    standing: Arc<Standing>,
    clock: SharedClock,
}

impl Drop for Attendance {
    fn drop(&mut self) {
        let now = self.clock.now();
        let mut presence = self.standing.presence();
        presence.connections -= 1;
        presence.heard = presence.heard.max(now);
    }
}

/// How often the marker of a server in quarantine is looked at. A little less than a waiter's pause.
const LOOK: Duration = Duration::from_millis(700);
