//! The servers that were named, and the lock on them that follows: one server, a majority, or all.

use std::{env, time::Duration};

use palisade::{
    AcquireError, AnyLock, Client, FencedMultiLock, FencedRedLock, Lease, LockGuard, Masters,
    error::{BlessError, ConfigError},
    inspect::{Holder, Inspection},
};
use rustix::{process::getpid, system::uname};

use crate::{
    args::ServerArgs,
    duration,
    env::{SERVERS, max_lease, namespace},
    exit::{Failure, USAGE},
    tell,
};

/// The servers, and our connections to them.
#[derive(Debug)]
pub(crate) struct Servers {
    /// In the order of the masters' clients. They may hold passwords: never to be printed.
    urls: Vec<Url>,
    masters: Masters,
    max_lease: Duration,
}

/// One server's URL; `Debug` does not show it.
#[derive(Clone)]
pub(crate) struct Url(pub(crate) String);

impl std::fmt::Debug for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Url(…)")
    }
}

impl Servers {
    /// Reads the URLs from the command line, or else from the environment. Connects to nothing yet.
    pub(crate) fn named(args: &ServerArgs) -> Result<Self, Failure> {
        let urls = if args.servers.is_empty() { from_env()? } else { args.servers.clone() };
        let max_lease = cap_on_leases(args)?;
        let namespace = match &args.namespace {
            Some(given) => given.clone(),
            None => namespace()?,
        };
        let settings =
            Client::builder().name(&our_name()).max_lease(max_lease).namespace(&namespace);
        let clients = urls.iter().enumerate().map(|(at, url)| {
            settings.clone().url(url).build().map_err(|error| match error {
                ConfigError::InvalidSetting { setting: "namespace", .. } => Failure::usage(error),
                error => Failure::usage(format_args!("server {}: {error}{}", at + 1, if_list(url))),
            })
        });
        let masters = Masters::new(clients.collect::<Result<Vec<_>, _>>()?).map_err(unusable)?;
        Ok(Self { urls: urls.into_iter().map(Url).collect(), masters, max_lease })
    }

    pub(crate) fn len(&self) -> usize {
        self.urls.len()
    }

    pub(crate) fn urls(&self) -> &[Url] {
        &self.urls
    }

    /// The cap on every lease.
    pub(crate) fn max_lease(&self) -> Duration {
        self.max_lease
    }

    /// The lock `name` with one server, over a majority of several, or over `all` of them.
    pub(crate) fn lock(&self, name: &str, all: bool) -> Lock {
        match self.masters.clients() {
            [only] => Lock::Single(only.lock(name)),
            _ if all => Lock::All(self.masters.fenced_multi_lock(name)),
            _ => Lock::Majority(self.masters.fenced_red_lock(name)),
        }
    }

    /// What each server says of the lock `name`, in the order in which they were named.
    pub(crate) async fn inspect(&self, name: &str) -> Inspection {
        self.masters.inspect(name).await
    }

    /// Whether `holder` is this very process: what it was granted so far shows while it waits.
    pub(crate) fn see_us_in(&self, holder: &Holder) -> bool {
        self.masters.clients().iter().any(|client| client.is_own(holder))
    }

    /// The operator's word that they are new; by `force` also of servers that do not look so.
    pub(crate) async fn bless(&self, force: bool) -> Result<(), BlessError> {
        if force { self.masters.bless_by_force().await } else { self.masters.bless().await }
    }

    /// Waits until what was to be given back is given back, but not for long: what is left ends
    /// with its lease.
    pub(crate) async fn close(&self) {
        let _left_to_its_lease = self.masters.shutdown(CLOSING).await;
    }
}

/// A lock of one of the three sorts. Over several servers it is fenced: there a token costs
/// nothing, while on one it would leave a counter behind for ever.
#[derive(Debug, Clone)]
pub(crate) enum Lock {
    Single(palisade::Lock),
    Majority(FencedRedLock),
    All(FencedMultiLock),
}

/// How long to wait for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    None,
    For(Duration),
    Forever,
}

impl Lock {
    /// Acquires it with a renewed lease. `None`: another holds it.
    ///
    /// Too few servers are an error at once, except where a limit is given: then at its end.
    pub(crate) async fn acquire(
        self,
        lease: Duration,
        patience: Patience,
    ) -> Result<Option<LockGuard>, AcquireError> {
        match self {
            Self::Single(lock) => acquire(lock, lease, patience).await,
            Self::Majority(lock) => acquire(lock, lease, patience).await,
            Self::All(lock) => acquire(lock, lease, patience).await,
        }
    }
}

/// Acquires with patience. Servers that are too young to vote are a word at once, and then waited
/// for as anything else is.
async fn acquire(
    lock: impl AnyLock,
    lease: Duration,
    patience: Patience,
) -> Result<Option<LockGuard>, AcquireError> {
    let lock = lock.with_lease(Lease::WatchdogOf(lease));
    let guard = match (patience, lock.try_acquire().await) {
        (Patience::None, at_once) => at_once?,
        (_, Ok(Some(guard))) => Some(guard),
        (Patience::For(limit), Err(young @ AcquireError::Quarantined { counts_in, .. }))
            if limit < counts_in =>
        {
            return Err(young);
        }
        (patience, at_once) => {
            if let Err(young @ AcquireError::Quarantined { .. }) = &at_once {
                tell(format_args!("{young}; waiting (see `palisade bless --help`)"));
            }
            match patience {
                Patience::For(limit) => lock.try_acquire_for(limit).await?,
                _ => Some(lock.acquire().await?),
            }
        }
    };
    Ok(guard.map(Into::into))
}

/// The name our connections go by: the library puts `palisade:<uuid>:` before it, and the uuid is
/// also what our holder ids begin with.
pub(crate) fn our_name() -> String {
    let host: String = uname()
        .nodename()
        .to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '?' })
        .collect();
    format!("{host}:{}", getpid().as_raw_nonzero())
}

fn cap_on_leases(args: &ServerArgs) -> Result<Duration, Failure> {
    let named = match args.max_lease {
        Some(given) => Some(given),
        None => max_lease()?,
    };
    match named {
        Some(cap) if cap < LEAST_MAX_LEASE => Err(Failure::usage(format_args!(
            "--max-lease {} is less than {}: the clocks of servers may differ by more",
            duration::show(cap),
            duration::show(LEAST_MAX_LEASE)
        ))),
        named => Ok(named.unwrap_or(MAX_LEASE)),
    }
}

fn from_env() -> Result<Vec<String>, Failure> {
    let named = env::var(SERVERS).unwrap_or_default();
    let urls: Vec<String> =
        named.split(',').map(str::trim).filter(|url| !url.is_empty()).map(str::to_owned).collect();
    if urls.is_empty() {
        return Err(Failure::usage(format_args!("no server is named: use -s URL or {SERVERS}")));
    }
    Ok(urls)
}

/// What helps those who write a list where an URL is expected.
fn if_list(url: &str) -> String {
    if url.contains(',') {
        format!("; several servers are named by -s URL once for each server, or by {SERVERS}")
    } else {
        String::new()
    }
}

fn unusable(error: ConfigError) -> Failure {
    Failure::new(USAGE, error)
}

/// The library's default cap on leases.
const MAX_LEASE: Duration = Duration::from_secs(60);
/// With a shorter one a server that has forgotten its counters would be back before clocks that
/// differ by the library's 5 s agree that time has passed.
const LEAST_MAX_LEASE: Duration = Duration::from_secs(4);

/// How long to wait for releases at the end: servers that are there have answered long before.
const CLOSING: Duration = Duration::from_millis(500);
