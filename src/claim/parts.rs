//! The members of a claim, and what they come to together, kept as they change. To look at all of thousands after
//! each answer would take the watchdog seconds, and cost others their leases.
//!
//! # Invariants
//! - A sum is looked at only while it is known, and access that may change a member makes all sums above it unknown
//!   first. So none is older than its members, however they are changed.
//! - What a sum says beyond that depends on what was [learned](crate::standing::learned) of servers: with that all
//!   sums are forgotten.

use std::{
    cell::Cell,
    ops::{Deref, Index, IndexMut},
    time::Duration,
};

use smallvec::SmallVec;

use super::member_state::MemberState;
use crate::{
    by_member::{ByMember, MemberId},
    clock::Instant,
    standing::learned,
};

/// The members of a claim.
#[derive(Debug)]
pub(super) struct Parts {
    each: ByMember<MemberState>,
    /// Where all of several must confirm.
    sums: Option<Box<Sums>>,
}

/// What some of the members come to, of which all must confirm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sum {
    /// Until when all of them do; `None` if one does not.
    pub(super) until: Option<Instant>,
    /// The first time at which one of them wants something.
    pub(super) wish: Option<Instant>,
}

impl Sum {
    /// Of no member.
    const NONE: Self = Self { until: Some(Instant::from_origin(Duration::MAX)), wish: None };

    fn with(self, other: Self) -> Self {
        Self {
            until: self.until.and_then(|one| Some(one.min(other.until?))),
            wish: self.wish.into_iter().chain(other.wish).min(),
        }
    }
}

/// The sums of [`LEAF`] members each, and of those in pairs, up to that of all, which is the second.
#[derive(Debug)]
struct Sums {
    /// Those of a pair are at twice its place, and next to that. `None` is unknown, and so is all above it.
    of: Box<[Cell<Option<Sum>>]>,
    /// How much was learned when the first of them was found.
    learned: Cell<u64>,
}

impl Parts {
    /// New ones, of which so many are enough.
    pub(super) fn new(each: ByMember<MemberState>, need: usize) -> Self {
        let is_summed = !each.is_one() && need == each.len();
        let sums = is_summed.then(|| Box::new(Sums::of(each.len())));
        Self { each, sums }
    }

    /// What all come to, if that is kept. `until` says for how long a member confirms.
    pub(super) fn sum(
        &self,
        until: impl Fn(MemberId, &MemberState) -> Option<Instant>,
    ) -> Option<Sum> {
        let sums = self.sums.as_deref()?;
        let learned = learned();
        if sums.learned.replace(learned) != learned {
            sums.forget();
        }
        let of = |(id, known): (MemberId, &MemberState)| Sum {
            until: until(id, known),
            wish: known.wish(),
        };
        Some(sums.find(ROOT, &|leaf| {
            self.each.range(leaf * LEAF, LEAF).map(of).fold(Sum::NONE, Sum::with)
        }))
    }

    /// Nothing is known of what they come to.
    pub(super) fn forget_sums(&self) {
        self.sums.iter().for_each(|sums| sums.forget());
    }

    /// Those that want something at `now`, at most so many.
    pub(super) fn wanting(&self, now: Instant, most: usize) -> Wanting {
        let wants =
            |(_, known): &(MemberId, &MemberState)| known.wish().is_some_and(|at| at <= now);
        let mut all = Wanting::new();
        let Some(sums) = &self.sums else {
            all.extend(self.each.iter().filter(wants).map(|(id, _)| id).take(most));
            return all;
        };
        sums.look(ROOT, &|sum| sum.wish.is_some_and(|at| at <= now), &mut |leaf| {
            let some = self.each.range(leaf * LEAF, LEAF).filter(wants).map(|(id, _)| id);
            all.extend(some.take(most - all.len()));
            all.len() < most
        });
        all
    }

    /// All of them, to be changed.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (MemberId, &mut MemberState)> {
        self.forget_sums();
        self.each.iter_mut()
    }

    /// The same without their names.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut MemberState> {
        self.iter_mut().map(|(_, known)| known)
    }
}

impl Sums {
    fn of(members: usize) -> Self {
        let leaves = members.div_ceil(LEAF).next_power_of_two();
        let of = (0..2 * leaves).map(|_| Cell::new(None)).collect();
        Self { of, learned: Cell::new(0) }
    }

    fn leaves(&self) -> usize {
        self.of.len() / 2
    }

    fn forget(&self) {
        self.of.iter().for_each(|sum| sum.set(None));
    }

    fn forget_those_of(&self, member: MemberId) {
        let mut at = self.leaves() + member.index() / LEAF;
        while at >= ROOT && self.of.get(at).is_some_and(|sum| sum.take().is_some()) {
            at /= 2;
        }
    }

    /// The sum at a place. What is not known is found by the leaves.
    fn find(&self, at: usize, leaf: &impl Fn(usize) -> Sum) -> Sum {
        let Some(place) = self.of.get(at) else { return Sum::NONE };
        if let Some(known) = place.get() {
            return known;
        }
        let sum = match at.checked_sub(self.leaves()) {
            Some(index) => leaf(index),
            None => self.find(2 * at, leaf).with(self.find(2 * at + 1, leaf)),
        };
        place.set(Some(sum));
        sum
    }

    /// Has `leaf` look at the leaves below a place whose sums are not known, or `may` be it, for as long as it goes
    /// on.
    fn look(
        &self,
        at: usize,
        may: &impl Fn(Sum) -> bool,
        leaf: &mut impl FnMut(usize) -> bool,
    ) -> bool {
        let Some(place) = self.of.get(at) else { return true };
        if place.get().is_some_and(|sum| !may(sum)) {
            return true;
        }
        match at.checked_sub(self.leaves()) {
            Some(index) => leaf(index),
            None => self.look(2 * at, may, leaf) && self.look(2 * at + 1, may, leaf),
        }
    }
}

impl Deref for Parts {
    type Target = ByMember<MemberState>;

    fn deref(&self) -> &ByMember<MemberState> {
        &self.each
    }
}

impl Index<MemberId> for Parts {
    type Output = MemberState;

    fn index(&self, member: MemberId) -> &MemberState {
        &self.each[member]
    }
}

impl IndexMut<MemberId> for Parts {
    fn index_mut(&mut self, member: MemberId) -> &mut MemberState {
        self.sums.iter().for_each(|sums| sums.forget_those_of(member));
        &mut self.each[member]
    }
}

/// Some members: of most locks all.
pub(super) type Wanting = SmallVec<[MemberId; 7]>;

/// Where the sum of all is.
const ROOT: usize = 1;
/// So many members are looked at anew when one of them has changed.
const LEAF: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(ms))
    }

    /// With these times at which each wants something.
    fn parts(members: usize) -> Parts {
        let each = ByMember::new((0..members).map(|_| MemberState::default())).unwrap();
        Parts::new(each, members)
    }

    /// By looking at all.
    fn by_hand(parts: &Parts, until: impl Fn(MemberId) -> Option<Instant>) -> Sum {
        let of =
            |(id, known): (MemberId, &MemberState)| Sum { until: until(id), wish: known.wish() };
        parts.iter().map(of).fold(Sum::NONE, Sum::with)
    }

    #[test]
    fn sums_are_those_of_all_members_however_they_change() {
        for members in [2, 31, 32, 33, 64, 65, 1_000] {
            let mut parts = parts(members);
            // What members confirm is told from outside, so it changes with what they want.
            let until = |known: &MemberState| known.wish().map(|at| at + Duration::from_secs(1));
            let mut next = 1_u64;
            for step in 0..400 {
                next = next.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let member = MemberId::nth((next >> 33) as usize % members);
                parts[member].renew_at = (!next.is_multiple_of(7)).then(|| at(next >> 50));
                if step % 100 == 50 {
                    parts.values_mut().for_each(|known| known.renew_at = Some(at(step)));
                }
                let expected = by_hand(&parts, |id| until(&parts[id]));
                assert_eq!(parts.sum(|_, known| until(known)), Some(expected), "{members} {step}");
                let now = at(next >> 51);
                let wants = |id: &MemberId| parts[*id].wish().is_some_and(|at| at <= now);
                let wanting: Vec<_> = parts.ids().filter(wants).collect();
                assert_eq!(parts.wanting(now, members).to_vec(), wanting);
                let some = wanting.iter().copied().take(3).collect::<Vec<_>>();
                assert_eq!(parts.wanting(now, 3).to_vec(), some);
            }
        }
    }

    /// What an answer costs grows with the logarithm of the members.
    #[test]
    fn members_that_have_not_changed_are_not_looked_at_again() {
        let looked_at = |members: usize| {
            let (mut parts, looks) = (parts(members), Cell::new(0));
            let look = |parts: &Parts| {
                parts.sum(|_, _| {
                    looks.set(looks.get() + 1);
                    None
                });
            };
            look(&parts);
            assert_eq!(looks.take(), members);
            for member in parts.ids() {
                // Something may be learned of servers in another test meanwhile.
                parts[member].renew_at = None;
                look(&parts);
            }
            looks.get() / members
        };
        assert!(looked_at(20_000) < 10 * LEAF, "{}", looked_at(20_000));
    }

    #[test]
    fn one_is_looked_at_as_it_is() {
        let mut one = parts(1);
        assert_eq!(one.sum(|_, _| None), None);
        one[MemberId::FIRST].heal_at = Some(at(5));
        assert!(one.wanting(at(4), 9).is_empty());
        assert_eq!(one.wanting(at(5), 9).to_vec(), [MemberId::FIRST]);
    }
}
