//! `palisade watch`: what becomes of locks, a line for each change.

mod changes;

use std::time::SystemTime;

use palisade::inspect::{ListOptions, LockList};
use serde::Serialize;

use self::changes::{Change, Known};
use crate::{
    args::WatchArgs,
    exit::{self, Failure},
    ls::schema::{Lock, written},
    print_to_reader, refusal,
    servers::Servers,
};

/// Looks again and again, until it is ended or nothing reads it any more.
pub(crate) async fn watch(args: &WatchArgs) -> Result<u8, Failure> {
    let servers = Servers::named(&args.servers)?;
    let told = follow(args, &servers).await;
    servers.close().await;
    told
}

async fn follow(args: &WatchArgs, servers: &Servers) -> Result<u8, Failure> {
    let mut known = Known::of(&args.names);
    loop {
        let list = look(args, servers).await?;
        for change in known.learn(&list) {
            if !print_to_reader(&line(&change, &list)?)? {
                return Ok(0);
            }
        }
        tokio::time::sleep(args.every).await;
    }
}

async fn look(args: &WatchArgs, servers: &Servers) -> Result<LockList, Failure> {
    let masters = servers.masters();
    let mut all = LockList::default();
    all.answered = usize::MAX;
    let looks = args.names.iter().map(|name| ListOptions::new().named(name));
    let looks = if args.all { vec![ListOptions::new()] } else { looks.collect() };
    for options in looks {
        let list = masters.list(&options).await.map_err(Failure::usage)?;
        if let (0, Some((node, error))) = (list.answered, list.failed.first())
            && !error.is_transient()
        {
            let why = format_args!("{node}: {error}");
            return Err(Failure::new(refusal::of_node(error), why));
        }
        all.asked = list.asked;
        all.answered = all.answered.min(list.answered);
        all.failed.extend(list.failed);
        all.locks.extend(list.locks);
    }
    Ok(all)
}

/// One change. For programs: fields are added, never changed.
#[derive(Debug, Serialize)]
struct Line<'a> {
    /// When it was seen.
    at: String,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// As it is now, unless it is free or unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    lock: Option<Lock<'a>>,
    /// How many servers were asked, and answered.
    asked: usize,
    answered: usize,
}

fn line(change: &Change, list: &LockList) -> Result<String, Failure> {
    let name = change.name.as_deref();
    let lock = list.locks.iter().find(|lock| Some(lock.name.as_str()) == name);
    let line = Line {
        at: written(SystemTime::now()),
        change: change.what,
        name,
        lock: lock.map(Lock::of),
        asked: list.asked,
        answered: list.answered,
    };
    let json = serde_json::to_string(&line);
    json.map(|json| json + "\n").map_err(|error| Failure::new(exit::INTERNAL, error))
}
