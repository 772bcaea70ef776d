//! Something of each member of a lock: of the only one, mostly, or of several.
//!
//! A [`MemberId`] comes from a collection, and names the same member in every other one of the same
//! lock. So nobody looks up a member that is not there, and nobody asks what that would mean.

use std::ops::{Index, IndexMut};

use smallvec::SmallVec;

/// Names a member among those of one lock: by its place in the order in which they were given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct MemberId(u32);

impl MemberId {
    /// The first member, or the only one: every lock has it.
    pub(crate) const FIRST: Self = Self(0);

    #[cfg(test)]
    pub(crate) fn nth(index: usize) -> Self {
        Self(u32::try_from(index).unwrap())
    }

    const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One `T` for each member of a lock, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ByMember<T>(SmallVec<[T; 1]>);

impl<T> ByMember<T> {
    /// `None` if there is none.
    pub(crate) fn new(each: impl IntoIterator<Item = T>) -> Option<Self> {
        let each = Self::collect(each);
        (!each.0.is_empty()).then_some(each)
    }

    /// With no more room than it takes: a `SmallVec` would make it a power of two.
    fn collect(each: impl IntoIterator<Item = T>) -> Self {
        let each = each.into_iter();
        let mut all = SmallVec::with_capacity(each.size_hint().0);
        all.extend(each);
        Self(all)
    }

    pub(crate) fn one(only: T) -> Self {
        Self(SmallVec::from_buf([only]))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_one(&self) -> bool {
        self.0.len() == 1
    }

    pub(crate) fn first(&self) -> &T {
        &self[MemberId::FIRST]
    }

    /// The members, in their order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = MemberId> + use<T> {
        (0..u32::try_from(self.len()).unwrap_or(u32::MAX)).map(MemberId)
    }

    pub(crate) fn values(&self) -> impl ExactSizeIterator<Item = &T> {
        self.0.iter()
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (MemberId, &T)> {
        self.ids().zip(&self.0)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (MemberId, &mut T)> {
        self.ids().zip(&mut self.0)
    }

    /// Something else for each of the same members.
    pub(crate) fn map<U>(&self, make: impl FnMut(&T) -> U) -> ByMember<U> {
        ByMember::collect(self.0.iter().map(make))
    }

    pub(crate) fn into_values(self) -> impl Iterator<Item = T> {
        self.0.into_iter()
    }
}

impl<T> Index<MemberId> for ByMember<T> {
    type Output = T;

    fn index(&self, member: MemberId) -> &T {
        self.0.get(member.index()).expect("invariant: the member is one of this lock's")
    }
}

impl<T> IndexMut<MemberId> for ByMember<T> {
    fn index_mut(&mut self, member: MemberId) -> &mut T {
        self.0.get_mut(member.index()).expect("invariant: the member is one of this lock's")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_named_by_their_place_and_the_same_in_all_collections() {
        let names = ByMember::new(["a", "b", "c"]).unwrap();
        let lengths = names.map(|name| name.len());
        assert_eq!(
            names.iter().map(|(id, name)| (lengths[id], *name)).collect::<Vec<_>>(),
            [(1, "a"), (1, "b"), (1, "c"),]
        );
        assert_eq!((names.len(), *names.first(), names.is_one()), (3, "a", false));
        assert!(ByMember::one(()).is_one());
        assert_eq!(ByMember::<()>::new([]), None);
    }
}
