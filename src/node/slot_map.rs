//! Which server has which slot, as a server of a cluster says it. Pure.

use std::{collections::BTreeSet, sync::Arc};

use redis::Value;

use crate::reach::HostPort;

/// Which server has which slot.
#[derive(Debug, Clone, Default)]
pub(super) struct SlotMap {
    /// Which of the places serves each; those beyond the end have none.
    owners: Vec<Option<u16>>,
    places: Vec<HostPort>,
    /// The server at each of them, as far as was told.
    nodes: Vec<Option<Arc<SlotOwner>>>,
    /// Where their replicas are.
    others: BTreeSet<HostPort>,
    /// What all of them call each other.
    ids: BTreeSet<Arc<str>>,
}

/// A master that serves something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SlotOwner {
    pub(super) id: Arc<str>,
    pub(super) replicas: BTreeSet<Arc<str>>,
    pub(super) place: HostPort,
}

impl SlotMap {
    /// Reads the answer to CLUSTER SLOTS. `asked` is the host that gave it, and is meant where none is named.
    pub(super) fn read(answer: &Value, asked: &Arc<str>) -> Option<Self> {
        let Value::Array(ranges) = answer else { return None };
        let mut map = Self::default();
        let mut told = 0_u32;
        for range in ranges {
            let Value::Array(range) = range else { return None };
            let [first, last, master, replicas @ ..] = range.as_slice() else { return None };
            let (place, id) = node(master, asked)?;
            let replicas: Vec<_> = replicas.iter().filter_map(|it| node(it, asked)).collect();
            let slots = number(first)?..=number(last).filter(|last| *last < SLOTS)?;
            // Each slot is told of once, or it would take hours to read what came in a second.
            told += u32::try_from(slots.len()).ok()?;
            if told > u32::from(SLOTS) {
                return None;
            }
            let owner = map.number_of(&place);
            slots.for_each(|slot| map.note(slot, owner));
            let ids: BTreeSet<_> = replicas.iter().filter_map(|(_, id)| id.clone()).collect();
            map.others.extend(replicas.into_iter().map(|(place, _)| place));
            map.ids.extend(ids.iter().cloned().chain(id.clone()));
            let at = owner.and_then(|owner| map.nodes.get_mut(usize::from(owner)));
            if let Some((at, id)) = at.zip(id) {
                *at = Some(Arc::new(SlotOwner { id, replicas: ids, place }));
            }
        }
        Some(map)
    }

    pub(super) fn owner(&self, slot: u16) -> Option<&HostPort> {
        let owner = self.owners.get(usize::from(slot)).copied().flatten()?;
        self.places.get(usize::from(owner))
    }

    /// The server that has it, as far as was told.
    pub(super) fn member(&self, slot: u16) -> Option<&Arc<SlotOwner>> {
        let owner = self.owners.get(usize::from(slot)).copied().flatten()?;
        self.nodes.get(usize::from(owner))?.as_ref()
    }

    /// All servers that serve a slot, as far as was told.
    pub(super) fn members(&self) -> impl Iterator<Item = &Arc<SlotOwner>> {
        self.nodes.iter().flatten()
    }

    /// The slots that are served there, in their order.
    pub(super) fn slots_of(&self, place: &HostPort) -> impl Iterator<Item = u16> {
        let known = self.places.iter().position(|known| known == place);
        let known = known.and_then(|known| u16::try_from(known).ok());
        let owners = (0..SLOTS).zip(&self.owners);
        owners.filter(move |(_, owner)| known.is_some() && **owner == known).map(|(slot, _)| slot)
    }

    /// The slot is served there from now on.
    pub(super) fn learn(&mut self, slot: u16, place: &HostPort) {
        if slot < SLOTS {
            let owner = self.number_of(place);
            self.note(slot, owner);
        }
    }

    fn number_of(&mut self, place: &HostPort) -> Option<u16> {
        let known = self.places.iter().position(|known| known == place).unwrap_or_else(|| {
            self.places.push(place.clone());
            self.nodes.push(None);
            self.places.len() - 1
        });
        u16::try_from(known).ok()
    }

    fn note(&mut self, slot: u16, number: Option<u16>) {
        let slot = usize::from(slot);
        if self.owners.len() <= slot {
            self.owners.resize(slot + 1, None);
        }
        if let Some(owner) = self.owners.get_mut(slot) {
            *owner = number;
        }
    }

    /// The same with places that are reached by other names.
    pub(super) fn mapped<E>(
        mut self,
        map: impl Fn(HostPort) -> Result<HostPort, E>,
    ) -> Result<Self, E> {
        self.places = self.places.into_iter().map(&map).collect::<Result<_, _>>()?;
        self.others = self.others.into_iter().map(map).collect::<Result<_, _>>()?;
        for (node, place) in self.nodes.iter_mut().zip(&self.places) {
            if let Some(member) = node {
                *node = Some(Arc::new(SlotOwner { place: place.clone(), ..(**member).clone() }));
            }
        }
        Ok(self)
    }

    /// Every master that serves something.
    pub(super) fn places(&self) -> &[HostPort] {
        &self.places
    }

    /// Whether it tells of the server that is there.
    pub(super) fn names(&self, place: &HostPort) -> bool {
        self.places.contains(place) || self.others.contains(place)
    }

    pub(super) fn ids(&self) -> &BTreeSet<Arc<str>> {
        &self.ids
    }
}

/// Where a node is, and what it is called.
fn node(told: &Value, asked: &Arc<str>) -> Option<(HostPort, Option<Arc<str>>)> {
    let Value::Array(told) = told else { return None };
    let [host, port, rest @ ..] = told.as_slice() else { return None };
    let host = text(host).filter(|host| !host.is_empty() && *host != "?");
    let place = (host.map_or_else(|| asked.clone(), Arc::from), number(port)?);
    Some((place, rest.first().and_then(text).map(Arc::from)))
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

fn number(value: &Value) -> Option<u16> {
    match value {
        Value::Int(number) => u16::try_from(*number).ok(),
        _ => None,
    }
}

/// How many there are.
pub(super) const SLOTS: u16 = 16_384;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::test_answers::for_any_answer;

    fn range(first: i64, last: i64, host: &str, port: i64, id: &str) -> Value {
        let text = |text: &str| Value::BulkString(text.as_bytes().into());
        let master = Value::Array(vec![text(host), Value::Int(port), text(id)]);
        let replica = Value::Array(vec![text("10.9.9.9"), Value::Int(1), text("r")]);
        Value::Array(vec![Value::Int(first), Value::Int(last), master, replica])
    }

    fn place(host: &str, port: u16) -> HostPort {
        (host.into(), port)
    }

    #[test]
    fn each_slot_has_its_owner_or_none() {
        let answer = Value::Array(vec![
            range(0, 5, "10.0.0.1", 7000, "a"),
            range(10, 16_383, "", 7001, "b"),
            range(7, 7, "10.0.0.1", 7000, "a"),
        ]);
        let mut map = SlotMap::read(&answer, &"asked".into()).unwrap();
        for (slot, owner) in [
            (0, Some(place("10.0.0.1", 7000))),
            (5, Some(place("10.0.0.1", 7000))),
            (6, None),
            (7, Some(place("10.0.0.1", 7000))),
            (9, None),
            (10, Some(place("asked", 7001))),
            (16_383, Some(place("asked", 7001))),
            (u16::MAX, None),
        ] {
            assert_eq!(map.owner(slot), owner.as_ref(), "{slot}");
        }
        assert_eq!(map.places().len(), 2);
        assert_eq!(map.ids().iter().map(|id| &**id).collect::<Vec<_>>(), ["a", "b", "r"]);
        assert!(map.names(&place("10.9.9.9", 1)) && !map.names(&place("10.9.9.9", 2)));
        let member = map.member(10).unwrap();
        assert_eq!((&*member.id, &member.place), ("b", &place("asked", 7001)));
        map.learn(5, &place("new", 1));
        assert_eq!((map.owner(5), map.owner(4)), (Some(&place("new", 1)), map.owner(0)));
        let mapped = map.mapped(|(host, port)| Ok::<_, ()>((host, port + 1))).unwrap();
        assert_eq!(mapped.owner(5), Some(&place("new", 2)));
    }

    #[test]
    fn slots_that_are_told_of_twice_or_are_none_are_no_map() {
        let half = || range(0, 8_191, "h", 1, "a");
        for (other, is_map) in [
            (range(8_192, 16_383, "h", 2, "b"), true),
            (range(8_191, 16_383, "h", 2, "b"), false),
            (range(8_192, 16_384, "h", 2, "b"), false),
        ] {
            let answer = Value::Array(vec![half(), other]);
            assert_eq!(SlotMap::read(&answer, &"h".into()).is_some(), is_map, "{answer:?}");
        }
    }

    #[test]
    fn answers_of_any_shape_are_read_or_refused() {
        for_any_answer(|answer| drop(SlotMap::read(&answer, &"h".into())));
    }
}
