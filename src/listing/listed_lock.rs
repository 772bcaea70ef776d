//! One lock of a list, as users get it.

use std::time::Duration;

use crate::{
    kind::{Holder, SortOfLock},
    presence::ProcessRecord,
};

/// A lock that is held, as a list shows it.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use palisade::inspect::{ListOptions, SortOfLock};
///
/// let client = palisade::embedded::Server::start()?.client()?;
/// let guard = client.lock("orders:42").acquire().await?;
/// let found = client.list(&ListOptions::new().matching("orders:*")).await?;
/// let lock = found.locks.first().ok_or("it is held")?;
/// assert_eq!((lock.name.as_str(), lock.sort), ("orders:42", SortOfLock::Lock));
/// assert!(lock.holders.iter().any(|it| it.holder.id == guard.holder_id()));
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedLock {
    /// Its name, without the namespace.
    pub name: String,
    /// What it is, as far as its keys tell.
    pub sort: SortOfLock,
    /// On how many of the servers it is held.
    pub votes: usize,
    /// Of permits and counters, the number that is left.
    pub left: Option<i64>,
    /// Those that hold it: more than one if they read, or differ from server to server. 64 of each server at most.
    pub holders: Vec<ListedHolder>,
    /// How many more there are at least that are not shown.
    pub more_holders: u64,
    /// How many processes wait for it. `None` if that is not known.
    pub waiting: Option<u64>,
}

impl ListedLock {
    /// For how long it is held: by the holder that has it longest. `None` if that is not known of a single one.
    #[must_use]
    pub fn held_for(&self) -> Option<Duration> {
        self.holders.iter().filter_map(ListedHolder::held_for).max()
    }

    /// Whether it is held for longer than that. `None` if that is not known: no holder that tells is so old, and some
    /// do not tell.
    #[must_use]
    pub fn is_held_longer_than(&self, limit: Duration) -> Option<bool> {
        // The dead hold nothing, and do not tell; nor does what stands where a lock was taken away.
        let living = || self.holders.iter().filter(|it| !it.is_dead && !it.holder.is_revoked());
        let ages = || living().map(ListedHolder::held_for);
        let is_all_known = self.more_holders == 0 && ages().all(|age| age.is_some());
        let is_older = ages().flatten().any(|age| age > limit);
        (is_older || is_all_known).then_some(is_older)
    }
}

/// A holder of a lock that a list shows.
///
/// # Examples
/// ```
/// use palisade::inspect::ListedHolder;
///
/// fn show(of: &ListedHolder) -> String {
///     match &of.process {
///         Some(process) => process.to_string(),
///         None => of.holder.id.clone(),
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedHolder {
    /// Its id, count, ttl and access.
    pub holder: Holder,
    /// How many servers name it.
    pub votes: usize,
    /// What its process tells of itself, without labels; and since when it holds this.
    pub process: Option<ProcessRecord>,
    /// Whether it is a reader whose timer has ended: the next one that asks takes it out.
    pub is_dead: bool,
}

impl ListedHolder {
    /// For how long it holds the lock, if its process tells.
    #[must_use]
    pub fn held_for(&self) -> Option<Duration> {
        self.process.as_ref().and_then(|process| process.held_for)
    }
}
