//! The record of a process, as users get it.

use std::{
    collections::BTreeMap,
    fmt,
    time::{Duration, SystemTime},
};

use super::script::{ReadRecord, ToldProcess};
use crate::{
    clock::Instant,
    error::{NodeError, Shown},
    node::Node,
    wire::key,
};

/// What a process tells about itself, beside what it holds: see [`Presence`](crate::settings::Presence).
///
/// # Examples
/// ```
/// use palisade::{Client, error::InspectError};
///
/// async fn show(client: &Client, lock: &str) -> Result<(), InspectError> {
///     for holder in client.lock(lock).holders().await? {
///         match client.process_of(&holder).await? {
///             Some(process) => println!("{process}"),
///             None => println!("{}", holder.id),
///         }
///     }
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessRecord {
    /// Its machine.
    pub host: Option<String>,
    /// Its number there.
    pub pid: Option<u32>,
    /// The user that it runs as, as its environment tells.
    pub user: Option<String>,
    /// The name of its program's file.
    pub program: Option<String>,
    /// The version of this library in it.
    pub version: Option<String>,
    /// When it began, by its own clock: when its first client was made.
    pub started: Option<SystemTime>,
    /// What its operator says of it.
    pub note: Option<String>,
    /// The same, by name.
    pub labels: BTreeMap<String, String>,
    /// For how long it has held what was asked for, by the server's clock. `None` if that is not told: it is new, or one
    /// of very many.
    pub held_for: Option<Duration>,
}

impl ProcessRecord {
    fn of(told: ToldProcess) -> Option<Self> {
        let (now, since, fields) = told?;
        let age = |since: i64| Duration::from_micros(u64::try_from(now - since).unwrap_or(0));
        Some(Self::of_fields(fields, since.map(age)))
    }

    /// By what its fields say, but for those of holds.
    pub(crate) fn of_fields(
        mut fields: BTreeMap<String, String>,
        held_for: Option<Duration>,
    ) -> Self {
        let labels = fields.iter().filter_map(|(name, value)| {
            Some((name.strip_prefix("label:")?.to_owned(), value.clone()))
        });
        let labels = labels.collect();
        let mut take = |name: &str| fields.remove(name).filter(|value| !value.is_empty());
        let started = take("started").and_then(|ms| ms.parse().ok()).map(Duration::from_millis);
        Self {
            host: take("host"),
            pid: take("pid").and_then(|pid| pid.parse().ok()),
            user: take("user"),
            program: take("program"),
            version: take("version"),
            started: started.and_then(|after| SystemTime::UNIX_EPOCH.checked_add(after)),
            note: take("note"),
            labels,
            held_for,
        }
    }

    /// One that tells nothing else.
    #[cfg(test)]
    pub(crate) fn aged(held_for: Duration) -> Self {
        Self::of_fields(BTreeMap::new(), Some(held_for))
    }
}

impl fmt::Display for ProcessRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, pid, program, note, held_for, .. } = self;
        f.write_str(&Shown::new(host.as_deref().unwrap_or("an unknown host")).to_string())?;
        if let Some(pid) = pid {
            write!(f, " pid {pid}")?;
        }
        if let Some(program) = program {
            write!(f, ", {}", Shown::new(program))?;
        }
        if let Some(held_for) = held_for {
            write!(f, ", for {}s", held_for.as_secs())?;
        }
        match note {
            Some(note) => write!(f, ": {}", Shown::new(note)),
            None => Ok(()),
        }
    }
}

/// The record of the process with this uuid, and what it says of one of its holds.
pub(crate) async fn process_of(
    node: &Node,
    namespace: &str,
    (uuid, number): (&str, &str),
    deadline: Instant,
) -> Result<Option<ProcessRecord>, NodeError> {
    let at = key::process(namespace, uuid);
    let call = ReadRecord { at: at.clone(), number: number.into() };
    let answer = node.call(&at, &call, deadline).await;
    answer.map(|(_, answer)| ProcessRecord::of(answer.reply))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_far_as_they_are_told() {
        let fields = [
            ("host", "web-1"),
            ("pid", "x"),
            ("label:team", "billing"),
            ("other", "1"),
            ("note", "a\nb"),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let record = ProcessRecord::of(Some((9_000_000, Some(2_000_000), fields))).unwrap();
        assert_eq!((record.host.as_deref(), record.pid), (Some("web-1"), None));
        assert_eq!(record.labels["team"], "billing");
        assert_eq!(record.to_string(), r"web-1, for 7s: a\nb");
        // A clock that was set back makes nothing older.
        let later = ProcessRecord::of(Some((1, Some(2), BTreeMap::new()))).unwrap();
        assert_eq!(
            (later.held_for, later.to_string()),
            (Some(Duration::ZERO), "an unknown host, for 0s".to_owned())
        );
        assert_eq!(ProcessRecord::of(None), None);
    }
}
