//! Which of the servers that tell the slots of a cluster is to be believed. Pure.
//!
//! One that is cut off from the others goes on naming the masters of before. One that has left, and is a
//! cluster of its own by now, names itself, perhaps by a greater number. What is held in the one is not held
//! in the other.

use std::{collections::BTreeSet, sync::Arc};

use super::slot_map::SlotMap;
use crate::reach::{HostPort, shown};

/// What one server says of all.
#[derive(Debug, Clone)]
pub(super) struct TopologyReport {
    pub(super) place: HostPort,
    pub(super) map: SlotMap,
    /// Whether it is one of those that go on, and the number of the newest change that it knows of.
    pub(super) rank: (bool, u64),
}

/// Which answer to believe, of those that have come by now.
#[derive(Debug)]
pub(super) enum Choice<'a> {
    Nobody,
    /// Whatever others say.
    Certain(&'a TopologyReport),
    /// Unless others say something else.
    SoFar(&'a TopologyReport),
    /// Two of different clusters, and either may be the right one.
    Apart(&'a TopologyReport, &'a TopologyReport),
}

/// Servers of one cluster, by what they call each other.
struct ClusterView<'a> {
    ids: BTreeSet<&'a Arc<str>>,
    newest: &'a TopologyReport,
}

/// The newest word of the servers of the cluster that is `known`. In the beginning none is: then servers
/// that are to be heard are `asked`, as far as none names them.
pub(super) fn choose<'a>(
    said: &'a [TopologyReport],
    known: &SlotMap,
    asked: &[HostPort],
) -> Choice<'a> {
    let (known, masters) = (known.ids(), known.places().len());
    let groups = groups(said.iter().filter(|said| !said.map.places().is_empty()));
    if known.is_empty() {
        return match &*groups {
            [] => Choice::Nobody,
            [one, other, ..] => Choice::Apart(one.newest, other.newest),
            [one] => {
                let is_heard = |place: &&HostPort| said.iter().any(|said| said.place == **place);
                let is_named = |place: &&HostPort| said.iter().any(|said| said.map.names(place));
                // Where no server tells its name, it is as it was the first time.
                let is_all =
                    masters > 0 || asked.iter().all(|place| is_heard(&place) || is_named(&place));
                if is_all { Choice::Certain(one.newest) } else { Choice::SoFar(one.newest) }
            }
        };
    }
    let shares =
        |group: &ClusterView<'_>| group.ids.iter().filter(|id| known.contains(**id)).count();
    let most = groups.iter().map(shares).max().unwrap_or(0);
    let mut best = groups.iter().filter(|group| shares(group) == most && most > 0);
    match (best.next(), best.next()) {
        (None, _) => Choice::Nobody,
        (Some(one), Some(other)) => Choice::Apart(one.newest, other.newest),
        (Some(one), None) if most * 2 > known.len() => Choice::Certain(one.newest),
        // Much may have changed meanwhile. But those that are few and alone may have left.
        (Some(one), None) if one.newest.map.places().len() * 2 >= masters => {
            Choice::SoFar(one.newest)
        }
        (Some(_), None) => Choice::Nobody,
    }
}

fn groups<'a>(said: impl Iterator<Item = &'a TopologyReport>) -> Vec<ClusterView<'a>> {
    let mut groups: Vec<ClusterView<'a>> = Vec::new();
    for one in said {
        let mut joined = ClusterView { ids: one.map.ids().iter().collect(), newest: one };
        let mut others = Vec::new();
        for group in groups {
            // One that tells no names is taken for one of the others.
            let is_apart = !joined.ids.is_empty()
                && !group.ids.is_empty()
                && joined.ids.is_disjoint(&group.ids);
            if is_apart {
                others.push(group);
                continue;
            }
            // Of equals the first.
            if joined.newest.rank <= group.newest.rank {
                joined.newest = group.newest;
            }
            joined.ids.extend(group.ids);
        }
        others.push(joined);
        groups = others;
    }
    groups
}

/// Why neither is followed.
pub(super) fn apart(one: &TopologyReport, other: &TopologyReport) -> String {
    format!(
        "{} and {} are of different clusters, which know nothing of each other: name servers of one only",
        shown(&one.place),
        shown(&other.place)
    )
}

#[cfg(test)]
mod tests {
    use redis::Value;

    use super::*;

    fn place(name: char) -> HostPort {
        (name.to_string().into(), 1)
    }

    /// What `asked` says: a word for each master that serves a slot, its letter and those of its replicas.
    fn said(asked: char, masters: &[&str], epoch: u64) -> TopologyReport {
        let text = |text: String| Value::BulkString(text.into());
        let node = |name: char| {
            Value::Array(vec![text(name.to_string()), Value::Int(1), text(format!("id-{name}"))])
        };
        let ranges = masters.iter().enumerate().map(|(slot, nodes)| {
            let slot = [Value::Int(slot as i64), Value::Int(slot as i64)];
            Value::Array(slot.into_iter().chain(nodes.chars().map(node)).collect())
        });
        let map = SlotMap::read(&Value::Array(ranges.collect()), &"h".into()).unwrap();
        TopologyReport { place: place(asked), map, rank: (true, epoch) }
    }

    fn chosen(all: &[TopologyReport], known: &[&str], asked: &str) -> String {
        let known = said('k', known, 1).map;
        let asked: Vec<_> = asked.chars().map(place).collect();
        match choose(all, &known, &asked) {
            Choice::Nobody => "nobody".into(),
            Choice::Certain(said) => said.place.0.to_string(),
            Choice::SoFar(said) => format!("{} so far", said.place.0),
            Choice::Apart(one, other) => format!("{} or {}", one.place.0, other.place.0),
        }
    }

    #[test]
    fn those_are_believed_who_are_of_the_cluster_that_is_known() {
        let old = || said('a', &["ad", "b", "c"], 5);
        let new = || said('b', &["da", "b", "c"], 6);
        // It has left: its number is greater, and its id may be what it was.
        let gone = || said('x', &["x"], 99);
        let left = || said('c', &["c"], 99);
        let rest = || said('a', &["ad", "b"], 6);
        let empty = || said('e', &[], 100);
        for (said, known, asked, choice) in [
            (vec![], &[][..], "a", "nobody"),
            (vec![old()], &[], "abc", "a"),
            (vec![old(), new()], &[], "ab", "b"),
            (vec![new(), old()], &[], "ab", "b"),
            (vec![old()], &[], "ax", "a so far"),
            (vec![gone()], &[], "ax", "x so far"),
            (vec![gone(), old()], &[], "ax", "x or a"),
            (vec![old(), empty()], &[], "ae", "a"),
            (vec![empty()], &[], "ae", "nobody"),
            (vec![gone(), old()], &["ad", "b", "c"], "ax", "a"),
            (vec![gone()], &["ad", "b", "c"], "ax", "nobody"),
            (vec![left()], &["ad", "b", "c"], "ac", "nobody"),
            (vec![left(), rest()], &["ad", "b", "c"], "ac", "a"),
            (vec![empty()], &["ad", "b", "c"], "e", "nobody"),
            (vec![left(), said('b', &["b"], 1)], &["b", "c"], "bc", "c or b"),
            // Nearly all of it is new, or the replicas are down.
            (vec![said('n', &["a", "n", "m"], 9)], &["ad", "b", "c"], "an", "n so far"),
            (vec![said('a', &["a", "b", "c"], 9)], &["ade", "bfg", "chi"], "a", "a so far"),
        ] {
            assert_eq!(chosen(&said, known, asked), choice, "{known:?} {said:?}");
        }
    }

    #[test]
    fn groups_join_when_somebody_knows_of_both() {
        let all = [said('a', &["a"], 1), said('b', &["b"], 3), said('c', &["a", "b"], 2)];
        assert_eq!(chosen(&all[..2], &[], "ab"), "a or b");
        assert_eq!(chosen(&all, &[], "ab"), "b");
    }
}
