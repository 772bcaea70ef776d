//! What was found, and how what several servers have becomes one list.

use std::{collections::BTreeMap, time::Duration};

use super::listed_lock::{ListedHolder, ListedLock};
use crate::error::{NodeError, NodeId};

/// The locks that are held, as [`Client::list`](crate::Client::list) and [`Masters::list`](crate::Masters::list) find
/// them. What was taken or given back meanwhile may be there or not.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use palisade::inspect::ListOptions;
///
/// let client = palisade::embedded::Server::start()?.client()?;
/// let found = client.list(&ListOptions::new()).await?;
/// assert!(found.is_complete() && found.locks.is_empty());
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct LockList {
    /// In the order of their names.
    pub locks: Vec<ListedLock>,
    /// How many deployments were asked: each has one vote.
    pub asked: usize,
    /// How many of them told something.
    pub answered: usize,
    /// Those that did not tell everything, and why. What they told is there.
    pub failed: Vec<(NodeId, NodeError)>,
    /// How many hashes could not be read: this user may not, or their slot was on its way to another server. One may
    /// be counted twice.
    pub unread: u64,
    /// How many locks more there are: of a server at most 100,000 are shown.
    pub left_out: u64,
}

impl LockList {
    /// Whether nothing was left out.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty() && self.unread == 0 && self.left_out == 0
    }

    /// Whether a lock is held for longer than that. `None` if that is not known: none of which it is known is so old.
    #[must_use]
    pub fn is_any_held_longer_than(&self, limit: Duration) -> Option<bool> {
        let of_each = || self.locks.iter().map(|lock| lock.is_held_longer_than(limit));
        let is_known = self.is_complete() && of_each().all(|it| it.is_some());
        let is_any = of_each().any(|it| it == Some(true));
        (is_any || is_known).then_some(is_any)
    }

    /// What the servers of one deployment have, each with keys of its own: together they have one vote.
    pub(super) fn of_deployment(
        node: &NodeId,
        servers: Vec<(FoundLocks, Option<NodeError>)>,
    ) -> Self {
        let answered = usize::from(servers.iter().any(|(_, failed)| failed.is_none()));
        let mut list = Self { asked: 1, answered, ..Self::default() };
        let mut locks = BTreeMap::new();
        for (found, failed) in servers {
            list.failed.extend(failed.map(|error| (node.clone(), error)));
            list.unread += found.unread;
            list.left_out += found.left_out;
            // A slot that moved may have been met on both.
            locks.extend(found.locks);
        }
        list.locks = locks.into_values().collect();
        list
    }

    /// What all of these servers have, by name.
    pub(crate) fn merged(of: impl IntoIterator<Item = Self>) -> Self {
        let (mut all, mut locks) = (Self::default(), BTreeMap::new());
        for one in of {
            all.asked += one.asked;
            all.answered += one.answered;
            all.failed.extend(one.failed);
            all.unread += one.unread;
            all.left_out += one.left_out;
            one.locks.into_iter().for_each(|lock| add(&mut locks, lock));
        }
        all.locks = locks.into_values().collect();
        all
    }
}

/// What one server has.
#[derive(Debug, Default)]
pub(super) struct FoundLocks {
    locks: BTreeMap<String, ListedLock>,
    pub(super) unread: u64,
    left_out: u64,
}

impl FoundLocks {
    pub(super) fn is_empty(&self) -> bool {
        self.locks.is_empty() && self.unread == 0
    }

    /// A scan may come to a key twice.
    pub(super) fn note(&mut self, lock: ListedLock) {
        if self.locks.len() < MOST || self.locks.contains_key(&lock.name) {
            self.locks.insert(lock.name.clone(), lock);
        } else {
            self.left_out += 1;
        }
    }
}

fn add(locks: &mut BTreeMap<String, ListedLock>, lock: ListedLock) {
    let Some(known) = locks.get_mut(&lock.name) else {
        locks.insert(lock.name.clone(), lock);
        return;
    };
    known.votes += lock.votes;
    known.sort = known.sort.max(lock.sort);
    known.more_holders = known.more_holders.max(lock.more_holders);
    known.left = known.left.max(lock.left);
    known.waiting = known.waiting.max(lock.waiting);
    for holder in lock.holders {
        match known.holders.iter_mut().find(|it| it.holder.id == holder.holder.id) {
            Some(same) => agree(same, holder),
            None => known.holders.push(holder),
        }
    }
}

/// Of one holder, what two servers say: the longer times.
fn agree(known: &mut ListedHolder, other: ListedHolder) {
    known.votes += other.votes;
    known.is_dead &= other.is_dead;
    known.holder.count = known.holder.count.max(other.holder.count);
    known.holder.ttl = match (known.holder.ttl, other.holder.ttl) {
        (Some(one), Some(two)) => Some(one.max(two)),
        _ => None,
    };
    if other.held_for() > known.held_for() || known.process.is_none() {
        known.process = other.process;
    }
}

/// So many locks of a server are shown.
const MOST: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::SortOfLock;
    use crate::kind::{Access, Holder};

    fn holder(id: &str, ttl: u64) -> ListedHolder {
        let ttl = Some(Duration::from_secs(ttl));
        let holder = Holder { id: id.into(), count: 1, ttl, access: Access::Alone };
        ListedHolder { holder, votes: 1, process: None, is_dead: false }
    }

    fn lock(name: &str, sort: SortOfLock, holder: ListedHolder) -> ListedLock {
        let holders = vec![holder];
        ListedLock {
            name: name.into(),
            sort,
            votes: 1,
            left: None,
            holders,
            more_holders: 0,
            waiting: None,
        }
    }

    fn server(locks: Vec<ListedLock>) -> LockList {
        LockList { locks, asked: 1, ..LockList::default() }
    }

    #[test]
    fn votes_are_added_up_by_name_and_by_holder() {
        let all = LockList::merged([
            server(vec![lock("b", SortOfLock::Lock, holder("x", 5))]),
            server(vec![
                lock("a", SortOfLock::Lock, holder("y", 5)),
                lock("b", SortOfLock::Fenced, holder("x", 9)),
            ]),
            server(vec![lock("b", SortOfLock::Lock, holder("z", 1))]),
        ]);
        assert_eq!((all.asked, all.is_complete()), (3, true));
        let [a, b] = &all.locks[..] else { panic!("{all:?}") };
        assert_eq!((a.name.as_str(), a.votes), ("a", 1));
        assert_eq!((b.votes, b.sort), (3, SortOfLock::Fenced));
        let told: Vec<_> = b.holders.iter().map(|it| (&*it.holder.id, it.votes)).collect();
        assert_eq!(told, [("x", 2), ("z", 1)]);
        assert_eq!(b.holders[0].holder.ttl, Some(Duration::from_secs(9)));
    }

    #[test]
    fn ages_are_known_or_not() {
        let hour = Duration::from_secs(3_600);
        let aged = |age: Option<u64>| {
            let mut of = holder("x", 5);
            of.process =
                age.map(|age| crate::presence::ProcessRecord::aged(Duration::from_secs(age)));
            lock("a", SortOfLock::Lock, of)
        };
        for (ages, expected) in [
            (&[][..], Some(false)),
            (&[Some(3_599)], Some(false)),
            (&[Some(3_601)], Some(true)),
            (&[None], None),
            (&[Some(3_601), None], Some(true)),
            (&[Some(1), None], None),
        ] {
            let mut list = server(ages.iter().copied().map(aged).collect());
            assert_eq!(list.is_any_held_longer_than(hour), expected, "{ages:?}");
            list.unread = 1;
            let at_least = expected.filter(|is_any| *is_any);
            assert_eq!(list.is_any_held_longer_than(hour), at_least, "{ages:?}");
        }
    }
}
