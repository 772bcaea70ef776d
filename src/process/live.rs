//! The live claims at one node, by channel.
//!
//! Usually one. After a lock was forced open and acquired again there are several, until the older
//! ones have learnt that they are gone.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::{Arc, Weak},
};

/// Holds of type `T`, in the order of their channels, without keeping any alive.
#[derive(Debug)]
pub(crate) struct Live<T: ?Sized>(BTreeMap<Arc<str>, OnChannel<T>>);

#[derive(Debug)]
struct OnChannel<T: ?Sized> {
    newest: Weak<T>,
    /// Empty but for a moment: it costs nothing.
    older: Vec<Weak<T>>,
}

impl<T: ?Sized> OnChannel<T> {
    fn alive(&self) -> impl Iterator<Item = Arc<T>> + '_ {
        self.older.iter().chain([&self.newest]).filter_map(Weak::upgrade)
    }
}

impl<T: ?Sized> Default for Live<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: ?Sized> Live<T> {
    /// Lists a claim. Returns those that are listed on the channel already.
    pub(crate) fn insert(&mut self, channel: &Arc<str>, claim: &Arc<T>) -> Vec<Arc<T>> {
        let newest = Arc::downgrade(claim);
        match self.0.entry(channel.clone()) {
            Entry::Vacant(free) => {
                free.insert(OnChannel { newest, older: Vec::new() });
                Vec::new()
            }
            Entry::Occupied(mut listed) => {
                let listed = listed.get_mut();
                let before = listed.alive().collect();
                listed.older.retain(|older| older.strong_count() > 0);
                listed.older.push(std::mem::replace(&mut listed.newest, newest));
                before
            }
        }
    }

    pub(crate) fn remove(&mut self, channel: &str, claim: &T) {
        let Some(listed) = self.0.get_mut(channel) else { return };
        let is_this = |listed: &Weak<T>| std::ptr::addr_eq(listed.as_ptr(), claim);
        listed.older.retain(|older| !is_this(older));
        if !is_this(&listed.newest) {
            return;
        }
        match listed.older.pop() {
            Some(older) => listed.newest = older,
            None => drop(self.0.remove(channel)),
        }
    }

    /// Those on one channel, the oldest first.
    pub(crate) fn on(&self, channel: &str) -> Vec<Arc<T>> {
        self.0.get(channel).into_iter().flat_map(OnChannel::alive).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        self.0.values().flat_map(OnChannel::alive).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(claims: Vec<Arc<u32>>) -> Vec<u32> {
        claims.iter().map(|claim| **claim).collect()
    }

    #[test]
    fn older_holds_of_a_channel_stay_listed_until_each_has_left() {
        let (x, mut live) = (Arc::<str>::from("x"), Live::default());
        let [one, two, three] = [1_u32, 2, 3].map(Arc::new);
        assert_eq!(numbers(live.insert(&x, &one)), [0; 0]);
        assert_eq!(numbers(live.insert(&x, &two)), [1]);
        assert_eq!(numbers(live.insert(&x, &three)), [1, 2]);
        live.remove("x", &two);
        assert_eq!(numbers(live.on("x")), [1, 3]);
        live.remove("x", &three);
        assert_eq!(numbers(live.on("x")), [1]);
        live.remove("x", &three);
        assert_eq!(numbers(live.all()), [1]);
        live.remove("x", &one);
        assert!(live.0.is_empty());
    }

    #[test]
    fn dead_holds_are_not_kept_alive_nor_told() {
        let (x, mut live) = (Arc::<str>::from("x"), Live::default());
        let one = Arc::new(1_u32);
        live.insert(&x, &one);
        drop(one);
        let two = Arc::new(2_u32);
        assert_eq!(numbers(live.insert(&x, &two)), [0; 0]);
        assert_eq!(numbers(live.all()), [2]);
    }
}
