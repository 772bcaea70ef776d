//! The settings of a client, each with its default.

use std::{collections::BTreeMap, fmt, io, sync::Arc, time::Duration};

#[cfg(feature = "embedded")]
use super::SimulatedProcess;
use super::{Client, address::ServerAddress};
use crate::{
    clock::Clock,
    error::{ConfigError, ConnectError, Shown},
    kinds::scripts,
    lease::MIN_WATCHDOG,
    metering::Meters,
    node::Node,
    presence::{Presence, ProcessIdentity, check_labels, check_note},
    process::{NodeServices, Process, ServiceSettings},
    reach::{NodeSettings, Replicated, Sharding, Spin},
    standing::{
        Failover, Quarantine, USUAL_LEASE, USUAL_SKEW, Unidentified, VotingRules, longest_lease,
        quarantine_length,
    },
    wait::LocalHandover,
    wire::key,
};

/// Sets up a [`Client`], or with [`Masters::connect_with`](super::Masters::connect_with) one of each
/// of several masters.
///
/// # Examples
/// ```
/// # fn main() -> Result<(), palisade::error::ConfigError> {
/// use std::time::Duration;
/// use palisade::Client;
///
/// let client = Client::builder()
///     .url("redis://127.0.0.1:6379")
///     .name("billing")
///     .max_lease(Duration::from_secs(30))
///     .build()?;
/// assert_eq!(client.node_id().as_str(), "127.0.0.1:6379/0");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct ClientBuilder {
    pub(super) address: ServerAddress,
    name: String,
    node_timeout: Duration,
    connect_timeout: Duration,
    max_lease: Duration,
    fleet_max_lease: Option<Duration>,
    watchdog_lease: Duration,
    max_hold: Option<Duration>,
    redisson_watchdog: Duration,
    clock_skew: Duration,
    spin: Spin,
    local_handover: LocalHandover,
    tracking: bool,
    warn_held: Option<Duration>,
    presence: Presence,
    metrics_group: Option<String>,
    note: Option<String>,
    labels: BTreeMap<String, String>,
    quarantine: Quarantine,
    unidentified: Unidentified,
    failover: Failover,
    failover_lag: Duration,
    pub(super) sharded_pubsub: Option<bool>,
    replicas: u32,
    replicas_timeout: Duration,
    namespace: String,
    redact_names: bool,
    process: Option<Arc<Process>>,
    clock: Option<Arc<dyn Clock>>,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            address: ServerAddress::default(),
            name: String::new(),
            node_timeout: Duration::from_millis(500),
            connect_timeout: Duration::from_secs(1),
            max_lease: USUAL_LEASE,
            fleet_max_lease: None,
            watchdog_lease: Duration::from_secs(30),
            max_hold: None,
            redisson_watchdog: Duration::from_secs(30),
            clock_skew: USUAL_SKEW,
            spin: Spin::default(),
            local_handover: LocalHandover::default(),
            tracking: true,
            warn_held: None,
            presence: Presence::default(),
            metrics_group: None,
            note: None,
            labels: BTreeMap::new(),
            quarantine: Quarantine::default(),
            unidentified: Unidentified::default(),
            failover: Failover::default(),
            failover_lag: Duration::ZERO,
            sharded_pubsub: None,
            replicas: 0,
            replicas_timeout: Duration::from_millis(500),
            namespace: String::new(),
            redact_names: false,
            process: None,
            clock: None,
        }
    }
}

impl ClientBuilder {
    /// Shown after the process' id in the server's CLIENT LIST. Defaults to nothing.
    pub fn name(mut self, name: &str) -> Self {
        self.name = name.to_owned();
        self
    }

    /// The most one node may take to answer; a tenth of the lease if that is less. Defaults to
    /// 500 ms.
    ///
    /// Within that time an acquire or a release whose socket breaks is asked once more on the next
    /// one. A socket on which nothing was heard for 10 s is taken for broken if a call is not answered
    /// in half of the time.
    pub fn node_timeout(mut self, limit: Duration) -> Self {
        self.node_timeout = limit;
        self
    }

    /// The most a connection may take to be made. Defaults to 1 s.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = limit;
        self
    }

    /// The cap on every lease. Defaults to 60 s, or to [`fleet_max_lease`](Self::fleet_max_lease) if that is
    /// less.
    ///
    /// A server that was restarted does not vote for as long as a lease may last, at least for the 66.6 s that
    /// follow from the defaults. A smaller cap shortens no [quarantine](Self::quarantine), and clients with
    /// different caps may share servers, up to a minute.
    ///
    /// Above a minute all clients of these servers must be told, by this or by `fleet_max_lease`: one that is
    /// not does not wait longer leases out after masters restarted empty. Java's `leaseTime` is a lease, too:
    /// the `fleet_max_lease` covers one above a minute, nothing else does.
    pub fn max_lease(mut self, cap: Duration) -> Self {
        self.max_lease = cap;
        self
    }

    /// The longest lease that *any* client of these servers asks for, and the caller's word for all of
    /// them that their [`clock_skew`](Self::clock_skew) is no more than this client's. Defaults to
    /// [`max_lease`](Self::max_lease) and 5 s, or to 60 s and 5 s where that is more. A day at most.
    ///
    /// The [quarantine](Self::quarantine) follows from it, and nothing else makes that shorter than 66.6 s. If
    /// it is less than a lease that a client has, a second holder is granted what the first still holds.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> Result<(), palisade::error::ConfigError> {
    /// use std::time::Duration;
    /// use palisade::Client;
    ///
    /// let (longest, skew) = (Duration::from_secs(10), Duration::from_secs(1));
    /// let builder = Client::builder().url("redis://127.0.0.1:6379");
    /// // Restarted servers vote after 12.1 s.
    /// let client = builder.fleet_max_lease(longest).clock_skew(skew).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn fleet_max_lease(mut self, longest: Duration) -> Self {
        self.fleet_max_lease = Some(longest);
        self
    }

    /// The length of [`Lease::Watchdog`](crate::Lease). Defaults to 30 s, or to `max_lease` if that
    /// is less.
    pub fn watchdog_lease(mut self, lease: Duration) -> Self {
        self.watchdog_lease = lease;
        self
    }

    /// For how long the watchdog renews a hold at most, so that a program that hangs does not keep
    /// its locks for ever. Renewals then stop, and the hold is lost when its lease ends. Defaults
    /// to no limit.
    pub fn max_hold(mut self, limit: Duration) -> Self {
        self.max_hold = Some(limit);
        self
    }

    /// The `lockWatchdogTimeout` of the Java services that share [read/write locks](crate::RwLock): the
    /// least of all of them, and of the leases of their `MultiLock`s over read locks. Defaults to
    /// 30 s, as in Redisson.
    ///
    /// A renewal by a Java reader gives the whole lock that ttl, even if another reads for longer. So
    /// longer leases of read/write locks are [refused](ConfigError::LeaseAboveRedisson). Where no Java
    /// service reads, it may be as long as [`max_lease`](Self::max_lease).
    pub fn redisson_watchdog(mut self, lease: Duration) -> Self {
        self.redisson_watchdog = lease;
        self
    }

    /// By how much the clocks of servers and clients may differ. A server that was restarted waits
    /// that much longer before its votes count, and at least 5 s, unless
    /// [`fleet_max_lease`](Self::fleet_max_lease) is set. Defaults to 5 s.
    pub fn clock_skew(mut self, bound: Duration) -> Self {
        self.clock_skew = bound;
        self
    }

    /// Whether an answer is looked for, for a moment, before a thread sleeps until it comes. Defaults to
    /// [`Spin::Always`]. With a [clock](Self::clock) of the caller's it is off.
    pub fn spin(mut self, spin: Spin) -> Self {
        self.spin = spin;
        self
    }

    /// Whether a lock [passes](LocalHandover) from one user to the next of this process without a word
    /// to the server. Defaults to 50 ms in a row at most. Of a composite the strictest client counts.
    pub fn local_handover(mut self, local_handover: LocalHandover) -> Self {
        self.local_handover = local_handover;
        self
    }

    /// Whether a hold is told at once that its key was taken away: deleted, overwritten, renamed, evicted, or its ttl
    /// cut short. Otherwise it learns of that when it is renewed. Defaults to true.
    ///
    /// A hold that is older than 300 ms hears of such a change within 50 ms, *as long as* the connection for that stands,
    /// and the server's table of keys that are read (`tracking-table-max-keys`) is not full. It is so for 1,024 keys of a
    /// client and server at once, as each costs a read and a look with each renewal; holds beyond that learn of it when
    /// they are renewed. It is a connection more to each master, from the first hold of that age on. What a server tells
    /// so is a hint: only the answer to a look ends a hold.
    ///
    /// The user of the server needs the rights `+client|tracking +hlen`, for semaphores `+zcard`. Without them that is said
    /// once, and holds learn of it when they are renewed; after ten minutes the server is asked again.
    ///
    /// A swap of databases (`SWAPDB`) is not told, nor is a key that 16 or more hold at once.
    pub fn tracking(mut self, is_on: bool) -> Self {
        self.tracking = is_on;
        self
    }

    /// After which time it is said that a lock is held for long, by an event at `warn` with its name, its holder and for
    /// how long it is held; again after twice that time, four times, and so on. At least 1 ms. Defaults to never.
    ///
    /// It comes of the process that holds the lock, whatever its runtime does. What holds a lock in Redisson, or died
    /// with it, says nothing.
    pub fn warn_held_longer_than(mut self, limit: Duration) -> Self {
        self.warn_held = Some(limit.max(Duration::from_millis(1)));
        self
    }

    /// Of which holds operators are told, with host, process, program and [note](Self::note): on the servers, in one key
    /// a process, `palisade_process:{…}`. `palisade inspect` and [`Client::process_of`] show it. Defaults to
    /// [`Presence::LongHolds`].
    ///
    /// The watchdog writes it, at most once in 10 s, and again every 20 to 30 s while something is held for long. It
    /// costs an acquire nothing. After a crash it stands for 90 s. Where rights are restricted a user that
    /// may not is told so once, and its locks work as they do: [`Rights::untold`](crate::acl::Rights::untold).
    pub fn presence(mut self, presence: Presence) -> Self {
        self.presence = presence;
        self
    }

    /// What operators are told of this program, such as its job or its ticket: at most 256 bytes, seen by all that may
    /// read the servers. Defaults to nothing.
    pub fn note(mut self, note: &str) -> Self {
        self.note = Some(note.to_owned());
        self
    }

    /// The same, by name: at most 8, of 64 bytes each.
    pub fn label(mut self, name: &str, value: &str) -> Self {
        self.labels.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Which locks are protected from a server that has lost what it granted. Defaults to
    /// [`Quarantine::Composites`].
    pub fn quarantine(mut self, quarantine: Quarantine) -> Self {
        self.quarantine = quarantine;
        self
    }

    /// What becomes of votes of a server that does not tell when it was started, since the user may
    /// not ask `INFO server`. Defaults to [`Unidentified::Refuse`]: they do not count where there
    /// is a [quarantine](Self::quarantine).
    pub fn unidentified(mut self, unidentified: Unidentified) -> Self {
        self.unidentified = unidentified;
        self
    }

    /// What becomes of the votes of a master that was a replica before, behind
    /// [sentinels](Self::sentinels). Defaults to [`Failover::Wait`].
    pub fn failover(mut self, failover: Failover) -> Self {
        self.failover = failover;
        self
    }

    /// For how much longer a promoted master waits, where `min-replicas-to-write` guards against a
    /// master that is cut off together with its clients: its `min-replicas-max-lag` and a second. A day
    /// at most. Defaults to nothing. All clients of a master must agree on it.
    pub fn failover_lag(mut self, lag: Duration) -> Self {
        self.failover_lag = lag;
        self
    }

    /// How many replicas are to have each grant and each renewal before it counts: 1,000 at most. Defaults to 0, which
    /// asks none.
    ///
    /// A grant that is on fewer is [none](crate::error::NodeError::NotReplicated), and taken back. A renewal that is on fewer
    /// moves no deadline: it is repeated, and the lock is lost when the lease ends that replicas know of. Counts of
    /// re-entry, releases and latches are not waited for.
    ///
    /// # Guarantees
    /// Take more than can be cut off or lost *together with the master*. Then whichever replica is promoted by
    /// sentinels has every lock that is held: it has the newest data of those that are left. So 1 where the master
    /// alone fails, half of all replicas and one where a network can part. Replicas must be of one `replica-priority`:
    /// sentinels look at that first. With as many as there are, one that is down stops everything. A master that is cut
    /// off together with its clients renews nothing for them.
    ///
    /// It is not written to disks by then. It costs each grant a round trip of the master to its replicas, and one to
    /// the master, on a connection of its own. The user needs `+info`, `+wait`, and the channel `palisade:replicas`,
    /// with the [namespace](Self::namespace) before it. In a cluster, where such a message has no listener, it needs
    /// the keys `palisade_replicas:*`, one for a moment for each master.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> Result<(), palisade::error::ConfigError> {
    /// use palisade::{Client, settings::Sentinels};
    ///
    /// let sentinels = Sentinels::new(["sentinel-1", "sentinel-2", "sentinel-3"], "orders");
    /// let client = Client::builder().sentinels(sentinels).replicas(1).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn replicas(mut self, n: u32) -> Self {
        self.replicas = n;
        self
    }

    /// How long [replicas](Self::replicas) are waited for, from the answer of the master; a tenth of the
    /// lease if that is less, and a third for renewals. At least 1 ms. Defaults to 500 ms.
    pub fn replicas_timeout(mut self, limit: Duration) -> Self {
        self.replicas_timeout = limit;
        self
    }

    /// What stands before the names of locks in their keys, so that they meet no keys of others: with
    /// `shop:locks:` the lock `orders:42` is the key `shop:locks:orders:42`. Defaults to nothing.
    ///
    /// All clients that share a lock must agree on its key. For a Java service that is the name:
    /// channel and counters are those that Redisson has for a lock of the whole name. So are the
    /// rights that a user needs. The marker of the [quarantine](Self::quarantine) has the namespace
    /// too: each is blessed by itself.
    ///
    /// Locks, guards, errors and events go on to say the name alone. It may be at most 1024 bytes of
    /// text, without control characters; braces as in names. The limit for names counts it.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> Result<(), palisade::error::ConfigError> {
    /// use palisade::Client;
    ///
    /// let client = Client::builder().url("redis://127.0.0.1").namespace("shop:locks:").build()?;
    /// assert_eq!(client.lock("orders:42").name(), "orders:42");
    /// # Ok(())
    /// # }
    /// ```
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = namespace.to_owned();
        self
    }

    /// The label `group` of what is [measured](crate::metering), such as the part of a program that its locks are for: one
    /// of a few. Defaults to none.
    #[cfg(feature = "metrics")]
    pub fn metrics_group(mut self, group: &str) -> Self {
        self.metrics_group = Some(group.to_owned());
        self
    }

    /// Whether errors, `Debug` of locks and guards, and events name locks by a short digest that is
    /// the same everywhere (`lock#86f7e437`), and not by their names. It is for programs that must
    /// not log them. Defaults to no.
    ///
    /// It keeps names out of logs; it is no secret. A reader that guesses a name can compute its
    /// digest. [`LockGuard::name`](crate::LockGuard::name) and the servers still tell the name
    /// itself.
    pub fn redact_names(mut self, redact: bool) -> Self {
        self.redact_names = redact;
        self
    }

    /// The clock leases are measured by. Defaults to [`BootClock`](crate::clock::BootClock), with
    /// the watchdog that all clients of the process share; another clock brings its own watchdog.
    ///
    /// Clients that are to share a composite must share the clock: the same `Arc`.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// For simulations: one of a simulated process' clients. See [`SimulatedProcess`].
    #[cfg(feature = "embedded")]
    pub fn simulated(self, process: &SimulatedProcess) -> Self {
        self.process(process.0.clone())
    }

    /// Clients of one simulated process share it.
    #[cfg(feature = "embedded")]
    pub(crate) fn process(mut self, process: Arc<Process>) -> Self {
        self.process = Some(process);
        self
    }

    /// Makes the client without any I/O.
    ///
    /// # Errors
    /// [`ConfigError`] if a setting cannot work.
    pub fn build(self) -> Result<Client, ConfigError> {
        let max_lease = self.max_lease.min(self.longest_of_all());
        let watchdog_lease = self.watchdog_lease.min(max_lease);
        self.check(watchdog_lease)?;
        let (fleet_max_lease, quarantine) = (self.longest_of_all(), self.quarantine_length());
        let replicated = self.replicated();
        // By a clock that stands still a look would never end.
        let is_given = self.process.is_some();
        let is_real = !is_given && self.clock.is_none();
        let process = match (self.process, self.clock) {
            (Some(process), _) => process,
            (None, Some(clock)) => Process::with_clock(clock).map_err(no_thread)?,
            (None, None) => Process::global().map_err(no_thread)?,
        };
        let endpoint = self.address.endpoint(&process)?;
        let meters = Meters::shared(self.metrics_group.as_deref(), endpoint.id());
        let (is_cluster, db) = (endpoint.is_cluster(), endpoint.db());
        check_database(is_cluster, db)?;
        let sharded = self.sharded_pubsub;
        let sharding = if is_cluster { Sharding::of_cluster(sharded) } else { Sharding::none() };
        let waits_after_failover = self.failover == Failover::Wait && endpoint.may_fail_over();
        let promoted = self.quarantine.of_promoted();
        let protected = if waits_after_failover { promoted } else { self.quarantine };
        let told = (self.presence, self.note.as_deref(), &self.labels);
        let identity = identity(&process, is_given, told);
        let settings = ServiceSettings {
            node_timeout: self.node_timeout,
            connect_timeout: self.connect_timeout,
            max_lease,
            fleet_max_lease,
            watchdog_lease,
            max_hold: self.max_hold,
            redisson_watchdog: self.redisson_watchdog,
            local_handover: self.local_handover,
            clock_skew: self.clock_skew,
            margin: MARGIN,
            quarantine: protected,
            waits_after_failover,
            quarantine_length: quarantine,
            redact_names: self.redact_names,
            tracks: self.tracking,
            warn_held: self.warn_held,
            presence: self.presence,
            identity,
            meters: meters.clone(),
            named: named(&self.name),
            namespace: self.namespace.as_str().into(),
        };
        let marks = if endpoint.is_cluster() { key::marks_of_runs } else { key::marker };
        let node = Node::new(
            endpoint,
            NodeSettings {
                clock: process.clock.clone(),
                random: process.random.clone(),
                client_name: client_name(&process, &self.name),
                connect_timeout: self.connect_timeout,
                node_timeout: self.node_timeout,
                quiet_after: Duration::from_secs(10),
                frozen_after: 3,
                backoff_max: Duration::from_secs(2),
                margin: MARGIN,
                spin: if is_real { self.spin } else { Spin::Never },
                rules: VotingRules { quarantine, unidentified: self.unidentified, db },
                sharding,
                replicated,
                marker: marks(&self.namespace),
                meters,
                scripts: scripts::of_locks(),
            },
        );
        Ok(Client { services: NodeServices::new(node, process, settings) })
    }

    fn replicated(&self) -> Option<Replicated> {
        (self.replicas > 0).then(|| Replicated {
            by: self.replicas,
            within: self.replicas_timeout,
            channel: key::replicas_channel(&self.namespace),
            keys: key::replicas_keys(&self.namespace),
        })
    }

    /// Makes the client and connects.
    ///
    /// # Errors
    /// [`ConnectError`] if a setting cannot work or the server cannot be reached now.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection.
    pub async fn connect(self) -> Result<Client, ConnectError> {
        let client = self.build()?;
        client.services.check_runtime()?;
        match client.connected().await {
            Ok(()) => Ok(client),
            Err(source) => Err(ConnectError::Node { node: client.node_id().clone(), source }),
        }
    }

    /// The longest lease of any client, as far as this client is told.
    fn longest_of_all(&self) -> Duration {
        self.fleet_max_lease.unwrap_or_else(|| self.max_lease.max(USUAL_LEASE))
    }

    /// D. A program that has nothing to do with the others on its servers may be the first to see that
    /// they lost their data: what it sets for itself does not shorten their wait.
    fn quarantine_length(&self) -> Duration {
        let skew = match self.fleet_max_lease {
            Some(_) => self.clock_skew,
            None => self.clock_skew.max(USUAL_SKEW),
        };
        let length = quarantine_length(self.longest_of_all(), skew) + self.failover_lag;
        // Marks tell it in whole milliseconds.
        Duration::from_millis(
            u64::try_from(length.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX),
        )
    }

    fn check(&self, watchdog_lease: Duration) -> Result<(), ConfigError> {
        let invalid =
            |setting, reason: &str| ConfigError::InvalidSetting { setting, reason: reason.into() };
        check_note(self.note.as_deref().unwrap_or_default())?;
        check_labels(&self.labels)?;
        if watchdog_lease < MIN_WATCHDOG {
            let setting = match () {
                () if self.longest_of_all() < MIN_WATCHDOG => "fleet_max_lease",
                () if self.max_lease < MIN_WATCHDOG => "max_lease",
                () => "watchdog_lease",
            };
            return Err(invalid(setting, "must be at least 300 ms"));
        }
        let fleet_max_lease = self.fleet_max_lease.unwrap_or_default();
        for (setting, length) in [
            ("max_lease", self.max_lease),
            ("fleet_max_lease", fleet_max_lease),
            ("failover_lag", self.failover_lag),
        ] {
            if length > LONGEST {
                return Err(invalid(setting, "must be at most a day"));
            }
        }
        // The counter of fencing tokens may be ahead of its server by the skew, and the next
        // client's clock behind by it: what was forgotten must be older than both.
        if longest_lease(self.longest_of_all()) <= self.clock_skew {
            return Err(invalid("clock_skew", "must be less than fleet_max_lease × 1.01 + 1 s"));
        }
        if self.node_timeout < Duration::from_millis(1) {
            return Err(invalid("node_timeout", "must be at least 1 ms"));
        }
        if self.connect_timeout < Duration::from_millis(1) {
            return Err(invalid("connect_timeout", "must be at least 1 ms"));
        }
        if self.replicas > MOST_REPLICAS {
            return Err(invalid("replicas", "must be at most 1,000"));
        }
        if self.replicas_timeout < Duration::from_millis(1) {
            return Err(invalid("replicas_timeout", "must be at least 1 ms"));
        }
        if self.name.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(invalid("name", "must not contain spaces or control characters"));
        }
        self.local_handover.check()?;
        key::check_namespace(&self.namespace).map_err(|reason| invalid("namespace", reason))
    }
}

/// `palisade:<uuid>:<name>`: with the uuid operators find the process behind a holder id.
fn client_name(process: &Process, name: &str) -> Arc<str> {
    let uuid = process.uuid();
    if name.is_empty() { format!("palisade:{uuid}") } else { format!("palisade:{uuid}:{name}") }
        .into()
}

fn check_database(is_cluster: bool, db: i64) -> Result<(), ConfigError> {
    if is_cluster && db != 0 {
        let reason = "a cluster has no other database than 0".into();
        return Err(ConfigError::InvalidSetting { setting: "database", reason });
    }
    Ok(())
}

/// What operators are told of a process, if they are.
fn identity(
    process: &Process,
    is_given: bool,
    (presence, note, labels): (Presence, Option<&str>, &BTreeMap<String, String>),
) -> ProcessIdentity {
    match presence {
        Presence::Hidden => ProcessIdentity::default(),
        _ if is_given => ProcessIdentity::simulated(process.uuid()),
        _ => ProcessIdentity::of_system(process.clock.unix_time(), note, labels),
    }
}

/// What its runs are recorded by.
fn named(name: &str) -> Arc<str> {
    if name.is_empty() { format!("pid:{}", std::process::id()).into() } else { name.into() }
}

fn no_thread(error: io::Error) -> ConfigError {
    ConfigError::InvalidSetting {
        setting: "clock",
        reason: format!("the watchdog's thread cannot be started: {error}").into(),
    }
}

/// What we may be wrong about a server's clock: added to not-after stamps, and the difference from
/// which on a clock counts as set.
const MARGIN: Duration = Duration::from_millis(100);

/// No master has so many: it was meant to be something else, such as a time.
const MOST_REPLICAS: u32 = 1_000;

const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL may hold a password.
        f.debug_struct("ClientBuilder")
            .field("name", &Shown::new(&self.name))
            .field("namespace", &Shown::new(&self.namespace))
            .field("node_timeout", &self.node_timeout)
            .field("max_lease", &self.max_lease)
            .field("fleet_max_lease", &self.fleet_max_lease)
            .field("watchdog_lease", &self.watchdog_lease)
            .finish_non_exhaustive()
    }
}
