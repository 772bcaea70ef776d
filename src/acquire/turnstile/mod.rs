//! Where the waiters of many processes pass one by one that want one lock.
//!
//! A release wakes every process that waits, all of them ask, and one is granted. What that costs grows with the
//! square of how many they are, and over several servers their votes split. So a waiter that was woken in vain, or
//! finds another holder when it has begun to listen, goes to the turnstile. There one server tells it when it is its
//! turn, and only then it listens for releases and asks. One that is granted, or gives up, passes the turn on to the
//! next. The first behind it listens, too: it asks if a release is not used, and then takes the turn for the others.
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
#[cfg(test)]
pub(crate) use self::script::{Leave, Pass};
pub(crate) use self::{leaving::leave_all, script::SCRIPTS};
use super::{servers::common_order, votes::Votes};
use crate::{
    by_member::{ByMember, MemberId},
    clock::Instant,
    error::Vote,
    voting::Voter,
    wait::Refusals,
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
    /// When it was refused last, and when the holders' leases ended then.
    refused: Option<(Instant, Vec<(MemberId, Instant)>)>,
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

    /// It was refused. Whether another was granted since it was refused a moment ago: then it is one of many.
    pub(super) fn has_changed_hands(&mut self, refusals: &Refusals, now: Instant) -> bool {
        let end = |(id, ttl): &(MemberId, Option<Duration>)| Some((*id, now + (*ttl)?));
        let ends: Vec<_> = refusals.by.iter().filter_map(end).collect();
        let is_another = |at: Instant, before: &[(MemberId, Instant)]| {
            let is_later = |(id, end): &(MemberId, Instant)| {
                before.iter().any(|(other, before)| other == id && *end > *before + SAME_HOLD)
            };
            now.saturating_since(at) < A_MOMENT && ends.iter().any(is_later)
        };
        let has_changed = self.refused.as_ref().is_some_and(|(at, before)| is_another(*at, before));
        self.refused = Some((now, ends));
        has_changed
    }

    /// From now on it waits for its turn. Whether it did not before, and there is a place for that.
    pub(super) fn queue_up(&mut self, members: &ByMember<Voter>) -> bool {
        let is_new = self.at.is_none();
        self.at = self.at.or_else(|| self.choose(members));
        is_new && self.at.is_some()
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

    /// Whether it is to wait for its turn before it asks.
    pub(super) fn is_to_wait(&self, now: Instant) -> bool {
        self.turn_ends().is_some_and(|ends| ends <= now)
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

/// A server is no place to meet if its answers take longer than this, and much longer than those of the others. Not less:
/// a process that has just begun on a busy machine has seen few answers, and all must choose alike.
const LATE: Duration = Duration::from_millis(100);
/// The ends of one lease that are reckoned from two answers are no further apart, on a machine with time.
const SAME_HOLD: Duration = Duration::from_millis(3);
/// A lease that is renewed ends later, too, but seldom within this.
const A_MOMENT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    /// The turnstile of what was refused so, each time after so many ms with a ttl of so many ms.
    fn has_changed_hands(refusals: &[(u64, Option<u64>)]) -> bool {
        let mut turnstile = Turnstile::default();
        let mut last = false;
        for (at, ttl) in refusals {
            let by = vec![(MemberId::FIRST, ttl.map(Duration::from_millis))];
            let refusals = Refusals { by, enough: 1, until: None };
            let at = Instant::from_origin(Duration::from_millis(*at));
            last = turnstile.has_changed_hands(&refusals, at);
        }
        last
    }

    #[test]
    fn holder_that_came_since_the_last_refusal_is_another() {
        for (refusals, expected) in [
            (&[(0, Some(30_000))][..], false),
            (&[(0, Some(30_000)), (20, Some(29_980))], false),
            // What an answer takes is no new lease.
            (&[(0, Some(30_000)), (20, Some(29_982))], false),
            (&[(0, Some(29_000)), (20, Some(29_990))], true),
            (&[(0, Some(30_000)), (20, Some(5_000))], false),
            // It may have been renewed.
            (&[(0, Some(20_000)), (5_000, Some(30_000))], false),
            (&[(0, None), (20, None)], false),
        ] {
            assert_eq!(has_changed_hands(refusals), expected, "{refusals:?}");
        }
    }
}
