//! Those in a line by their places. Mostly there is one: it is kept without an allocation.

use std::collections::VecDeque;

/// Something for each place of a line. Places come in order, and leave in any.
#[derive(Debug)]
pub(super) struct ByPlace<T> {
    /// Before all others, if it is there.
    first: Option<(u64, T)>,
    /// In order; empty where one left before those in front of it. The foremost is there.
    rest: VecDeque<(u64, Option<T>)>,
    /// How many of the rest are empty.
    gaps: usize,
}

impl<T> ByPlace<T> {
    /// Adds a place behind all that there are.
    pub(super) fn push(&mut self, place: u64, it: T) {
        if self.is_empty() {
            self.first = Some((place, it));
        } else {
            self.rest.push_back((place, Some(it)));
        }
    }

    pub(super) fn remove(&mut self, place: u64) -> Option<T> {
        if let Some((_, it)) = self.first.take_if(|(first, _)| *first == place) {
            return Some(it);
        }
        let it = self.in_rest(place)?.take()?;
        self.gaps += 1;
        while matches!(self.rest.front(), Some((_, None))) {
            self.rest.pop_front();
            self.gaps -= 1;
        }
        if self.gaps > self.rest.len() / 2 {
            self.rest.retain(|(_, it)| it.is_some());
            self.gaps = 0;
        }
        Some(it)
    }

    pub(super) fn get_mut(&mut self, place: u64) -> Option<&mut T> {
        if self.first.as_ref().is_some_and(|(first, _)| *first == place) {
            return self.first.as_mut().map(|(_, it)| it);
        }
        self.in_rest(place)?.as_mut()
    }

    /// In the order of the places.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        let first = self.first.iter().map(|(place, it)| (*place, it));
        first.chain(self.rest.iter().filter_map(|(place, it)| Some((*place, it.as_ref()?))))
    }

    /// In the order of the places.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let first = self.first.iter_mut().map(|(_, it)| it);
        first.chain(self.rest.iter_mut().filter_map(|(_, it)| it.as_mut()))
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len() - self.gaps
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn in_rest(&mut self, place: u64) -> Option<&mut Option<T>> {
        let index = self.index(place)?;
        self.rest.get_mut(index).map(|(_, it)| it)
    }

    /// Where the place is, or was, in the rest.
    fn index(&self, place: u64) -> Option<usize> {
        match self.rest.front() {
            // Most that is asked is about the foremost.
            Some((foremost, _)) if *foremost == place => Some(0),
            _ => self.rest.binary_search_by_key(&place, |(at, _)| *at).ok(),
        }
    }
}

impl<T> Default for ByPlace<T> {
    fn default() -> Self {
        Self { first: None, rest: VecDeque::new(), gaps: 0 }
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
        assert_eq!(places.get_mut(4).copied(), Some('y'));
        assert_eq!(places.get_mut(1), None);
        assert!([2, 3, 4].iter().all(|place| places.remove(*place).is_some()));
        assert!(places.is_empty());
        places.push(5, 'z');
        assert_eq!(places.get_mut(5).copied(), Some('z'));
    }

    /// One waits in front for ever, while many come and go behind.
    #[test]
    fn gaps_take_no_more_room_than_those_who_are_there() {
        let mut places = ByPlace::default();
        (0..10).for_each(|place| places.push(place, place));
        for place in 10..1_000 {
            places.push(place, place);
            assert_eq!(places.remove(place - 8), Some(place - 8));
            assert_eq!(places.get_mut(place - 8), None);
            assert_eq!((places.len(), places.get_mut(place).copied()), (10, Some(place)));
            assert!(places.rest.len() <= 20, "{}", places.rest.len());
        }
        let there: Vec<_> = places.iter().map(|(place, _)| place).collect();
        assert_eq!(there, [0, 1].into_iter().chain(992..1_000).collect::<Vec<_>>());
        assert!(there.iter().rev().all(|place| places.remove(*place).is_some()));
        assert!(places.is_empty() && places.rest.is_empty());
    }
}
