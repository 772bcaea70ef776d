//! Something of each member of a lock: of the only one, mostly, or of several.
//!
//! A [`MemberId`] comes from a collection, and names the same member in every other one of the same
//! lock. So a member that is not there cannot be looked up, and what that would mean is no
//! question.

use std::ops::{Index, IndexMut};

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

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One `T` for each member of a lock, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ByMember<T>(Each<T>);

/// The everyday case takes no allocation, and little code.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Each<T> {
    One([T; 1]),
    Several(Box<[T]>),
}

impl<T> ByMember<T> {
    /// `None` if there is none.
    pub(crate) fn new(each: impl IntoIterator<Item = T>) -> Option<Self> {
        let all: Box<[T]> = each.into_iter().collect();
        match Box::<[T; 1]>::try_from(all) {
            Ok(one) => Some(Self(Each::One(*one))),
            Err(all) => (!all.is_empty()).then_some(Self(Each::Several(all))),
        }
    }

    pub(crate) const fn one(only: T) -> Self {
        Self(Each::One([only]))
    }

    fn all(&self) -> &[T] {
        match &self.0 {
            Each::One(one) => one,
            Each::Several(all) => all,
        }
    }

    fn all_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Each::One(one) => one,
            Each::Several(all) => all,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.all().len()
    }

    pub(crate) const fn is_one(&self) -> bool {
        matches!(self.0, Each::One(_))
    }

    pub(crate) fn first(&self) -> &T {
        &self[MemberId::FIRST]
    }

    /// The members, in their order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = MemberId> + use<T> {
        (0..u32::try_from(self.len()).unwrap_or(u32::MAX)).map(MemberId)
    }

    pub(crate) fn values(&self) -> impl ExactSizeIterator<Item = &T> {
        self.all().iter()
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.all_mut().iter_mut()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (MemberId, &T)> {
        self.ids().zip(self.all())
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (MemberId, &mut T)> {
        self.ids().zip(self.all_mut())
    }

    /// So many of them, from a place on.
    pub(crate) fn range(&self, from: usize, most: usize) -> impl Iterator<Item = (MemberId, &T)> {
        let some = self.all().get(from..).unwrap_or_default().iter().take(most);
        // Not by skipping, which would go through all before it.
        (u32::try_from(from).unwrap_or(u32::MAX)..).map(MemberId).zip(some)
    }

    /// Something else for each of the same members.
    pub(crate) fn map<U>(&self, mut make: impl FnMut(&T) -> U) -> ByMember<U> {
        ByMember(match &self.0 {
            Each::One([only]) => Each::One([make(only)]),
            Each::Several(all) => Each::Several(all.iter().map(make).collect()),
        })
    }

    pub(crate) fn into_values(self) -> impl Iterator<Item = T> {
        let (one, several) = match self.0 {
            Each::One([only]) => (Some(only), None),
            Each::Several(all) => (None, Some(all)),
        };
        one.into_iter().chain(several.into_iter().flatten())
    }
}

impl<T> Index<MemberId> for ByMember<T> {
    type Output = T;

    fn index(&self, member: MemberId) -> &T {
        self.all().get(member.index()).expect("invariant: the member is one of this lock's")
    }
}

impl<T> IndexMut<MemberId> for ByMember<T> {
    fn index_mut(&mut self, member: MemberId) -> &mut T {
        self.all_mut().get_mut(member.index()).expect("invariant: the member is one of this lock's")
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
