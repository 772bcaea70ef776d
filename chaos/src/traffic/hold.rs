//! What a lane holds while it works.

use std::{future, time::Duration};

use palisade::LockGuard;

use crate::time::{self, Time};

/// The guard, or the pretence of one.
#[derive(Debug)]
pub(super) enum Hold {
    Held(LockGuard),
    /// For the planted fault: nobody was asked.
    Pretended {
        deadline: Time,
    },
}

impl Hold {
    /// As if a lease of this length had been granted.
    pub(super) fn pretend(lease: Duration) -> Self {
        Self::Pretended { deadline: time::now() + lease }
    }

    pub(super) fn deadline(&self) -> Time {
        match self {
            Self::Held(guard) => time::of(guard.deadline()),
            Self::Pretended { deadline } => *deadline,
        }
    }

    pub(super) fn is_valid(&self) -> bool {
        match self {
            Self::Held(guard) => guard.ensure_valid().is_ok(),
            Self::Pretended { deadline } => time::now() < *deadline,
        }
    }

    /// Completes with the cause once the hold is lost.
    pub(super) async fn lost(&self) -> String {
        match self {
            Self::Held(guard) => guard.lost().await.to_string(),
            Self::Pretended { .. } => future::pending().await,
        }
    }

    /// What was wrong with the release, if anything.
    pub(super) async fn release(self) -> Result<(), String> {
        match self {
            Self::Held(guard) => {
                guard.release().await.map(|_| ()).map_err(|error| error.to_string())
            }
            Self::Pretended { .. } => Ok(()),
        }
    }
}
