//! How an acquisition goes on after a round that was lost to others, by its rule.

use std::{sync::Arc, time::Duration};

use super::{
    attempt::Attempt, in_order::InOrder, quorum::Quorum, tally::Rule, target::Target, votes::Votes,
};
use crate::{
    by_member::MemberId,
    claim::{Claim, InFlight},
    clock::Instant,
    error::Vote,
    wait::Refusals,
};

/// The way of a rule.
#[derive(Debug)]
pub(super) enum Strategy {
    /// All members again, from the beginning; of one member, the only one.
    Quorum(Quorum),
    /// One after the other, in an order that all processes share.
    InOrder(InOrder),
}

impl Strategy {
    pub(super) fn of(target: &Target) -> Self {
        match target.rule {
            Rule::Majority => Self::Quorum(Quorum::default()),
            Rule::All => Self::InOrder(InOrder::default()),
        }
    }

    /// Gives back what was kept too long.
    pub(super) async fn let_go(&mut self, now: Instant) {
        if let Self::InOrder(in_order) = self {
            in_order.let_go(now).await;
        }
    }

    /// What the next round asks with, if something of the last one serves.
    pub(super) fn take_kept(&mut self) -> Option<Attempt> {
        match self {
            Self::Quorum(quorum) => quorum.take_kept(),
            Self::InOrder(in_order) => in_order.take_kept(),
        }
    }

    /// The same, left where it is.
    pub(super) fn kept(&self) -> Option<&Arc<Claim>> {
        match self {
            Self::Quorum(quorum) => quorum.kept(),
            Self::InOrder(in_order) => in_order.kept(),
        }
    }

    /// Asks the member that is waited for, before all others.
    ///
    /// # Errors
    /// It still refuses: the others are not asked.
    pub(super) async fn retry_blocker(
        &mut self,
        attempt: Attempt,
        votes: &mut Votes,
    ) -> Result<Attempt, Refusals> {
        match self {
            Self::Quorum(_) => Ok(attempt),
            Self::InOrder(in_order) => in_order.retry_blocker(attempt, votes).await,
        }
    }

    /// Takes a lost round back, as far as nothing of it is kept. Returns who is to be waited for.
    pub(super) async fn lost(
        &mut self,
        attempt: Attempt,
        asked: InFlight<impl Future<Output = (MemberId, Vote)>>,
        votes: Votes,
        target: &Target,
    ) -> Refusals {
        self.count_lost_round();
        match self {
            Self::Quorum(quorum) => {
                // Whoever has not answered is asked no further; the rollback comes behind on its
                // socket.
                drop(asked);
                quorum.lost(attempt, &votes).await
            }
            Self::InOrder(in_order) => in_order.lost(attempt, asked, votes, target.random()).await,
        }
    }

    /// One more round of all was lost: the pause before the next one grows.
    pub(super) const fn count_lost_round(&mut self) {
        match self {
            Self::Quorum(quorum) => quorum.lost_rounds += 1,
            Self::InOrder(in_order) => in_order.lost_rounds += 1,
        }
    }

    /// Keeps nothing any more: the caller is not about to ask again.
    pub(super) async fn give_back(&mut self) {
        match self {
            Self::Quorum(quorum) => quorum.give_back().await,
            Self::InOrder(in_order) => in_order.give_back().await,
        }
    }

    /// The next round asks all, whoever is waited for.
    pub(super) const fn ask_all(&mut self) {
        if let Self::InOrder(in_order) = self {
            in_order.ask_all();
        }
    }

    /// The longest pause before the next round.
    pub(super) fn stagger(&self, target: &Target) -> Duration {
        let waited = match self {
            // Those who ask one server meet nowhere else.
            Self::Quorum(_) if target.members.is_one() => return Duration::ZERO,
            Self::Quorum(_) => None,
            Self::InOrder(in_order) => in_order.has_waited(target.now()),
        };
        match waited {
            // Those who ask one member, one after the other, need no distance from each other. But
            // whoever is far from it would always come too late; the longer it waits, the less.
            Some(waited) => Duration::from_millis(16 >> waited.as_secs().min(5)),
            None => Duration::from_millis(2 << self.lost_rounds().min(5)),
        }
    }

    const fn lost_rounds(&self) -> u32 {
        match self {
            Self::Quorum(quorum) => quorum.lost_rounds,
            Self::InOrder(in_order) => in_order.lost_rounds,
        }
    }
}
