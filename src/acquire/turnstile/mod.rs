//! Where the waiters of many processes pass one by one that want one lock.
//!
//! A release wakes every process that waits, all of them ask, and one is granted. What that costs grows with the
//! square of how many they are, and over several servers their votes split. So a waiter that was woken in vain
//! goes to the turnstile. There one server tells it when it is its turn, and only then it listens for releases and
//! asks. One that is granted, or gives up, passes the turn on to the next.
//!
//! A turn is a hint and grants nothing. Where it cannot be had, or does not come for long, a waiter asks without
//! it; others, such as Redisson's, know nothing of it. So nothing here has to be exact. A turn ends by itself soon
//! after its process is gone or its future is parked, and two that believe to have it only meet once more.

mod leaving;
mod place;
mod script;
mod watching;

use std::{sync::atomic::Ordering, time::Duration};

use self::place::{TurnstilePlace, Wait};
pub(crate) use self::script::SCRIPTS;
#[cfg(test)]
pub(crate) use self::script::{Leave, Pass};
use super::{servers::common_order, votes::Votes};
use crate::{
    by_member::{ByMember, MemberId},
    clock::Instant,
    error::Vote,
    voting::Voter,
};

/// What one waiter knows of the turnstile of what it waits for.
#[derive(Debug, Default)]
pub(super) struct Turnstile {
    place: Option<TurnstilePlace>,
    /// Members that did not vote in the last round.
    silent: Vec<MemberId>,
    /// Members that could not tell.
    useless: Vec<MemberId>,
    /// On which member it is to wait for its turn, if it is.
    at: Option<MemberId>,
}

impl Turnstile {
    /// Whether waiters for this can pass one by one. A lock that many may hold at once needs nothing of the sort, nor
    /// does one with a queue or another way to make others wait. Of several names each is waited for by others, too.
    pub(super) fn suits(members: &ByMember<Voter>) -> bool {
        let name = members.first().kind.name();
        let suits = |of: &Voter| {
            let is_passed_on = of.kind.may_be_handed_over() && !of.kind.keeps_out_by_asking();
            is_passed_on && of.kind.name() == name
        };
        members.values().all(suits)
    }

    /// A round was lost.
    pub(super) fn note(&mut self, votes: &Votes) {
        let failed = votes.by.iter().filter(|(_, vote)| matches!(vote, Vote::Failed(_)));
        self.silent = failed.map(|(id, _)| id).collect();
    }

    /// Others were faster though it was woken: from now on it waits for its turn.
    pub(super) fn queue_up(&mut self, members: &ByMember<Voter>) {
        if self.at.is_none() {
            self.at = self.choose(members);
        }
    }

    /// All waiters meet where each of them looks first.
    fn choose(&self, members: &ByMember<Voter>) -> Option<MemberId> {
        let round_trip = |id: MemberId| {
            let of = &members[id];
            let connection = of.services.node.connected(of.kind.name());
            connection.map(|connection| connection.round_trip())
        };
        let usual = members.ids().filter_map(round_trip).min().unwrap_or_default();
        let is_late = |id| round_trip(id).is_none_or(|time| time > (usual * 4).max(LATE));
        let is_useful = |id: &MemberId| {
            let none = &members[*id].services.has_no_turnstiles;
            !self.silent.contains(id) && !self.useless.contains(id) && !none.load(Ordering::Relaxed)
        };
        common_order(members).into_iter().filter(is_useful).find(|id| !is_late(*id))
    }

    /// Until when one may go on without [waiting](Self::wait): `None` if there is nothing to wait for.
    pub(super) fn turn_ends(&self) -> Option<Instant> {
        let ends = self.place.as_ref().and_then(TurnstilePlace::turn_ends);
        self.at.map(|_| ends.unwrap_or(Instant::from_origin(Duration::ZERO)))
    }

    pub(super) fn has_turn(&self, now: Instant) -> bool {
        let ends = self.place.as_ref().and_then(TurnstilePlace::turn_ends);
        ends.is_some_and(|ends| now < ends)
    }

    /// Waits for the turn, but not for long.
    ///
    /// # Cancel safety
    /// Its place stays, until it is dropped.
    pub(super) async fn wait(&mut self, members: &ByMember<Voter>) {
        let Some(at) = self.at else { return };
        let place = self.place.get_or_insert_with(|| TurnstilePlace::of(&members[at]));
        if place.wait().await == Wait::InVain {
            self.useless.push(at);
            self.leave();
        }
    }

    /// A waiter that comes to nothing is not to keep the turn from others.
    pub(super) fn leave(&mut self) {
        (self.place, self.at) = (None, None);
    }
}

/// A server is no place to meet if its answers take longer than this, and much longer than those of the others.
const LATE: Duration = Duration::from_millis(10);
