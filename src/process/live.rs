//! The live claims at one node, by channel.
//!
//! Usually one. After a lock was forced open and acquired again there are several, until the older
//! ones have learnt that they are gone.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use foldhash::fast::RandomState;

/// Holds of type `T`, without keeping any alive.
#[derive(Debug)]
pub(crate) struct Live<T: ?Sized> {
    newest: HashMap<Arc<str>, Weak<T>, RandomState>,
    /// Apart, since it is empty but for a moment: oldest first, and only where there is a newer one.
    older: HashMap<Arc<str>, Vec<Weak<T>>, RandomState>,
}

impl<T: ?Sized> Default for Live<T> {
    fn default() -> Self {
        Self { newest: HashMap::default(), older: HashMap::default() }
    }
}

impl<T: ?Sized> Live<T> {
    /// Lists a claim. Returns those that are listed on the channel already.
    pub(crate) fn insert(&mut self, channel: &Arc<str>, claim: &Arc<T>) -> Vec<Arc<T>> {
        let newest = Arc::downgrade(claim);
        let Some(previous) = self.newest.insert(channel.clone(), newest) else {
            return Vec::new();
        };
        let older = self.older.entry(channel.clone()).or_default();
        older.push(previous);
        older.retain(|older| older.strong_count() > 0);
        let before: Vec<_> = older.iter().filter_map(Weak::upgrade).collect();
        if older.is_empty() {
            self.older.remove(channel);
        }
        before
    }

    pub(crate) fn remove(&mut self, channel: &str, claim: &T) {
        let is_this = |listed: &Weak<T>| std::ptr::addr_eq(listed.as_ptr(), claim);
        let mut older = match self.older.is_empty() {
            true => Vec::new(),
            false => self.older.remove(channel).unwrap_or_default(),
        };
        older.retain(|older| !is_this(older));
        if let Some((channel, newest)) = self.newest.remove_entry(channel) {
            let stays = if is_this(&newest) { older.pop() } else { Some(newest) };
            if let Some(stays) = stays {
                self.newest.insert(channel, stays);
            }
        }
        if !older.is_empty() {
            self.older.insert(channel.into(), older);
        }
    }

    /// Those on one channel, the oldest first.
    pub(crate) fn on(&self, channel: &str) -> Vec<Arc<T>> {
        let older = self.older.get(channel).into_iter().flatten();
        older.chain(self.newest.get(channel)).filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.newest.is_empty()
    }

    /// In the order of their channels.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        let mut channels: Vec<_> = self.newest.keys().collect();
        channels.sort_unstable();
        channels.into_iter().flat_map(|channel| self.on(channel)).collect()
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
        assert!(live.is_empty() && live.older.is_empty());
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
