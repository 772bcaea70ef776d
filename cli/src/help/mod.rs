//! What `--help` says beyond what stands beside each option: a file for each command.

pub(crate) mod acl;
pub(crate) mod bless;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod exporter;
pub(crate) mod hold;
pub(crate) mod inspect;
pub(crate) mod leader;
pub(crate) mod ls;
pub(crate) mod options;
pub(crate) mod permits;
pub(crate) mod run;
pub(crate) mod unlock;
pub(crate) mod watch;

pub(crate) const LONG_ABOUT: &str = "\
Runs a command while holding a lock in Redis, and never after it.

Like flock(1), for commands on several machines. The lock lives on one Redis server, or on several \
independent ones of which a majority (or all, with --all) must grant it. It is renewed for as long \
as the command runs. If it can no longer be renewed, the command is ended before the lock can be \
granted to anybody else.";
