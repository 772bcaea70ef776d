//! Those in a line by their places. Mostly there is one: it is kept without an allocation.

use std::collections::BTreeMap;

/// Something for each place of a line. Places come in order, and leave in any.
#[derive(Debug)]
pub(super) struct ByPlace<T> {
    /// Before all others, if it is there.
    first: Option<(u64, T)>,
    rest: BTreeMap<u64, T>,
}

impl<T> ByPlace<T> {
    /// Adds a place behind all that there are.
    pub(super) fn push(&mut self, place: u64, it: T) {
        if self.is_empty() {
            self.first = Some((place, it));
        } else {
            self.rest.insert(place, it);
        }
    }

    pub(super) fn remove(&mut self, place: u64) -> Option<T> {
        let first = self.first.take_if(|(first, _)| *first == place);
        first.map(|(_, it)| it).or_else(|| self.rest.remove(&place))
    }

    pub(super) fn get(&self, place: u64) -> Option<&T> {
        match &self.first {
            Some((first, it)) if *first == place => Some(it),
            _ => self.rest.get(&place),
        }
    }

    pub(super) fn get_mut(&mut self, place: u64) -> Option<&mut T> {
        match &mut self.first {
            Some((first, it)) if *first == place => Some(it),
            _ => self.rest.get_mut(&place),
        }
    }

    /// In the order of the places.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        let first = self.first.iter().map(|(place, it)| (*place, it));
        first.chain(self.rest.iter().map(|(place, it)| (*place, it)))
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Default for ByPlace<T> {
    fn default() -> Self {
        Self { first: None, rest: BTreeMap::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_stay_in_their_order_whoever_leaves() {
        let mut places = ByPlace::default();
        let seen =
            |places: &ByPlace<char>| places.iter().map(|(place, _)| place).collect::<Vec<_>>();
        (1..=3).for_each(|place| places.push(place, 'x'));
        assert_eq!((seen(&places), places.len()), (vec![1, 2, 3], 3));
        assert_eq!((places.remove(1), places.remove(1)), (Some('x'), None));
        places.push(4, 'y');
        assert_eq!(seen(&places), [2, 3, 4]);
        assert_eq!((places.get(4).copied(), places.get_mut(1).copied()), (Some('y'), None));
        assert!([2, 3, 4].iter().all(|place| places.remove(*place).is_some()));
        assert!(places.is_empty());
        places.push(5, 'z');
        assert_eq!((places.get(5).copied(), places.get_mut(5).copied()), (Some('z'), Some('z')));
    }
}
