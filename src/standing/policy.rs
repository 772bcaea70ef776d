//! Which locks are protected from servers that may have forgotten what they granted. Pure.

/// Which locks a client protects from a server that was restarted without its data.
///
/// Such a server would grant a lock that another client still holds through it. So its grants are
/// not asked for until every lease is over that it may have forgotten: for `max_lease` × 1.01 +
/// 1 s + `clock_skew` after its process has started, and a second, since servers tell their uptime
/// in whole ones. That is 67.6 s by default. Renewals and releases are sent all the while.
/// It costs nothing once the time is over, except with `Strict`.
///
/// # Guarantees
/// - A restart, a crash and a new container are noticed, whoever else is connected.
/// - A replica that was promoted has been running for long: only clients that knew the master
///   before it notice.
/// - FLUSHALL is noticed by `Strict` only; eviction and keys deleted one by one are not.
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
    /// `MultiLock` and `RedLock`.
    #[default]
    Composites,
    /// A `Lock` by itself too: for that long after a restart nobody acquires it.
    Always,
    /// The same, and each acquire looks at a marker on the server, in the same script. A server
    /// that has lost its marker does not vote for that long either. That covers whatever loses all
    /// keys without a restart, such as FLUSHALL, and proxies that hide a restart. A server that
    /// never had a marker waits once too, unless it is blessed. It costs one GET in each acquire,
    /// and the rights for GET and SET of the key `palisade:marker`. All clients of a server should
    /// be as strict.
    Strict,
    /// None: the caller's word that the server does not forget, for instance since it runs with
    /// `appendfsync always` and does not evict.
    Durable,
}

/// What is looked at before a member is asked for its vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vetting {
    /// Nothing.
    None,
    /// Whether its process has been running for long enough, or was blessed.
    Uptime,
    /// The same, and whether it still has its marker.
    Marker,
}

impl Quarantine {
    /// For a lock by itself.
    pub(crate) const fn of_single(self) -> Vetting {
        match self {
            Self::Strict => Vetting::Marker,
            Self::Always => Vetting::Uptime,
            Self::Composites | Self::Durable => Vetting::None,
        }
    }

    /// For a member of a composite.
    pub(crate) const fn of_composite(self) -> Vetting {
        match self {
            Self::Strict => Vetting::Marker,
            Self::Always | Self::Composites => Vetting::Uptime,
            Self::Durable => Vetting::None,
        }
    }
}
