//! Slots whose keys were lost with their master, and which another serves since. Pure.
//!
//! A slot that moves takes its keys along, and the one it comes from is alive. A replica that is promoted has
//! taken them in, and its mark tells of the failover. Else the server of the slot has nothing of it: it grants
//! what others hold.
//!
//! A slot may have moved just before its master died, and be looked for only then. So one that is known to be
//! served by a silent master is noted. What is served elsewhere at the first look has moved, if that master had a
//! replica to take its place.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    chosen::TopologyReport,
    slot_map::{SLOTS, SlotMap, SlotOwner},
};
use crate::clock::Instant;

/// What is known of such slots.
#[derive(Debug, Clone, Default)]
pub(super) struct Covered {
    bereft: Bereft,
    /// Until when nothing is to be granted there.
    until: BTreeMap<u16, Instant>,
}

/// Slots without a master, or whose master was silent at a look, and that master.
pub(super) type Bereft = BTreeMap<u16, Arc<SlotOwner>>;

impl Covered {
    /// Those that come anew by this map: another serves them than before, and does not take the place of a
    /// master as its replica, and the master before does not vouch for it.
    pub(super) fn anew(
        &self,
        before: &SlotMap,
        now: &SlotMap,
        said: &[TopologyReport],
    ) -> BTreeSet<u16> {
        let is_anew = |slot: &u16| {
            let (Some(from), Some(to)) = (self.served(before, *slot), now.member(*slot)) else {
                return false;
            };
            let has_moved = || !self.bereft.contains_key(slot) && has_heir(from, now);
            to.id != from.id
                && !from.replicas.contains(&to.id)
                && !said.iter().any(|said| vouches(said, from, *slot))
                && !has_moved()
        };
        (0..SLOTS).filter(is_anew).collect()
    }

    /// What is to be noted of slots that may come anew next.
    pub(super) fn bereft(
        &self,
        before: &SlotMap,
        now: &SlotMap,
        said: &[TopologyReport],
    ) -> Bereft {
        let is_heard = |member: &SlotOwner| said.iter().any(|said| said.place == member.place);
        let silent: BTreeSet<_> =
            now.members().filter(|it| !is_heard(it)).map(|it| it.id.clone()).collect();
        let bereft = |slot| match now.owner(slot) {
            Some(_) => now.member(slot).filter(|by| silent.contains(&by.id)),
            None => self.served(before, slot),
        };
        (0..SLOTS).filter_map(|slot| Some((slot, bereft(slot)?.clone()))).collect()
    }

    /// Notes what has come of a look at this moment.
    pub(super) fn take(
        &mut self,
        anew: &BTreeSet<u16>,
        bereft: Bereft,
        (moment, until): (Instant, Instant),
    ) {
        self.bereft = bereft;
        self.until.retain(|_, until| *until > moment);
        self.until.extend(anew.iter().map(|slot| (*slot, until)));
    }

    /// Until when nothing is to be granted in a slot.
    pub(super) fn until(&self, slot: u16) -> Option<Instant> {
        self.until.get(&slot).copied()
    }

    /// The master before. What was learned in between does not count where that was silent.
    fn served<'a>(&'a self, before: &'a SlotMap, slot: u16) -> Option<&'a Arc<SlotOwner>> {
        self.bereft.get(&slot).or_else(|| before.member(slot))
    }
}

/// Whether it is the one that served the slot, and is well: it is giving it away, or has. The server that
/// gets a slot knows it first. One that is cut off still names itself.
fn vouches(said: &TopologyReport, from: &SlotOwner, slot: u16) -> bool {
    let goes_on = said.rank.0;
    let is_given = || said.map.member(slot).is_none_or(|by| by.id != from.id);
    said.place == from.place && (goes_on || is_given())
}

/// Whether a master had a replica, before or now: a replica is not told of before it has taken its data in.
fn has_heir(master: &SlotOwner, now: &SlotMap) -> bool {
    let has_replicas = |it: &Arc<SlotOwner>| it.id == master.id && !it.replicas.is_empty();
    !master.replicas.is_empty() || now.members().any(has_replicas)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use redis::Value;

    use super::*;

    /// The servers of the slots from 0 on: a word for each, of a master's letter and those of its
    /// replicas.
    fn map(masters: &[&str]) -> SlotMap {
        let text = |text: String| Value::BulkString(text.into());
        let node = |name: char| {
            let place = [text(name.to_string()), Value::Int(1)];
            Value::Array(place.into_iter().chain([text(format!("id-{name}"))]).collect())
        };
        let range = |(slot, nodes): (usize, &&str)| {
            let slot = [Value::Int(slot as i64), Value::Int(slot as i64)];
            let told = slot.into_iter().chain(nodes.chars().map(node)).collect();
            (*nodes != "-").then_some(Value::Array(told))
        };
        let ranges = masters.iter().enumerate().filter_map(range).collect();
        SlotMap::read(&Value::Array(ranges), &"h".into()).unwrap()
    }

    fn said(by: char, masters: &[&str], goes_on: bool) -> TopologyReport {
        TopologyReport { place: (by.to_string().into(), 1), map: map(masters), rank: (goes_on, 1) }
    }

    fn at(seconds: u64) -> Instant {
        Instant::from_origin(Duration::from_secs(seconds))
    }

    /// Looks one after the other: what is followed, by what each server says. Which slots come anew at
    /// the last.
    fn looks(looks: &[(&[&str], &[TopologyReport])]) -> Vec<u16> {
        let (mut covered, mut known, mut anew) = Default::default();
        for (masters, said) in looks {
            let now = map(masters);
            anew = Covered::anew(&covered, &known, &now, said);
            let bereft = covered.bereft(&known, &now, said);
            covered.take(&anew, bereft, (at(0), at(1)));
            known = now;
        }
        anew.into_iter().collect()
    }

    #[test]
    fn slots_come_anew_without_the_word_of_the_one_before() {
        let all: &[&str] = &["a", "bc"];
        let heard = |masters| ['a', 'b'].map(|by| said(by, masters, true));
        let first: (&[&str], &[TopologyReport]) = (all, &heard(all));
        for (after, said, anew) in [
            (all, vec![], &[][..]),
            // It moves, and the master before says so, or does not know yet; or is cut off, or not there.
            (&["b", "bc"], vec![said('a', &["b", "bc"], true), said('b', &["b", "bc"], true)], &[]),
            (&["b", "bc"], vec![said('a', &["a", "bc"], true), said('b', &["b", "bc"], true)], &[]),
            (&["b", "bc"], vec![said('a', &["b", "bc"], false)], &[]),
            (
                &["b", "bc"],
                vec![said('a', &["a", "bc"], false), said('b', &["b", "bc"], true)],
                &[0],
            ),
            (&["b", "bc"], vec![said('b', &["b", "bc"], true)], &[0]),
            // A failover, and what had moved away before it.
            (&["a", "cb"], vec![said('c', &["a", "cb"], true)], &[]),
            (&["a", "a"], vec![said('a', &["a", "a"], true)], &[]),
            (&["d", "d"], vec![said('d', &["d", "d"], true)], &[0]),
            // Its replica is heard of only now.
            (&["b", "bc", "ad"], vec![said('b', &["b", "bc", "ad"], true)], &[]),
        ] {
            assert_eq!(looks(&[first, (after, &said)]), anew, "{after:?} {said:?}");
        }
        // In the beginning nothing is known.
        assert!(looks(&[(all, &[said('b', all, true)])]).is_empty());
    }

    #[test]
    fn slots_of_one_that_was_silent_have_not_moved() {
        let all: &[&str] = &["a", "bc"];
        let heard = ['a', 'b'].map(|by| said(by, all, true));
        let without_b = [said('a', all, true)];
        let (after, by_a): (&[&str], _) = (&["a", "a"], [said('a', &["a", "a"], true)]);
        // Both die that had its keys.
        assert_eq!(looks(&[(all, &heard), (all, &without_b), (after, &by_a)]), [1]);
        let vacant: &[&str] = &["a", "-"];
        let nobody = [said('a', vacant, true)];
        assert_eq!(looks(&[(all, &heard), (vacant, &nobody), (after, &by_a)]), [1]);
        assert_eq!(
            looks(&[(all, &heard), (vacant, &nobody), (vacant, &nobody), (after, &by_a)]),
            [1]
        );
        // Its replica takes its place; it is there again; it was there again, and gave it away.
        let promoted: &[&str] = &["a", "c"];
        let by_all = [said('a', promoted, true), said('c', promoted, true)];
        assert!(looks(&[(all, &heard), (all, &without_b), (promoted, &by_all)]).is_empty());
        let by_both = [said('a', after, true), said('b', after, true)];
        assert!(looks(&[(all, &heard), (all, &without_b), (after, &by_both)]).is_empty());
        assert!(looks(&[(all, &without_b), (all, &heard), (after, &by_a)]).is_empty());
    }

    #[test]
    fn wait_is_that_of_the_slot_and_ends() {
        let mut covered = Covered::default();
        covered.take(&[0].into(), Bereft::default(), (at(0), at(3)));
        covered.take(&[2].into(), Bereft::default(), (at(2), at(5)));
        assert_eq!([0, 1, 2].map(|slot| covered.until(slot)), [Some(at(3)), None, Some(at(5))]);
        covered.take(&BTreeSet::new(), Bereft::default(), (at(3), at(6)));
        assert_eq!([0, 1, 2].map(|slot| covered.until(slot)), [None, None, Some(at(5))]);
    }
}
