//! The command's environment, and what it tells a palisade that the command starts.

use std::{env, process::Command};

/// The servers, comma separated. Passwords in it are not the command's business.
pub(crate) const SERVERS: &str = "PALISADE_SERVERS";
/// The name of the lock.
const LOCK: &str = "PALISADE_LOCK";
/// What the servers know the hold by.
const HOLDER: &str = "PALISADE_HOLDER";
/// The same for every palisade that this one was started from, outermost first.
const HOLDERS: &str = "PALISADE_HOLDERS";

/// Sets what the command gets to see of the lock.
pub(crate) fn prepare(command: &mut Command, name: &str, holder: &str, keep_servers: bool) {
    let mut holders = outer_holders();
    holders.push(holder.to_owned());
    command.env(LOCK, name).env(HOLDER, holder).env(HOLDERS, holders.join(" "));
    if !keep_servers {
        command.env_remove(SERVERS);
    }
}

/// The holds of the palisades that this one was started from.
pub(crate) fn outer_holders() -> Vec<String> {
    let holders = env::var(HOLDERS).unwrap_or_default();
    holders.split_ascii_whitespace().map(str::to_owned).collect()
}
