//! What `palisade ls` prints for people: a line for each holder, and one for each process.

use palisade::{
    error::Shown,
    inspect::{Access, ListedHolder, ListedLock, ListedProcess, ProcessRecord},
};

use super::schema::written;
use crate::{duration, table::table};

/// The locks, of so many masters; nothing if there are none.
pub(super) fn of_locks(locks: &[&ListedLock], asked: usize) -> String {
    let head = ["NAME", "SORT", "HOLDER", "HELD FOR", "TTL", "VOTES", "WAITING"];
    let rows = locks.iter().flat_map(|lock| {
        let more = lock.more_holders;
        let more = (more > 0).then(|| without_holder(lock, format!("and {more} more at least")));
        let none = (lock.holders.is_empty() && more.is_none())
            .then(|| without_holder(lock, "none".to_owned()));
        let holders = lock.holders.iter().map(move |holder| row(lock, holder, asked));
        holders.chain(more).chain(none)
    });
    table(head, rows.collect())
}

fn without_holder(lock: &ListedLock, told: String) -> [String; 7] {
    let [age, ttl, votes, waiting] = ["", "", "", ""].map(str::to_owned);
    [shown(&lock.name), sort(lock), told, age, ttl, votes, waiting]
}

fn sort(lock: &ListedLock) -> String {
    match lock.left {
        Some(left) => format!("{}, {left} left", lock.sort),
        None => lock.sort.to_string(),
    }
}

fn row(lock: &ListedLock, by: &ListedHolder, asked: usize) -> [String; 7] {
    let unknown = || "?".to_owned();
    let ttl = match by.holder.ttl {
        _ if by.is_dead => "dead".to_owned(),
        Some(ttl) => duration::show_roughly(ttl),
        None => "none".to_owned(),
    };
    [
        shown(&lock.name),
        sort(lock),
        holder(by),
        by.held_for().map_or_else(unknown, duration::show_roughly),
        ttl,
        format!("{}/{asked}", by.votes),
        lock.waiting.map_or_else(unknown, |waiting| waiting.to_string()),
    ]
}

/// Where it is and what it is for, as far as its process tells.
fn holder(by: &ListedHolder) -> String {
    let id = shown(&by.holder.id);
    let told = match &by.process {
        _ if by.holder.is_revoked() => format!("an operator ({id})"),
        Some(process) => place(process).map_or(id, |place| noted(place, process)),
        None => id,
    };
    match by.holder.access {
        Access::Read => format!("{told}, reads"),
        Access::Write => format!("{told}, writes"),
        Access::Permits if by.holder.count > 1 => format!("{} by {told}", by.holder.count),
        _ => told,
    }
}

fn place(process: &ProcessRecord) -> Option<String> {
    let host = shown(process.host.as_deref()?);
    let pid = process.pid.map(|pid| format!(" pid {pid}")).unwrap_or_default();
    let program = process.program.as_deref().map(|it| format!(" {}", shown(it)));
    Some(format!("{host}{pid}{}", program.unwrap_or_default()))
}

fn noted(place: String, process: &ProcessRecord) -> String {
    match &process.note {
        Some(note) => format!("{place} ({})", shown(note)),
        None => place,
    }
}

/// The processes; nothing if there are none.
pub(super) fn of_processes(processes: &[ListedProcess]) -> String {
    let head = ["HOST", "PID", "PROGRAM", "VERSION", "STARTED", "HOLDS", "NOTE", "LABELS"];
    let rows = processes.iter().map(|ListedProcess { process, holds, .. }| {
        let text = |of: &Option<String>| of.as_deref().map_or_else(|| "?".to_owned(), shown);
        let labels = process.labels.iter().map(|(name, value)| format!("{name}={value}"));
        [
            text(&process.host),
            process.pid.map_or_else(|| "?".to_owned(), |pid| pid.to_string()),
            text(&process.program),
            text(&process.version),
            process.started.map_or_else(|| "?".to_owned(), written),
            holds.to_string(),
            process.note.as_deref().map(shown).unwrap_or_default(),
            shown(&labels.collect::<Vec<_>>().join(",")),
        ]
    });
    table(head, rows.collect())
}

/// A terminal obeys control characters, and these were chosen by others.
fn shown(text: &str) -> String {
    Shown::new(text).to_string()
}
