//! `palisade ls`: the locks that are held, and the processes that tell of themselves.

pub(crate) mod schema;
mod table;

use std::time::Duration;

use palisade::{
    error::{ConfigError, NodeError, NodeId},
    inspect::{ListOptions, ListedLock, LockList, ProcessList},
};

use crate::{args::LsArgs, exit::Failure, print, print_json, refusal, servers::Servers, tell};

/// Goes through all keys of all servers, and prints what is found.
pub(crate) async fn ls(args: &LsArgs) -> Result<u8, Failure> {
    let servers = Servers::named(&args.servers)?;
    let told = if args.processes {
        list_processes(args, &servers).await
    } else {
        list_locks(args, &servers).await
    };
    servers.close().await;
    told
}

async fn list_locks(args: &LsArgs, servers: &Servers) -> Result<u8, Failure> {
    let list = servers.masters().list(&options(args)).await.map_err(unusable)?;
    check_answered(list.answered, &list.failed)?;
    let is_shown = |lock: &&ListedLock| {
        // What may be as old is shown, too.
        args.older_than.is_none_or(|limit| lock.is_held_longer_than(limit) != Some(false))
    };
    let shown: Vec<_> = list.locks.iter().filter(is_shown).collect();
    if args.json {
        print_json(&schema::Locks::of(&list, &shown))?;
    } else {
        print(&table::of_locks(&shown, list.asked))?;
    }
    tell_failed(&list.failed);
    tell_unread(list.unread);
    if list.left_out > 0 {
        tell(format_args!("{} locks more are not shown", list.left_out));
    }
    Ok(args.older_than.map_or(0, |limit| code(&list, limit)))
}

async fn list_processes(args: &LsArgs, servers: &Servers) -> Result<u8, Failure> {
    let list: ProcessList =
        servers.masters().list_processes(&options(args)).await.map_err(unusable)?;
    check_answered(list.answered, &list.failed)?;
    if args.json {
        print_json(&schema::Processes::of(&list))?;
    } else {
        print(&table::of_processes(&list.processes))?;
    }
    tell_failed(&list.failed);
    tell_unread(list.unread);
    Ok(0)
}

fn options(args: &LsArgs) -> ListOptions {
    let options = ListOptions::new();
    let options = if args.fast { options.fast() } else { options };
    args.pattern.as_ref().map_or(options.clone(), |pattern| options.matching(pattern))
}

/// The code of --older-than.
fn code(list: &LockList, limit: Duration) -> u8 {
    match list.is_any_held_longer_than(limit) {
        Some(false) => NONE_IS_OLDER,
        Some(true) => SOME_ARE_OLDER,
        None => IS_UNKNOWN,
    }
}

fn check_answered(answered: usize, failed: &[(NodeId, NodeError)]) -> Result<(), Failure> {
    match failed {
        [(node, error), ..] if answered == 0 => {
            Err(Failure::new(refusal::of_node(error), format_args!("{node}: {error}")))
        }
        _ => Ok(()),
    }
}

fn tell_failed(failed: &[(NodeId, NodeError)]) {
    for (node, error) in failed {
        tell(format_args!("{node}: {error}"));
    }
}

fn tell_unread(unread: u64) {
    if unread > 0 {
        tell(format_args!("{unread} hashes could not be read, and may be locks"));
    }
}

fn unusable(error: ConfigError) -> Failure {
    Failure::usage(error)
}

const NONE_IS_OLDER: u8 = 0;
const SOME_ARE_OLDER: u8 = 1;
const IS_UNKNOWN: u8 = 2;
