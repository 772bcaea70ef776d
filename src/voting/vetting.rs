//! Whether a server may be asked for a vote, and by which mark.
//!
//! Its process may be too young, or its data not what it granted on. Both are found out before
//! anything is asked; that the mark still stands then, the acquire itself looks at.
//!
//! What a look at the mark does is in `mark_look`.
//!
//! # Invariants
//! - What cannot be found out is no vote: a look that fails has failed the vote.

use std::{sync::Arc, time::Duration};

use super::{mark_look::Purpose, voter::Voter};
use crate::{
    clock::Instant,
    error::{Forgotten, NodeError, Phase},
    metering::Meters,
    socket::Connection,
    standing::{Stance, Vetting},
};

/// The mark by which an acquire asks; `None` if it asks without.
pub(crate) type AskedBy = Option<Arc<str>>;

/// A server that grants nothing for a while.
pub(crate) struct Closed {
    /// The mark that says so; by its age alone if there is none.
    pub(crate) mark: AskedBy,
    /// Until when, by its clock in µs.
    pub(crate) until: i64,
}

impl Voter {
    // keeps: no-forgetful-vote
    /// Whether its server may be asked for a vote on this connection, and by which mark. Sends no call
    /// once that is known, unless the server is in quarantine: then it asks about once a second
    /// whether it was blessed meanwhile.
    ///
    /// # Errors
    /// [`NodeError::Quarantined`], [`NodeError::Unidentified`]; whatever stops a look.
    ///
    /// # Cancel safety
    /// Dropping the future leaves a mark or none.
    pub(crate) async fn vet(
        &self,
        connection: &Connection,
        deadline: Instant,
    ) -> Result<AskedBy, NodeError> {
        if self.vetting == Vetting::None {
            return Ok(None);
        }
        let now = self.services.now();
        if let Some(until) = self.services.node.covered_until(self.kind.name())
            && now < until
        {
            let uptime = connection.standing().uptime(now).unwrap_or_default();
            let (counts_in, forgotten) = (until.saturating_since(now), Forgotten::Data);
            return Err(NodeError::Quarantined { uptime, counts_in, forgotten });
        }
        // What is rare is on the heap: the usual acquire is not to carry its size about.
        match connection.standing().stance(now) {
            Ok(Stance::Doubtful) => {
                Box::pin(self.look_in_turn(connection, Purpose::Vote, deadline)).await
            }
            Ok(Stance::Marked(text)) => Ok(Some(text)),
            Ok(Stance::Unmarked) => Ok(None),
            Err(quarantined) => {
                if !connection.standing().claim_look(now) {
                    return Err(quarantined);
                }
                // If it fails the server stays in quarantine.
                let _failed = Box::pin(self.look(connection, Purpose::Vote, deadline)).await;
                self.settled(connection).unwrap_or(Err(quarantined))
            }
        }
    }

    /// Whether it is being found out whether its server may be asked.
    pub(crate) fn is_looked_at(&self, now: Instant) -> bool {
        let connection = self.services.node.connected(self.kind.name());
        self.vetting != Vetting::None
            && connection.is_some_and(|connection| {
                matches!(connection.standing().stance(now), Ok(Stance::Doubtful))
            })
    }

    /// Has it measured whether the votes of its server count, if they may ever not.
    pub(crate) fn measure(&self, vetted: &Result<AskedBy, NodeError>) {
        if !Meters::MEASURES || self.vetting == Vetting::None {
            return;
        }
        let (meters, process) = (&self.services.settings.meters, &self.services.process);
        match vetted {
            Ok(_) => _ = meters.votes(true),
            Err(NodeError::Quarantined { counts_in, .. }) if meters.votes(false) => {
                // Whether or not it is asked again.
                let (meters, clock) = (meters.clone(), process.clock.clone());
                let until = clock.now() + *counts_in;
                process.watchdog.attend(Box::pin(async move {
                    clock.sleep_until(until).await;
                    meters.votes(true);
                }));
            }
            Err(_) => {}
        }
    }

    /// For how long its server grants nothing, by its mark or its age. `None` if it may, or that cannot be known.
    /// A server that took another's place lacks what is held there, and only those that knew the one before take
    /// it for young: it gets the mark of one whose data is lost.
    ///
    /// # Errors
    /// Whatever stops a look.
    ///
    /// # Cancel safety
    /// As [`vet`](Self::vet).
    pub(crate) async fn wait_of(
        &self,
        connection: &Connection,
        deadline: Instant,
    ) -> Result<Option<Closed>, NodeError> {
        if let Ok(Stance::Doubtful) = connection.standing().stance(self.services.now()) {
            match Box::pin(self.look_in_turn(connection, Purpose::Hold, deadline)).await {
                Ok(_) | Err(NodeError::Quarantined { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let (standing, now) = (connection.standing(), self.services.now());
        let is_young = matches!(standing.stance(now), Err(NodeError::Quarantined { .. }));
        let tells = standing.wait().is_some() || standing.closed_until(now).is_some();
        if is_young && !tells && !planted!(MissingNotRewritten) {
            Box::pin(self.look(connection, Purpose::Lacking, deadline)).await?;
        }
        if let Some((mark, until)) = standing.wait() {
            return Ok(Some(Closed { mark: Some(mark), until }));
        }
        Ok(standing.closed_until(now).map(|until| Closed {
            mark: None,
            until: connection
                .server_time_at(now)
                .saturating_add(micros(until.saturating_since(now))),
        }))
    }

    /// Looks, unless another task of this client does: one look a node serves all. The task that looks
    /// may not be polled any more, so no task waits for long: several may look at the same time.
    async fn look_in_turn(
        &self,
        connection: &Connection,
        purpose: Purpose,
        deadline: Instant,
    ) -> Result<AskedBy, NodeError> {
        let now = self.services.now();
        let turn = self.services.one_who_looks(now + deadline.saturating_since(now) / 4).await;
        for _ in 0..LOOKS {
            if let Some(settled) = self.settled(connection) {
                return settled;
            }
            self.look(connection, purpose, deadline).await?;
        }
        drop(turn);
        self.settled(connection).unwrap_or(Err(NodeError::TimedOut { phase: Phase::Answering }))
    }

    /// What is known now, if anything is.
    fn settled(&self, connection: &Connection) -> Option<Result<AskedBy, NodeError>> {
        match connection.standing().stance(self.services.now()) {
            Ok(Stance::Doubtful) => None,
            Ok(Stance::Marked(text)) => Some(Ok(Some(text))),
            Ok(Stance::Unmarked) => Some(Ok(None)),
            Err(error) => Some(Err(error)),
        }
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// The second writer looks again; one gets through each time.
const LOOKS: usize = 16;
