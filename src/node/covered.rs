//! Slots whose keys were lost with their master, and which another serves since. Pure.
//!
//! A slot that moves takes its keys along, and the one it comes from says so. A replica that is promoted has
//! taken them in, and its mark tells of the failover. Else whoever serves the slot has nothing of it: it grants
//! what others hold.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    chosen::Said,
    slot_map::{Member, SLOTS, SlotMap},
};
use crate::clock::Instant;

/// What is known of such slots.
#[derive(Debug, Clone, Default)]
pub(super) struct Covered {
    /// Who served those that nobody serves now.
    vacant: BTreeMap<u16, Arc<Member>>,
    /// Until when nobody is to be granted anything there.
    until: BTreeMap<u16, Instant>,
}

impl Covered {
    /// Those that come anew by this map: neither is the one before among those who agree, nor was whoever
    /// has it now a replica of it.
    pub(super) fn anew(&self, before: &SlotMap, now: &SlotMap, said: &[Said]) -> BTreeSet<u16> {
        let change = |slot: &u16| {
            let from = before.member(*slot).or_else(|| self.vacant.get(slot))?;
            let to = now.member(*slot).filter(|to| to.id != from.id)?;
            let agrees = |said: &Said| {
                said.place == from.place && said.map.member(*slot).is_some_and(|it| it.id == to.id)
            };
            (!from.replicas.contains(&to.id) && !said.iter().any(agrees)).then_some(*slot)
        };
        (0..SLOTS).filter_map(|slot| change(&slot)).collect()
    }

    /// Notes what comes with a new map.
    pub(super) fn take(
        &mut self,
        before: &SlotMap,
        now: &SlotMap,
        anew: &BTreeSet<u16>,
        (moment, until): (Instant, Instant),
    ) {
        for slot in 0..SLOTS {
            match (before.member(slot), now.owner(slot)) {
                (Some(from), None) => drop(self.vacant.insert(slot, from.clone())),
                (_, Some(_)) => drop(self.vacant.remove(&slot)),
                (None, None) => {}
            }
        }
        self.until.retain(|_, until| *until > moment);
        self.until.extend(anew.iter().map(|slot| (*slot, until)));
    }

    /// Until when nobody is to be granted anything in a slot.
    pub(super) fn until(&self, slot: u16) -> Option<Instant> {
        self.until.get(&slot).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use redis::Value;

    use super::*;

    /// Who serves the slots from 0 on: a word for each, of a master's letter and those of its replicas.
    fn map(masters: &[&str]) -> SlotMap {
        let text = |text: String| Value::BulkString(text.into());
        let node = |name: char| {
            Value::Array(vec![text(name.to_string()), Value::Int(1), text(format!("id-{name}"))])
        };
        let range = |(slot, nodes): (usize, &&str)| {
            let slot = [Value::Int(slot as i64), Value::Int(slot as i64)];
            let told = slot.into_iter().chain(nodes.chars().map(node)).collect();
            (*nodes != "-").then_some(Value::Array(told))
        };
        let ranges = masters.iter().enumerate().filter_map(range).collect();
        SlotMap::read(&Value::Array(ranges), &"h".into()).unwrap()
    }

    fn said(by: char, masters: &[&str]) -> Said {
        Said { place: (by.to_string().into(), 1), map: map(masters), rank: (true, 1) }
    }

    fn at(seconds: u64) -> Instant {
        Instant::from_origin(Duration::from_secs(seconds))
    }

    #[test]
    fn slots_come_anew_without_the_word_of_the_one_before() {
        let before = map(&["a", "bc"]);
        for (after, said, anew) in [
            (&["a", "bc"][..], vec![], &[][..]),
            // It moves, and who served it says so; or does not, or is not there.
            (&["b", "bc"], vec![said('a', &["b", "bc"]), said('b', &["b", "bc"])], &[]),
            (&["b", "bc"], vec![said('a', &["a", "bc"]), said('b', &["b", "bc"])], &[0]),
            (&["b", "bc"], vec![said('b', &["b", "bc"])], &[0]),
            // A failover, and what only looks like one.
            (&["a", "cb"], vec![said('c', &["a", "cb"])], &[]),
            (&["a", "d"], vec![said('d', &["a", "d"])], &[1]),
            (&["d", "d"], vec![said('d', &["d", "d"])], &[0, 1]),
        ] {
            let found = Covered::default().anew(&before, &map(after), &said);
            assert_eq!(found, anew.iter().copied().collect(), "{after:?}");
        }
    }

    #[test]
    fn who_served_a_slot_is_remembered_while_nobody_does() {
        let mut covered = Covered::default();
        let (all, none) = (map(&["a", "b"]), map(&["-", "b"]));
        covered.take(&all, &none, &BTreeSet::new(), (at(0), at(1)));
        covered.take(&none, &none, &BTreeSet::new(), (at(0), at(2)));
        let after = map(&["b", "b"]);
        let anew = covered.anew(&none, &after, &[]);
        assert_eq!(anew, [0].into());
        covered.take(&none, &after, &anew, (at(0), at(3)));
        assert_eq!((covered.until(0), covered.until(1)), (Some(at(3)), None));
        assert!(covered.anew(&after, &after, &[]).is_empty());
        // In the beginning nothing is known.
        assert!(Covered::default().anew(&SlotMap::default(), &all, &[]).is_empty());
    }
}
