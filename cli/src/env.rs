//! The command's environment, and what it tells a palisade that the command starts.

use std::{
    env::{self, VarError},
    fmt::Display,
    process::Command,
    time::Duration,
};

use clap::ValueEnum;

use crate::{
    args::{AfterFailover, VotesOfUnknown, WhichWait},
    duration,
    exit::Failure,
    hold::Hold,
};

/// The servers, comma separated. Passwords in it are not the command's business.
pub(crate) const SERVERS: &str = "PALISADE_SERVERS";
/// The longest lease that the command may ask for.
const MAX_LEASE: &str = "PALISADE_MAX_LEASE";
/// The longest lease of any client of the servers.
const FLEET_MAX_LEASE: &str = "PALISADE_FLEET_MAX_LEASE";
/// How many replicas are to have each grant.
const REPLICAS: &str = "PALISADE_REPLICAS";
/// For how much longer a promoted master waits.
const FAILOVER_LAG: &str = "PALISADE_FAILOVER_LAG";
/// For which locks servers wait that may have forgotten some.
const QUARANTINE: &str = "PALISADE_QUARANTINE";
/// Whether promoted masters wait.
const FAILOVER: &str = "PALISADE_FAILOVER";
/// Whether votes of servers count that do not tell when they were started.
const UNIDENTIFIED: &str = "PALISADE_UNIDENTIFIED";
/// By how much clocks may differ.
const CLOCK_SKEW: &str = "PALISADE_CLOCK_SKEW";
/// What stands before the names of locks in their keys.
const NAMESPACE: &str = "PALISADE_NAMESPACE";
/// The name of the lock.
const LOCK: &str = "PALISADE_LOCK";
/// What the servers know the hold by.
const HOLDER: &str = "PALISADE_HOLDER";
/// The same for every palisade that this one was started from, outermost first: of permits, all of them.
const HOLDERS: &str = "PALISADE_HOLDERS";
/// The fencing token, with several servers.
const TOKEN: &str = "PALISADE_TOKEN";

/// Sets what the command gets to see of the lock.
pub(crate) fn prepare(command: &mut Command, name: &str, hold: &Hold, keep_servers: bool) {
    let Hold { guard, ids } = hold;
    let mut holders = outer_holders();
    holders.extend_from_slice(ids);
    command.env(LOCK, name).env(HOLDER, guard.holder_id()).env(HOLDERS, holders.join(" "));
    match guard.fencing_token() {
        Some(token) => command.env(TOKEN, token.to_string()),
        // That of an outer run says nothing about this lock.
        None => command.env_remove(TOKEN),
    };
    if !keep_servers {
        command.env_remove(SERVERS);
    }
}

/// What [`MAX_LEASE`] says, if it says anything.
pub(crate) fn max_lease() -> Result<Option<Duration>, Failure> {
    read(MAX_LEASE, duration::parse)
}

/// What [`FLEET_MAX_LEASE`] says, if it says anything.
pub(crate) fn fleet_max_lease() -> Result<Option<Duration>, Failure> {
    read(FLEET_MAX_LEASE, duration::parse)
}

/// What [`REPLICAS`] says, if it says anything.
pub(crate) fn replicas() -> Result<Option<u32>, Failure> {
    read(REPLICAS, str::parse)
}

/// What [`FAILOVER_LAG`] says, if it says anything.
pub(crate) fn failover_lag() -> Result<Option<Duration>, Failure> {
    read(FAILOVER_LAG, duration::parse)
}

/// What [`QUARANTINE`] says, if it says anything.
pub(crate) fn quarantine() -> Result<Option<WhichWait>, Failure> {
    read(QUARANTINE, one_of)
}

/// What [`FAILOVER`] says, if it says anything.
pub(crate) fn failover() -> Result<Option<AfterFailover>, Failure> {
    read(FAILOVER, one_of)
}

/// What [`UNIDENTIFIED`] says, if it says anything.
pub(crate) fn unidentified() -> Result<Option<VotesOfUnknown>, Failure> {
    read(UNIDENTIFIED, one_of)
}

/// What [`CLOCK_SKEW`] says, if it says anything.
pub(crate) fn clock_skew() -> Result<Option<Duration>, Failure> {
    read(CLOCK_SKEW, duration::parse)
}

fn one_of<T: ValueEnum>(said: &str) -> Result<T, String> {
    T::from_str(said, false).map_err(|_unknown| {
        let values = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<_> = values.map(|value| value.get_name().to_owned()).collect();
        format!("write {}", names.join(" or "))
    })
}

fn read<T, E: Display>(
    variable: &str,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Option<T>, Failure> {
    let said = env::var(variable).unwrap_or_default();
    if said.is_empty() {
        return Ok(None);
    }
    let read = parse(&said);
    read.map(Some).map_err(|wrong| Failure::usage(format_args!("{variable}={said}: {wrong}")))
}

/// What [`NAMESPACE`] says; nothing if it is not set.
pub(crate) fn namespace() -> Result<String, Failure> {
    match env::var(NAMESPACE) {
        Ok(namespace) => Ok(namespace),
        Err(VarError::NotPresent) => Ok(String::new()),
        Err(VarError::NotUnicode(_)) => {
            Err(Failure::usage(format_args!("{NAMESPACE} is not valid UTF-8")))
        }
    }
}

/// The holds of the palisades that this one was started from.
pub(crate) fn outer_holders() -> Vec<String> {
    let holders = env::var(HOLDERS).unwrap_or_default();
    holders.split_ascii_whitespace().map(str::to_owned).collect()
}
