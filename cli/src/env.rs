//! The command's environment, and what it tells a palisade that the command starts.

use std::{
    env::{self, VarError},
    process::Command,
    time::Duration,
};

use palisade::LockGuard;

use crate::{duration, exit::Failure};

/// The servers, comma separated. Passwords in it are not the command's business.
pub(crate) const SERVERS: &str = "PALISADE_SERVERS";
/// The longest lease that anybody uses on the servers.
pub(crate) const MAX_LEASE: &str = "PALISADE_MAX_LEASE";
/// What stands before the names of locks in their keys.
const NAMESPACE: &str = "PALISADE_NAMESPACE";
/// The name of the lock.
const LOCK: &str = "PALISADE_LOCK";
/// What the servers know the hold by.
const HOLDER: &str = "PALISADE_HOLDER";
/// The same for every palisade that this one was started from, outermost first.
const HOLDERS: &str = "PALISADE_HOLDERS";
/// The fencing token, with several servers.
const TOKEN: &str = "PALISADE_TOKEN";

/// Sets what the command gets to see of the lock.
pub(crate) fn prepare(command: &mut Command, name: &str, guard: &LockGuard, keep_servers: bool) {
    let holder = guard.holder_id();
    let mut holders = outer_holders();
    holders.push(holder.to_owned());
    command.env(LOCK, name).env(HOLDER, holder).env(HOLDERS, holders.join(" "));
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
    let said = env::var(MAX_LEASE).unwrap_or_default();
    if said.is_empty() {
        return Ok(None);
    }
    let lease = duration::parse(&said);
    lease.map(Some).map_err(|wrong| Failure::usage(format_args!("{MAX_LEASE}={said}: {wrong}")))
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
