//! A claim that is asked for and not won yet, and what is asked for next.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::{claim::Claim, watchdog::Draining};

/// Ends the claim if it is not handed on: a dropped future of an acquire takes back what it began.
#[derive(Debug)]
pub(super) struct Attempt {
    claim: Arc<Claim>,
    handed_on: bool,
    /// A shutdown waits for what becomes of it.
    _draining: SmallVec<[Draining; 1]>,
}

impl Attempt {
    pub(super) fn new(claim: Arc<Claim>) -> Self {
        let _draining =
            claim.members().values().map(|member| member.services.drain.begin()).collect();
        Self { claim, handed_on: false, _draining }
    }

    pub(super) fn claim(&self) -> &Arc<Claim> {
        &self.claim
    }

    /// The claim is somebody else's from here on.
    pub(super) fn hand_on(mut self) -> Arc<Claim> {
        self.handed_on = true;
        self.claim.clone()
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if !self.handed_on {
            self.claim.abandon();
        }
    }
}

/// What a round leaves to the next one to ask with.
#[derive(Debug)]
pub(super) enum Next {
    /// Nothing of it is there: it was never asked with, or its only member refused it plainly.
    Clean(Arc<Claim>),
    /// It has left something there, a place in a queue, for as long as it asks.
    Queued(Attempt),
}

impl Next {
    pub(super) fn claim(&self) -> &Arc<Claim> {
        match self {
            Self::Clean(claim) => claim,
            Self::Queued(attempt) => attempt.claim(),
        }
    }
}
