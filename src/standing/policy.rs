//! Which locks are protected from servers that may have forgotten what they granted. Pure.

/// Which locks a client protects from a server that has lost what it granted.
///
/// Such a server would grant a lock that another client still holds through it. So its grants are not asked for
/// until every lease is over that it may have forgotten. That takes `max_lease` × 1.01 + 1 s + `clock_skew`, 66.6 s
/// by default, and less only where [`fleet_max_lease`](crate::ClientBuilder::fleet_max_lease) says so. Renewals and
/// releases are sent all the while.
///
/// That time runs from the start of its process, and a second longer, since servers tell their uptime in whole
/// ones. If its data is lost or replaced while the process runs, it runs from when that is noticed. For this a *mark*
/// is kept in the data, in the key `palisade:marker`. It names the run of the server that votes on it, and each
/// acquire compares it before it writes.
///
/// # Guarantees
/// - A restart, a crash and a new container are noticed, whichever clients are connected.
/// - So are FLUSHALL and FLUSHDB, a master that was made a replica and is one no longer, a replica that was promoted,
///   and a mark that was evicted. A client notices them also if it was idle meanwhile, or came later. Nothing is
///   granted there for the whole time, and a client that learns of it asks for all its holds there at once.
/// - Where `SCRIPT LOAD` may not be used, nothing outlives the data. A server that shows no mark of its own is waited
///   for then, however old the process is, and a warning says so.
/// - It costs one GET in each acquire, no further round trip but the first one after each connect,
///   and the rights for GET and SET of the key. Without them, and where the key holds something else, the
///   uptime alone decides, and a warning says so. A [cluster](crate::ClientBuilder::cluster) has a mark for
///   each master, which is looked at after each connect: what is noticed there is a little less.
/// - **Not noticed** are
///   - keys that are deleted or evicted one by one while the mark stays,
///   - an older copy of the data that has this run's own mark,
///   - SCRIPT FLUSH before FLUSHALL, or CONFIG RESETSTAT after a promotion, by clients that come later,
///   - FLUSHALL within the round trip of a run's first mark,
///   - any loss, by a client without those rights, until a minute after it got them.
/// - The wall clock of a server must not be set forward by more than `clock_skew` in that time: its
///   uptime follows it. Start Redis after the clock is set.
///
/// # Examples
/// ```
/// # fn main() -> Result<(), palisade::error::ConfigError> {
/// use palisade::{Client, Quarantine};
///
/// let builder = Client::builder().url("redis://127.0.0.1:6379");
/// let client = builder.quarantine(Quarantine::Always).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Quarantine {
    /// `MultiLock` and `RedLock`. Not a `MultiLock` whose members all have one address, in whatever
    /// databases: that server forgets all of them together, and it is no safer than a `Lock`.
    #[default]
    Composites,
    /// A `Lock` by itself too: for that long after a restart it cannot be acquired.
    Always,
    /// The same, and a server whose data has no mark at all waits too, once, however long it has
    /// been running, unless it is blessed. That covers proxies that hide which server it is, and
    /// what was lost before there was a mark. Without the rights for the mark nothing is granted.
    Strict,
    /// None: the caller's word that the server does not forget, for instance since it runs with
    /// `appendfsync always` and does not evict.
    Durable,
}

/// What becomes of the votes of a master that was a replica before: a failover promotes one, and it may
/// not have what the master had granted a moment before.
///
/// # Examples
/// ```
/// # fn main() -> Result<(), palisade::error::ConfigError> {
/// use palisade::{Client, settings::{Failover, Sentinels}};
///
/// let sentinels = Sentinels::new(["sentinel-1", "sentinel-2", "sentinel-3"], "orders");
/// let client = Client::builder().sentinels(sentinels).failover(Failover::Trust).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Failover {
    /// They do not count until every lease is over that it may not have: [`Quarantine::Always`] at
    /// least. After a failover, planned or not, nothing can be acquired for that time, 66.6 s by default.
    /// What is held is renewed all the while, and written again if it was not replicated: it was not
    /// granted to another meanwhile.
    ///
    /// It does not help against a master that is **cut off together with some of its clients** and goes on
    /// renewing their locks for longer: that needs [`replicas`](crate::ClientBuilder::replicas), or
    /// `min-replicas-to-write 1` on the master and
    /// [`failover_lag`](crate::ClientBuilder::failover_lag). Java's clients never wait.
    #[default]
    Wait,
    /// They count at once: the caller's word that a lock that two hold after a failover does no harm. A
    /// hold that was not replicated is lost.
    Trust,
}

/// What is looked at before a member is asked for its vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Vetting {
    /// Nothing.
    None,
    /// Whether its process has been running for long enough, or was blessed, and whether its data is
    /// still marked as that on which it votes.
    Usual,
    /// The same, where data without any mark counts as lost.
    Strict,
}

impl Quarantine {
    /// Where a master may be promoted: nothing does not forget there.
    pub(crate) const fn of_promoted(self) -> Self {
        match self {
            Self::Strict => Self::Strict,
            Self::Always | Self::Composites | Self::Durable => Self::Always,
        }
    }

    /// For a lock by itself.
    pub(crate) const fn of_single(self) -> Vetting {
        match self {
            Self::Strict => Vetting::Strict,
            Self::Always => Vetting::Usual,
            Self::Composites | Self::Durable => Vetting::None,
        }
    }

    /// For a member of a composite.
    pub(crate) const fn of_composite(self) -> Vetting {
        match self {
            Self::Strict => Vetting::Strict,
            Self::Always | Self::Composites => Vetting::Usual,
            Self::Durable => Vetting::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vetting_is_that_of_the_table() {
        for (quarantine, single, composite) in [
            (Quarantine::Durable, Vetting::None, Vetting::None),
            (Quarantine::Composites, Vetting::None, Vetting::Usual),
            (Quarantine::Always, Vetting::Usual, Vetting::Usual),
            (Quarantine::Strict, Vetting::Strict, Vetting::Strict),
        ] {
            assert_eq!(quarantine.of_single(), single, "{quarantine:?}");
            assert_eq!(quarantine.of_composite(), composite, "{quarantine:?}");
        }
    }
}
