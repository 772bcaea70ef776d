//! The command's environment, and what it tells a palisade that the command starts.

use std::{env, process::Command};

use crate::{
    args::{LockArgs, ServerArgs},
    hold::Hold,
};

/// The servers, comma separated. Passwords in it are not the command's business.
pub(crate) const SERVERS: &str = "PALISADE_SERVERS";
/// Says that a run has servers that it does not pass on, of [`SERVERS`] or of an option, since there may be passwords in
/// them: what its command asks of servers is not to be asked of those of a file.
pub(crate) const SERVERS_REMOVED: &str = "PALISADE_SERVERS_REMOVED";
/// The file of settings, and the profile in it.
pub(crate) const CONFIG: &str = "PALISADE_CONFIG";
pub(crate) const PROFILE: &str = "PALISADE_PROFILE";
/// The name of the lock.
const LOCK: &str = "PALISADE_LOCK";
/// What the servers know the hold by.
const HOLDER: &str = "PALISADE_HOLDER";
/// The same for every palisade that this one was started from, outermost first: of permits, all of them.
const HOLDERS: &str = "PALISADE_HOLDERS";
/// The fencing token, with several servers.
const TOKEN: &str = "PALISADE_TOKEN";

/// Sets what the command gets to see of the lock.
pub(crate) fn prepare(command: &mut Command, lock: &LockArgs, hold: &Hold, keep_servers: bool) {
    let Hold { guard, ids } = hold;
    let mut holders = outer_holders();
    holders.extend_from_slice(ids);
    command.env(LOCK, &lock.name).env(HOLDER, guard.holder_id()).env(HOLDERS, holders.join(" "));
    match guard.fencing_token() {
        Some(token) => command.env(TOKEN, token.to_string()),
        // That of an outer run says nothing about this lock.
        None => command.env_remove(TOKEN),
    };
    point_to_the_same_servers(command, &lock.servers, keep_servers);
}

/// A palisade that the command calls asks the same servers, or says that it does not know them.
fn point_to_the_same_servers(command: &mut Command, args: &ServerArgs, keep_servers: bool) {
    let is_set = env::var_os(SERVERS).is_some_and(|servers| !servers.is_empty());
    if !args.servers.is_empty() || is_set && !keep_servers {
        command.env(SERVERS_REMOVED, "1");
    }
    if !keep_servers {
        command.env_remove(SERVERS);
    }
    if let Some(profile) = &args.files.profile {
        command.env(PROFILE, profile);
    }
    let of_variable = || env::var_os(CONFIG).filter(|path| !path.is_empty()).map(Into::into);
    let config = args.files.config.clone().or_else(of_variable);
    // The command may go elsewhere.
    if let Some(Ok(config)) = config.map(std::path::absolute) {
        command.env(CONFIG, config);
    }
}

/// The holds of the palisades that this one was started from.
pub(crate) fn outer_holders() -> Vec<String> {
    let holders = env::var(HOLDERS).unwrap_or_default();
    holders.split_ascii_whitespace().map(str::to_owned).collect()
}
