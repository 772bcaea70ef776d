//! What a lane holds while it works.

use std::{future, time::Duration};

use palisade::{FencingToken, LockGuard, Released};

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

    /// The guard, or until when one is pretended.
    fn guard(&self) -> Result<&LockGuard, Time> {
        match self {
            Self::Held(guard) => Ok(guard),
            Self::Pretended { deadline } => Err(*deadline),
        }
    }

    /// To be shown to the store.
    pub(super) fn token(&self) -> Option<u64> {
        self.guard().ok()?.fencing_token().map(FencingToken::get)
    }

    pub(super) fn deadline(&self) -> Time {
        self.guard().map_or_else(|pretended| pretended, |guard| time::of(guard.deadline()))
    }

    pub(super) fn is_valid(&self) -> bool {
        match self.guard() {
            Ok(guard) => guard.ensure_valid().is_ok(),
            Err(deadline) => time::now() < deadline,
        }
    }

    /// Completes with the cause once the hold is lost.
    pub(super) async fn lost(&self) -> String {
        match self.guard() {
            Ok(guard) => guard.lost().await.to_string(),
            Err(_pretended) => future::pending().await,
        }
    }

    /// One more guard, unless there is nothing to enter any more.
    pub(super) fn reenter(&self) -> Option<Self> {
        self.guard().ok()?.reenter().ok().map(Self::Held)
    }

    /// How many guards are left by the library's word, or what was wrong with the release.
    pub(super) async fn release(self) -> Result<u32, String> {
        let released = match self {
            Self::Held(guard) => guard.release().await,
            Self::Pretended { .. } => return Ok(0),
        };
        match released {
            Ok(Released::StillHeld { guards }) => Ok(guards),
            Ok(_) => Ok(0),
            Err(error) => Err(error.to_string()),
        }
    }
}
