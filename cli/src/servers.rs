//! The servers that were named.

use std::{env, time::Duration};

use palisade::{
    Client, ClientBuilder, Masters, Quarantine,
    error::{BlessError, ConfigError},
    inspect::{Holder, Inspection},
    settings::{Credentials, Failover, Presence, Unidentified},
};
use rustix::{process::getpid, system::uname};

use crate::{
    args::{AfterFailover, ReleasesTold, ServerArgs, VotesOfUnknown, WhichWait},
    config::{self, Config, Origin, Said, Set, url, value},
    duration,
    env::{SERVERS, SERVERS_REMOVED},
    events,
    exit::{self, Failure},
    tls,
};

/// The servers, and our connections to them.
#[derive(Debug)]
pub(crate) struct Servers {
    masters: Masters,
    max_lease: Duration,
    said: Said,
}

impl Servers {
    /// Those that are set, wherever that is said. Connects to nothing yet.
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
        let config = Config::of(args)?;
        config.check_servers_are_meant(&args.files)?;
        let said = config.said;
        let Some(urls) = &said.servers else {
            return Err(Failure::usage(no_server_is_named()));
        };
        let (settings, max_lease) = caps_on_leases(&said)?;
        let settings =
            settings.name(&our_name()).namespace(&value(&said.namespace).unwrap_or_default());
        let settings = with_password(&said, more(rules_of_votes(&said, settings)))?;
        let tls = tls::named(&said, &urls.value)?;
        let clients = urls.value.iter().enumerate().map(|(at, url)| {
            let settings = settings.clone().url(url);
            let settings = match &tls {
                Some(tls) if tls::is_spoken(url) => settings.tls(tls.clone()),
                _ => settings,
            };
            settings.build().map_err(|error| unusable(&said, at + 1, url, &error))
        });
        let clients = clients.collect::<Result<Vec<_>, _>>()?;
        let code = urls.by.code();
        let masters = Masters::new(clients).map_err(|error| Failure::new(code, error))?;
        Ok(Self { masters, max_lease, said })
    }

    pub(crate) fn len(&self) -> usize {
        self.masters.clients().len()
    }

    /// The cap on every lease.
    pub(crate) fn max_lease(&self) -> Duration {
        self.max_lease
    }

    /// Whether one is replaced by a replica when it dies, and nothing guards against its going on beside that, cut off
    /// with some clients.
    pub(crate) fn may_be_cut_off(&self) -> bool {
        let replicas = value(&self.said.replicas).unwrap_or_default();
        self.has_replicas() && replicas == 0 && self.failover_lag().is_zero()
    }

    /// Whether a replica takes the place of one that dies.
    pub(crate) fn has_replicas(&self) -> bool {
        let urls = self.said.servers.iter().flat_map(|set| &set.value);
        urls.into_iter().any(|url| url::has_replicas(url))
    }

    /// Whether one server by itself grants nothing for as long as it may have forgotten locks.
    pub(crate) fn waits_if_alone(&self) -> bool {
        let waits = value(&self.said.quarantine);
        matches!(waits, Some(WhichWait::Always | WhichWait::Strict))
    }

    /// By how much clocks may differ, if that was said.
    pub(crate) fn clock_skew(&self) -> Option<Duration> {
        value(&self.said.clock_skew)
    }

    /// For how long a master that was replaced may go on.
    pub(crate) fn failover_lag(&self) -> Duration {
        value(&self.said.failover_lag).unwrap_or_default()
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

/// Settings with whose votes count, and when, and how it is told.
fn rules_of_votes(said: &Said, mut settings: ClientBuilder) -> ClientBuilder {
    settings = settings
        .replicas(value(&said.replicas).unwrap_or_default())
        .failover_lag(value(&said.failover_lag).unwrap_or_default())
        .tracking(value(&said.tracking).unwrap_or(true));
    if let Some(ReleasesTold::On | ReleasesTold::Off) = value(&said.sharded_pubsub) {
        settings = settings.sharded_pubsub(value(&said.sharded_pubsub) == Some(ReleasesTold::On));
    }
    if let Some(which) = value(&said.quarantine) {
        settings = settings.quarantine(match which {
            WhichWait::Several => Quarantine::Composites,
            WhichWait::Always => Quarantine::Always,
            WhichWait::Strict => Quarantine::Strict,
            WhichWait::Durable => Quarantine::Durable,
        });
    }
    if let Some(promoted) = value(&said.failover) {
        settings = settings.failover(match promoted {
            AfterFailover::Wait => Failover::Wait,
            AfterFailover::Trust => Failover::Trust,
        });
    }
    if let Some(unknown) = value(&said.unidentified) {
        settings = settings.unidentified(match unknown {
            VotesOfUnknown::Refuse => Unidentified::Refuse,
            VotesOfUnknown::Trust => Unidentified::Trust,
        });
    }
    match value(&said.clock_skew) {
        Some(skew) => settings.clock_skew(skew),
        None => settings,
    }
}

/// Settings with the caps, and the one on every lease.
fn caps_on_leases(said: &Said) -> Result<(ClientBuilder, Duration), Failure> {
    let cap = value(&said.max_lease).unwrap_or(MAX_LEASE);
    let settings = Client::builder().max_lease(cap);
    match &said.fleet_max_lease {
        None => Ok((settings, cap)),
        Some(set) if set.value < LEAST_FLEET_MAX_LEASE => Err(Failure::new(
            set.by.code(),
            format_args!(
                "{}--fleet-max-lease {} is less than {}: the clocks of servers may differ by more",
                set.by.place(),
                duration::show(set.value),
                duration::show(LEAST_FLEET_MAX_LEASE)
            ),
        )),
        Some(set) => Ok((settings.fleet_max_lease(set.value), cap.min(set.value))),
    }
}

/// Settings with a password that is read for each connection, so that another may take its place meanwhile.
fn with_password(said: &Said, settings: ClientBuilder) -> Result<ClientBuilder, Failure> {
    let Some(Set { value: path, by }) = &said.password_file else { return Ok(settings) };
    // Before anything is asked for: it is the same each time that nothing waits for.
    let (first, is_lasting) = config::password(path).map_err(|failure| {
        let why = failure.message().unwrap_or_default();
        Failure::new(exit::CONFIGURATION, format_args!("{}{why}", by.place()))
    })?;
    if !is_lasting {
        return Ok(settings.credentials(move || {
            let credentials = Credentials::password(&first);
            async move { Ok::<_, String>(credentials) }
        }));
    }
    let path = path.clone();
    Ok(settings.credentials(move || {
        let path = path.clone();
        async move {
            let read = tokio::task::spawn_blocking(move || config::password(&path));
            let read = read.await.map_err(|error| error.to_string())?;
            let unreadable = |failure: Failure| failure.message().unwrap_or_default().to_owned();
            read.map(|(password, _)| Credentials::password(&password)).map_err(unreadable)
        }
    }))
}

/// Why the server that was named as the `number`th cannot be used.
fn unusable(said: &Said, number: usize, url: &str, error: &ConfigError) -> Failure {
    if let ConfigError::InvalidSetting { setting, .. } = error {
        if *setting == "clock" {
            // The system refused a thread or a timer.
            return Failure::new(exit::SYSTEM, error);
        }
        if let Some(by) = origin_of(said, setting) {
            return Failure::new(by.code(), format_args!("{}{error}", by.place()));
        }
    }
    let (code, place) = match &said.servers {
        Some(Set { by, .. }) => (by.code(), by.place()),
        None => (exit::USAGE, String::new()),
    };
    Failure::new(code, format_args!("{place}server {number}: {error}{}", if_list(url)))
}

/// Where a setting of the library was said.
fn origin_of<'a>(said: &'a Said, setting: &str) -> Option<&'a Origin> {
    let by = |set: &'a Option<Set<Duration>>| set.as_ref().map(|set| &set.by);
    match setting {
        "namespace" => said.namespace.as_ref().map(|set| &set.by),
        "replicas" => said.replicas.as_ref().map(|set| &set.by),
        "max_lease" => by(&said.max_lease),
        "fleet_max_lease" => by(&said.fleet_max_lease),
        "clock_skew" => by(&said.clock_skew),
        "failover_lag" => by(&said.failover_lag),
        _ => None,
    }
}

/// Help for a list where an URL is expected.
fn if_list(url: &str) -> String {
    if url.contains(',') {
        format!("; several servers are named by -s URL once for each server, or by {SERVERS}")
    } else {
        String::new()
    }
}

/// The library's default cap on leases.
const MAX_LEASE: Duration = Duration::from_secs(60);
/// With a shorter one a server that has forgotten its counters would be back before clocks that
/// differ by the library's 5 s agree that time has passed.
const LEAST_FLEET_MAX_LEASE: Duration = Duration::from_secs(4);

/// How long to wait for releases at the end: servers that are there have answered long before.
const CLOSING: Duration = Duration::from_millis(500);

/// A palisade inside of another one has its servers by no fault of its own.
fn no_server_is_named() -> String {
    let outer = env::var_os(SERVERS_REMOVED).map(|_| {
        format!(
            ": the `palisade run` that this was started from does not pass its own on, unless it has {SERVERS} set and \
             --keep-env"
        )
    });
    format!(
        "no server is named{}; use -s URL, {SERVERS} or `servers` in a file (see `palisade config show`)",
        outer.unwrap_or_default()
    )
}
