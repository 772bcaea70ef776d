//! One database: keys, their values and when they die.
//!
//! # Invariants
//! 1. A key is dead from the millisecond its time to live ends: `now >= expires`. The dead are
//!    never seen; they are removed when they are next looked at.
//! 2. No key holds an empty collection: code that takes something out calls [`Keyspace::tidy`].
//! 3. `now` is set at the start of each command, so that one command, or one script, sees each key
//!    alive or dead all the way through.

use std::collections::BTreeMap;

use super::super::resp::Refusal;
use super::{Typed, Value};

#[derive(Clone, Debug, Default)]
pub(crate) struct Keyspace {
    entries: BTreeMap<Vec<u8>, StoredValue>,
    now_ms: i64,
    /// Whether changes are noted.
    is_tracked: bool,
    changes: Vec<Vec<u8>>,
}

#[derive(Clone, Debug)]
struct StoredValue {
    value: Value,
    /// In Unix time, by the server's clock.
    expires_ms: Option<i64>,
}

impl Keyspace {
    /// This database, as it is at the given time.
    pub(crate) fn at(&mut self, now_ms: i64, is_tracked: bool) -> &mut Self {
        (self.now_ms, self.is_tracked) = (now_ms, is_tracked);
        self
    }

    /// The keys that may have changed since the last time.
    pub(crate) fn take_changes(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.changes)
    }

    fn note_change(&mut self, key: &[u8]) {
        if self.is_tracked {
            self.changes.push(key.to_vec());
        }
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.now_ms
    }

    pub(crate) fn get(&mut self, key: &[u8]) -> Option<&Value> {
        self.entry(key).map(|entry| &entry.value)
    }

    pub(crate) fn contains(&mut self, key: &[u8]) -> bool {
        self.entry(key).is_some()
    }

    /// The value of a key, which must be of one type.
    pub(crate) fn read<T: Typed>(&mut self, key: &[u8]) -> Result<Option<&T>, Refusal> {
        match self.entry(key) {
            None => Ok(None),
            Some(entry) => T::of(&entry.value).map(Some).ok_or(Refusal::WRONG_TYPE),
        }
    }

    /// As [`Self::read`], to be changed in place.
    pub(crate) fn change<T: Typed>(&mut self, key: &[u8]) -> Result<Option<&mut T>, Refusal> {
        self.note_change(key);
        match self.entry(key) {
            None => Ok(None),
            Some(entry) => T::of_mut(&mut entry.value).map(Some).ok_or(Refusal::WRONG_TYPE),
        }
    }

    /// As [`Self::change`], but a missing key is created, empty. The caller must put something in.
    pub(crate) fn create<T: Typed>(&mut self, key: &[u8]) -> Result<&mut T, Refusal> {
        if self.entry(key).is_none() {
            self.set(key, T::default().into_value());
        }
        self.change(key)?.ok_or(Refusal::WRONG_TYPE)
    }

    /// Sets a key, whatever it held, without a time to live.
    pub(crate) fn set(&mut self, key: &[u8], value: Value) {
        self.note_change(key);
        self.entries.insert(key.to_vec(), StoredValue { value, expires_ms: None });
    }

    pub(crate) fn remove(&mut self, key: &[u8]) -> bool {
        self.note_change(key);
        let now_ms = self.now_ms;
        self.entries.remove(key).is_some_and(|entry| !entry.is_dead(now_ms))
    }

    /// Removes the key if its collection is empty.
    pub(crate) fn tidy(&mut self, key: &[u8]) {
        if self.entries.get(key).is_some_and(|entry| entry.value.is_empty_collection()) {
            self.entries.remove(key);
        }
    }

    /// When the key dies: `None` if there is no such key, `Some(None)` if it lives for ever.
    pub(crate) fn expiry(&mut self, key: &[u8]) -> Option<Option<i64>> {
        self.entry(key).map(|entry| entry.expires_ms)
    }

    /// Sets or clears the time a key dies; a time that has come removes it now.
    pub(crate) fn set_expiry(&mut self, key: &[u8], expires_ms: Option<i64>) {
        self.note_change(key);
        if let Some(entry) = self.entry(key) {
            entry.expires_ms = expires_ms;
        }
        self.bury(key);
    }

    /// All living keys, in order.
    pub(crate) fn keys(&mut self) -> impl Iterator<Item = (&Vec<u8>, &Value)> {
        let now_ms = self.now_ms;
        self.entries.retain(|_, entry| !entry.is_dead(now_ms));
        self.entries.iter().map(|(key, entry)| (key, &entry.value))
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    fn entry(&mut self, key: &[u8]) -> Option<&mut StoredValue> {
        self.bury(key);
        self.entries.get_mut(key)
    }

    fn bury(&mut self, key: &[u8]) {
        if self.entries.get(key).is_some_and(|entry| entry.is_dead(self.now_ms)) {
            self.entries.remove(key);
            self.note_change(key);
        }
    }
}

impl StoredValue {
    fn is_dead(&self, now_ms: i64) -> bool {
        self.expires_ms.is_some_and(|expires_ms| now_ms >= expires_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Hash;
    use super::*;

    #[test]
    fn key_is_dead_from_the_millisecond_its_lease_ends() {
        let mut keys = Keyspace::default();
        keys.set(b"k", Value::String(b"v".to_vec()));
        keys.set_expiry(b"k", Some(10));
        assert!(keys.at(9, false).contains(b"k"));
        assert!(!keys.at(10, false).contains(b"k"));
        assert!(!keys.at(0, false).contains(b"k"), "a key does not rise again");
    }

    #[test]
    fn expiry_in_the_past_removes_at_once() {
        let mut keys = Keyspace::default();
        keys.set(b"k", Value::String(Vec::new()));
        keys.at(5, false).set_expiry(b"k", Some(5));
        assert_eq!(keys.at(0, false).keys().count(), 0);
    }

    #[test]
    fn removing_a_dead_key_counts_for_nothing() {
        let mut keys = Keyspace::default();
        keys.set(b"k", Value::String(Vec::new()));
        keys.set_expiry(b"k", Some(10));
        assert!(!keys.at(10, false).remove(b"k"));
    }

    #[test]
    fn other_type_is_refused_and_left_alone() {
        let mut keys = Keyspace::default();
        keys.set(b"k", Value::String(b"v".to_vec()));
        assert_eq!(keys.read::<Hash>(b"k").err(), Some(Refusal::WRONG_TYPE));
        assert_eq!(keys.create::<Hash>(b"k").err(), Some(Refusal::WRONG_TYPE));
        assert_eq!(keys.read::<Vec<u8>>(b"k"), Ok(Some(&b"v".to_vec())));
    }

    #[test]
    fn emptied_collection_takes_its_key_along() {
        let mut keys = Keyspace::default();
        keys.create::<Hash>(b"k").unwrap().set(b"f", Vec::new());
        keys.tidy(b"k");
        assert!(keys.contains(b"k"));
        keys.change::<Hash>(b"k").unwrap().unwrap().remove(b"f");
        keys.tidy(b"k");
        assert!(!keys.contains(b"k"));
    }
}
