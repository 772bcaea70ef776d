//! The servers that were named.

use std::time::Duration;

use palisade::{
    Client, ClientBuilder, Masters, Quarantine,
    error::{BlessError, ConfigError},
    inspect::{Holder, Inspection},
    settings::{Failover, Presence, Unidentified},
};
use rustix::{process::getpid, system::uname};

use crate::{
    args::{AfterFailover, ServerArgs, VotesOfUnknown, WhichWait},
    duration,
    env::{self, SERVERS, failover_lag, fleet_max_lease, max_lease, namespace, replicas},
    events,
    exit::{Failure, USAGE},
    tls,
};

/// The servers, and our connections to them.
#[derive(Debug)]
pub(crate) struct Servers {
    masters: Masters,
    max_lease: Duration,
    /// One of them is replaced by a replica when it dies, and nothing guards against its living on.
    may_be_cut_off: bool,
    /// A replica takes the place of one that dies.
    has_replicas: bool,
    /// One server by itself grants nothing for as long as it may have forgotten locks.
    waits_if_alone: bool,
}

impl Servers {
    /// Reads the URLs from the command line, or else from the environment. Connects to nothing yet.
    pub(crate) fn named(args: &ServerArgs) -> Result<Self, Failure> {
        Self::with(args, |settings| settings)
    }

    /// The same for one that holds a lock for long, and says so.
    pub(crate) fn telling(args: &ServerArgs, note: Option<&str>) -> Result<Self, Failure> {
        Self::with(args, |settings| {
            let settings = settings.presence(Presence::EachHold);
            note.map_or(settings.clone(), |note| settings.note(note))
        })
    }

    fn with(
        args: &ServerArgs,
        more: impl FnOnce(ClientBuilder) -> ClientBuilder,
    ) -> Result<Self, Failure> {
        events::tell_on_stderr(args.verbose);
        let urls = if args.servers.is_empty() { from_env()? } else { args.servers.clone() };
        let (settings, max_lease) = caps_on_leases(args)?;
        let namespace = match &args.namespace {
            Some(given) => given.clone(),
            None => namespace()?,
        };
        let settings = settings.name(&our_name());
        let replicas = args.replicas.map_or_else(replicas, |given| Ok(Some(given)))?;
        let lag = args.failover_lag.map_or_else(failover_lag, |given| Ok(Some(given)))?;
        let (replicas, lag) = (replicas.unwrap_or_default(), lag.unwrap_or_default());
        let settings = settings.namespace(&namespace).replicas(replicas).failover_lag(lag);
        let settings = more(settings.tracking(args.tracking));
        let settings = rules_of_votes(args, settings)?;
        let is_guarded = replicas > 0 || !lag.is_zero();
        let has_replicas = urls.iter().any(|url| has_replicas(url));
        let may_be_cut_off = !is_guarded && has_replicas;
        let quarantine = args.quarantine.map_or_else(env::quarantine, |it| Ok(Some(it)))?;
        let waits_if_alone = matches!(quarantine, Some(WhichWait::Always | WhichWait::Strict));
        let tls = tls::named(&args.tls, &urls)?;
        let clients = urls.iter().enumerate().map(|(at, url)| {
            let settings = settings.clone().url(url);
            let settings = match &tls {
                Some(tls) if tls::is_spoken(url) => settings.tls(tls.clone()),
                _ => settings,
            };
            settings.build().map_err(|error| match error {
                ConfigError::InvalidSetting { setting: "namespace", .. } => Failure::usage(error),
                error => Failure::usage(format_args!("server {}: {error}{}", at + 1, if_list(url))),
            })
        });
        let masters = Masters::new(clients.collect::<Result<Vec<_>, _>>()?).map_err(unusable)?;
        Ok(Self { masters, max_lease, may_be_cut_off, has_replicas, waits_if_alone })
    }

    pub(crate) fn len(&self) -> usize {
        self.masters.clients().len()
    }

    /// The cap on every lease.
    pub(crate) fn max_lease(&self) -> Duration {
        self.max_lease
    }

    /// Whether a master that is cut off with some clients would go on beside its successor.
    pub(crate) fn may_be_cut_off(&self) -> bool {
        self.may_be_cut_off
    }

    pub(crate) fn has_replicas(&self) -> bool {
        self.has_replicas
    }

    pub(crate) fn waits_if_alone(&self) -> bool {
        self.waits_if_alone
    }

    pub(crate) fn masters(&self) -> &Masters {
        &self.masters
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

/// Whether this is where replicas take their masters' places.
fn has_replicas(url: &str) -> bool {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    scheme.ends_with("sentinel") || scheme.ends_with("cluster")
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

/// Settings with whose votes count, and when.
fn rules_of_votes(
    args: &ServerArgs,
    mut settings: ClientBuilder,
) -> Result<ClientBuilder, Failure> {
    if let Some(which) = args.quarantine.map_or_else(env::quarantine, |it| Ok(Some(it)))? {
        settings = settings.quarantine(match which {
            WhichWait::Several => Quarantine::Composites,
            WhichWait::Always => Quarantine::Always,
            WhichWait::Strict => Quarantine::Strict,
            WhichWait::Durable => Quarantine::Durable,
        });
    }
    if let Some(promoted) = args.failover.map_or_else(env::failover, |it| Ok(Some(it)))? {
        settings = settings.failover(match promoted {
            AfterFailover::Wait => Failover::Wait,
            AfterFailover::Trust => Failover::Trust,
        });
    }
    if let Some(unknown) = args.unidentified.map_or_else(env::unidentified, |it| Ok(Some(it)))? {
        settings = settings.unidentified(match unknown {
            VotesOfUnknown::Refuse => Unidentified::Refuse,
            VotesOfUnknown::Trust => Unidentified::Trust,
        });
    }
    let skew = args.clock_skew.map_or_else(env::clock_skew, |it| Ok(Some(it)))?;
    Ok(match skew {
        Some(skew) => settings.clock_skew(skew),
        None => settings,
    })
}

/// Settings with the caps, and the one on every lease.
fn caps_on_leases(args: &ServerArgs) -> Result<(ClientBuilder, Duration), Failure> {
    let cap = args.max_lease.map_or_else(max_lease, |given| Ok(Some(given)))?;
    let cap = cap.unwrap_or(MAX_LEASE);
    let settings = Client::builder().max_lease(cap);
    match args.fleet_max_lease.map_or_else(fleet_max_lease, |given| Ok(Some(given)))? {
        None => Ok((settings, cap)),
        Some(longest) if longest < LEAST_FLEET_MAX_LEASE => Err(Failure::usage(format_args!(
            "--fleet-max-lease {} is less than {}: the clocks of servers may differ by more",
            duration::show(longest),
            duration::show(LEAST_FLEET_MAX_LEASE)
        ))),
        Some(longest) => Ok((settings.fleet_max_lease(longest), cap.min(longest))),
    }
}

fn from_env() -> Result<Vec<String>, Failure> {
    let named = std::env::var(SERVERS).unwrap_or_default();
    let urls = split(&named);
    if urls.is_empty() {
        return Err(Failure::usage(format_args!("no server is named: use -s URL or {SERVERS}")));
    }
    Ok(urls)
}

/// The URLs in a comma separated list. Those of sentinels and clusters are lists themselves: what follows
/// such an URL and is no URL belongs to it.
fn split(list: &str) -> Vec<String> {
    let mut urls: Vec<String> = Vec::new();
    for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match urls.last_mut() {
            Some(last) if has_replicas(last) && !part.contains("://") => {
                last.push(',');
                last.push_str(part);
            }
            _ => urls.push(part.to_owned()),
        }
    }
    urls
}

/// Help for a list where an URL is expected.
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
const LEAST_FLEET_MAX_LEASE: Duration = Duration::from_secs(4);

/// How long to wait for releases at the end: servers that are there have answered long before.
const CLOSING: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_servers_are_cut_at_the_commas_between_them_alone() {
        let (sentinels, cluster) = ("redis+sentinel://a,b:26380,c/svc?x=1", "redis+cluster://d,e");
        for (list, urls) in [
            ("redis://a, redis://b,", vec!["redis://a", "redis://b"]),
            (sentinels, vec![sentinels]),
            (&format!("{sentinels},redis://x"), vec![sentinels, "redis://x"]),
            (&format!("redis://x,{cluster},{sentinels}"), vec!["redis://x", cluster, sentinels]),
            // No URL: an error says so.
            ("redis://a,b", vec!["redis://a", "b"]),
            ("", vec![]),
        ] {
            assert_eq!(split(list), urls, "{list}");
        }
    }
}
