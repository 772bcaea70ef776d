//! The servers that were named, and the lock on them that follows: one server, a majority, or all.

use std::{env, time::Duration};

use palisade::{
    AcquireError, Client, ConfigError, Inspection, Lease, LockGuard, Masters, MultiLock, OnOutage,
    RedLock,
};

use crate::{
    args::ServerArgs,
    env::SERVERS,
    exit::{Failure, USAGE},
    holder,
};

/// The servers, and our connections to them.
#[derive(Debug)]
pub(crate) struct Servers {
    /// In the order of the masters' clients. They may hold passwords: never to be printed.
    urls: Vec<Url>,
    masters: Masters,
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
        let name = holder::our_name();
        let clients = urls.iter().enumerate().map(|(at, url)| {
            let client = Client::builder().url(url).name(&name).build();
            client.map_err(|error| Failure::usage(format_args!("server {}: {error}", at + 1)))
        });
        let masters = Masters::new(clients.collect::<Result<Vec<_>, _>>()?).map_err(unusable)?;
        Ok(Self { urls: urls.into_iter().map(Url).collect(), masters })
    }

    pub(crate) fn len(&self) -> usize {
        self.urls.len()
    }

    pub(crate) fn urls(&self) -> &[Url] {
        &self.urls
    }

    /// The lock `name` with one server, over a majority of several, or over `all` of them.
    pub(crate) fn lock(&self, name: &str, all: bool) -> Lock {
        match self.masters.clients() {
            [only] => Lock::Single(only.lock(name)),
            _ if all => Lock::All(self.masters.multi_lock(name)),
            _ => Lock::Majority(self.masters.red_lock(name)),
        }
    }

    /// What each server says of the lock `name`, in the order in which they were named.
    pub(crate) async fn inspect(&self, name: &str) -> Inspection {
        self.masters.inspect(name).await
    }

    /// Waits until what was to be given back is given back, but not for long: what is left ends
    /// with its lease.
    pub(crate) async fn close(&self) {
        let _left_to_its_lease = self.masters.shutdown(CLOSING).await;
    }
}

/// A lock of one of the three sorts.
#[derive(Debug, Clone)]
pub(crate) enum Lock {
    Single(palisade::Lock),
    Majority(RedLock),
    All(MultiLock),
}

/// The same call on whichever lock it is.
macro_rules! on {
    ($any:expr, $lock:ident => $call:expr) => {
        match $any {
            Lock::Single($lock) => $call,
            Lock::Majority($lock) => $call,
            Lock::All($lock) => $call,
        }
    };
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
        let lease = Lease::WatchdogOf(lease);
        on!(self, lock => {
            let lock = lock.with_lease(lease);
            match patience {
                Patience::None => lock.try_acquire().await,
                Patience::For(limit) => lock.on_outage(OnOutage::Wait).try_acquire_for(limit).await,
                Patience::Forever => lock.acquire().await.map(Some),
            }
        })
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

fn unusable(error: ConfigError) -> Failure {
    Failure::new(USAGE, error)
}

/// How long to wait for releases at the end: servers that are there have answered long before.
const CLOSING: Duration = Duration::from_millis(500);
