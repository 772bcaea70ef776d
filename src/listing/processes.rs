//! The records of processes, found as locks are.

use std::collections::BTreeMap;

use redis::Value;
use uuid::Uuid;

use super::{
    asked::{AskedServer, KeyAnswer, about, beside, count, elements, heard, text},
    walk::Finds,
};
use crate::{
    error::{NodeError, NodeId},
    presence::ProcessRecord,
    socket::words,
    wire::key,
};

/// A process that tells what it is: one that holds something for long, or tells of each hold.
///
/// # Examples
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use palisade::{Client, inspect::ListOptions};
///
/// let client = Client::connect("redis://127.0.0.1:6379").await?;
/// for found in client.list_processes(&ListOptions::new()).await?.processes {
///     println!("{}: {} holds", found.process, found.holds);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedProcess {
    /// What its holder ids begin with.
    pub uuid: Uuid,
    /// What it tells of itself.
    pub process: ProcessRecord,
    /// Of how many holds it tells: of a server that has most of them.
    pub holds: u64,
}

/// The processes that tell what they are, as [`Client::list_processes`](crate::Client::list_processes) finds them.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use palisade::inspect::ListOptions;
///
/// let client = palisade::embedded::Server::start()?.client()?;
/// let found = client.list_processes(&ListOptions::new()).await?;
/// assert!(found.processes.is_empty() && found.failed.is_empty());
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ProcessList {
    /// In the order of their uuids.
    pub processes: Vec<ListedProcess>,
    /// How many deployments were asked.
    pub asked: usize,
    /// How many of them told something.
    pub answered: usize,
    /// Those that did not tell everything, and why.
    pub failed: Vec<(NodeId, NodeError)>,
    /// How many records could not be read.
    pub unread: u64,
}

impl ProcessList {
    /// What all of these servers have.
    pub(crate) fn merged(of: impl IntoIterator<Item = Self>) -> Self {
        let (mut all, mut processes) = (Self::default(), BTreeMap::new());
        for one in of {
            all.asked += one.asked;
            all.answered += one.answered;
            all.failed.extend(one.failed);
            all.unread += one.unread;
            one.processes.into_iter().for_each(|process| add(&mut processes, process));
        }
        all.processes = processes.into_values().collect();
        all
    }

    /// What the servers of one deployment have.
    pub(super) fn of_deployment(
        node: &NodeId,
        servers: Vec<(FoundProcesses, Option<NodeError>)>,
    ) -> Self {
        let answered = usize::from(servers.iter().any(|(_, failed)| failed.is_none()));
        let lists = servers.into_iter().map(|(found, failed)| Self {
            processes: found.processes,
            failed: failed.map(|error| (node.clone(), error)).into_iter().collect(),
            unread: found.unread,
            ..Self::default()
        });
        Self { asked: 1, answered, ..Self::merged(lists) }
    }
}

fn add(processes: &mut BTreeMap<Uuid, ListedProcess>, process: ListedProcess) {
    match processes.get_mut(&process.uuid) {
        Some(known) => known.holds = known.holds.max(process.holds),
        None => drop(processes.insert(process.uuid, process)),
    }
}

/// What one server has.
#[derive(Debug, Default)]
pub(super) struct FoundProcesses {
    processes: Vec<ListedProcess>,
    unread: u64,
}

impl Finds for FoundProcesses {
    async fn look(&mut self, server: &AskedServer<'_>, keys: Vec<String>) -> Result<(), NodeError> {
        let lengths = server.ask_of(&keys, |key| about("HLEN", key)).await;
        let mut records = Vec::new();
        for (key, length) in keys.into_iter().zip(lengths) {
            match heard(length)? {
                // What has more is none of ours, and would hold the server up.
                KeyAnswer::Told(length) if (1..=MOST_FIELDS).contains(&count(&length)) => {
                    records.extend(uuid_of(server, &key).map(|uuid| (key, uuid)));
                }
                KeyAnswer::Told(_) | KeyAnswer::Another => {}
                KeyAnswer::Unread => self.unread += 1,
            }
        }
        let names = server.ask_of(&records, |(key, _)| about("HKEYS", key)).await;
        let mut described = Vec::new();
        for ((key, uuid), names) in records.into_iter().zip(names) {
            described
                .extend(beside(Some(names))?.and_then(|names| Described::of(key, uuid, &names)));
        }
        let values = server.ask_of(&described, Described::read).await;
        for (of, values) in described.into_iter().zip(values) {
            self.processes.extend(beside(Some(values))?.map(|values| of.listed(&values)));
        }
        Ok(())
    }
}

/// A record of which it is known what it tells.
#[derive(Debug)]
struct Described {
    key: String,
    uuid: Uuid,
    fields: Vec<String>,
    holds: u64,
}

impl Described {
    fn of(key: String, uuid: Uuid, names: &Value) -> Option<Self> {
        let names: Vec<&str> = elements(names).iter().filter_map(text).collect();
        let (holds, fields): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|name| name.starts_with("h:"));
        let fields: Vec<_> = fields.into_iter().take(MOST_TOLD).map(str::to_owned).collect();
        let holds = u64::try_from(holds.len()).unwrap_or(u64::MAX);
        (!fields.is_empty()).then_some(Self { key, uuid, fields, holds })
    }

    fn read(&self) -> redis::Cmd {
        let mut command = words(&["HMGET", &self.key]);
        command.arg(&self.fields);
        command
    }

    fn listed(self, values: &Value) -> ListedProcess {
        let values = elements(values).iter().map(text);
        let fields = self.fields.into_iter().zip(values);
        let fields = fields.filter_map(|(name, value)| Some((name, cut(value?))));
        let process = ProcessRecord::of_fields(fields.collect(), None);
        ListedProcess { uuid: self.uuid, process, holds: self.holds }
    }
}

fn cut(text: &str) -> String {
    text.chars().take(MOST_CHARS).collect()
}

fn uuid_of(server: &AskedServer<'_>, at: &str) -> Option<Uuid> {
    let prefix = key::processes(&server.services.settings.namespace);
    let uuid = at.strip_prefix(&*prefix)?.strip_prefix('{')?.strip_suffix('}')?;
    Uuid::try_parse(uuid).ok()
}

/// A process tells of a thousand holds at most.
const MOST_FIELDS: u64 = 2_000;
/// And of itself in so many words.
const MOST_TOLD: usize = 32;
const MOST_CHARS: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_tells_and_how_many_holds_it_has() {
        let list = |words: &[&str]| {
            Value::Array(words.iter().map(|word| Value::BulkString((*word).into())).collect())
        };
        let names = list(&["host", "h:1", "h:2", "label:team"]);
        let of = Described::of("x".into(), Uuid::nil(), &names).unwrap();
        assert_eq!((of.fields.len(), of.holds), (2, 2));
        let listed = of.listed(&list(&["web-1", "billing"]));
        assert_eq!((listed.process.host.as_deref(), listed.holds), (Some("web-1"), 2));
        assert_eq!(listed.process.labels["team"], "billing");
        assert!(Described::of("x".into(), Uuid::nil(), &list(&["h:1"])).is_none());

        let other = ListedProcess { holds: 7, ..listed.clone() };
        let list = |process| ProcessList { processes: vec![process], ..ProcessList::default() };
        let merged = ProcessList::merged([list(listed), list(other)]);
        assert_eq!(merged.processes.iter().map(|it| it.holds).collect::<Vec<_>>(), [7]);
    }
}
