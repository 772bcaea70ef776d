//! The command's environment, and what it tells a palisade that the command starts.

use std::{env, process::Command};

use crate::hold::Hold;

/// The servers, comma separated. Passwords in it are not the command's business.
pub(crate) const SERVERS: &str = "PALISADE_SERVERS";
/// Says that a run has removed [`SERVERS`]: what its command asks of servers is not to be asked of those of a file.
pub(crate) const SERVERS_REMOVED: &str = "PALISADE_SERVERS_REMOVED";
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
        if env::var_os(SERVERS).is_some_and(|servers| !servers.is_empty()) {
            command.env(SERVERS_REMOVED, "1");
        }
        command.env_remove(SERVERS);
    }
}

/// The holds of the palisades that this one was started from.
pub(crate) fn outer_holders() -> Vec<String> {
    let holders = env::var(HOLDERS).unwrap_or_default();
    holders.split_ascii_whitespace().map(str::to_owned).collect()
}
