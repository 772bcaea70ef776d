//! A claim that is asked for and not won yet, and what is asked for next.

use std::sync::Arc;

use crate::{
    by_member::MemberId,
    claim::{Claim, KeptPlace, ask, roll_back_all, roll_back_some},
    error::Vote,
    voting::Voter,
};

/// Ends the claim if it is not handed on: a dropped future of an acquire takes back what it began.
#[derive(Debug)]
pub(super) struct Attempt {
    claim: Arc<Claim>,
    handed_on: bool,
    place: Option<KeptPlace>,
}

impl Attempt {
    pub(super) fn new(claim: Arc<Claim>) -> Self {
        let begins = |member: &Voter| member.services.attempts.begin(claim.id(), claim.clone());
        if !claim.members().values().all(begins) {
            // A client was shut down. What is over is not asked for.
            claim.abandon();
        }
        Self { claim, handed_on: false, place: None }
    }

    pub(super) fn claim(&self) -> &Arc<Claim> {
        &self.claim
    }

    /// It waits on a server: its place there is kept from now on.
    pub(super) fn keep_place(&mut self) {
        self.place = self.place.take().or_else(|| KeptPlace::of(&self.claim));
    }

    /// Whether it waited for its turn in a queue, and has come to it: no place is kept any more.
    pub(super) fn ends_place(&mut self) -> bool {
        self.claim.place().is_none() && self.place.take().is_some()
    }

    /// Asks a member by itself, in whose queue it stands from then on, if that has one and it stands in no
    /// other.
    pub(super) async fn ask_alone(mut self, member: MemberId) -> (Self, Vote) {
        self.claim.queue_at(member);
        let (_, vote) = ask(self.claim.clone(), member).await;
        if let Vote::Refused { .. } = vote {
            self.keep_place();
        }
        (self, vote)
    }

    /// Gives back all that was granted. What is left is its place in a queue, if it has one.
    pub(super) async fn without_grants(self) -> Option<Self> {
        let Some(place) = self.claim.place() else {
            roll_back_all(&self.claim).await;
            return None;
        };
        let others: Vec<_> = self.claim.members().ids().filter(|id| *id != place).collect();
        roll_back_some(&self.claim, &others).await;
        Some(self)
    }

    /// The claim is another's from here on.
    pub(super) fn hand_on(mut self) -> Arc<Claim> {
        self.handed_on = true;
        self.claim.clone()
    }
}

// keeps: drop-never-blocks
impl Drop for Attempt {
    fn drop(&mut self) {
        if !self.handed_on {
            self.claim.abandon();
        }
        for member in self.claim.members().values() {
            member.services.attempts.end(&self.claim.id());
        }
    }
}

/// What a round leaves to the next one to ask with.
#[derive(Debug)]
pub(super) enum NextClaim {
    /// Nothing of it is there: it was never asked with, or its only member refused it plainly.
    Clean(Arc<Claim>),
    /// It has left something there, a place in a queue, for as long as it asks.
    Queued(Attempt),
}

impl NextClaim {
    pub(super) fn claim(&self) -> &Arc<Claim> {
        match self {
            Self::Clean(claim) => claim,
            Self::Queued(attempt) => attempt.claim(),
        }
    }
}
