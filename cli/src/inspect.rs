//! `palisade inspect`: who holds a lock, server by server.

use std::{error::Error, fmt};

use palisade::{
    Client, ExpirableSemaphore,
    error::InspectError,
    inspect::{Access, Holder},
};
use serde::Serialize;

use crate::{
    args::InspectArgs,
    exit::{self, Failure},
    holder::{self, Connected, Place},
    print,
    servers::Servers,
};

/// Asks all servers and prints what they say.
pub(crate) async fn inspect(args: &InspectArgs) -> Result<u8, Failure> {
    let servers = Servers::named(&args.servers)?;
    let finding = Finding::of(&servers, &args.name).await?;
    let text = if args.json { finding.to_json()? } else { finding.to_string() };
    let printed = print(&text);
    servers.close().await;
    printed?;
    if args.check {
        return Ok(finding.check());
    }
    if 2 * finding.answered > servers.len() {
        return Ok(0);
    }
    let (answered, asked) = (finding.answered, servers.len());
    Err(Failure::new(exit::UNAVAILABLE, format_args!("{answered} of {asked} servers answered")))
}

/// What all servers say. Its JSON form is for programs: fields are added, never changed.
#[derive(Debug, Serialize)]
struct Finding {
    name: String,
    /// How many servers answered.
    answered: usize,
    /// The holder that more than half of the servers name.
    majority_holder: Option<String>,
    servers: Vec<Answer>,
    /// What this does not show.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<&'static str>,
}

/// What one server says.
#[derive(Debug, Serialize)]
struct Answer {
    server: String,
    #[serde(flatten)]
    state: State,
}

#[derive(Debug, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
enum State {
    Free,
    Held {
        #[serde(flatten)]
        by: By,
        /// The option of `palisade run` that it is held with.
        with: Option<&'static str>,
        /// Who waits with --fair, the next one first.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        queue: Vec<String>,
        #[serde(skip)]
        told: String,
    },
    /// Permits of a semaphore.
    Permits {
        left: i64,
        by: Vec<By>,
    },
    Shared {
        by: Vec<By>,
        #[serde(skip)]
        told: String,
    },
    Error {
        error: String,
    },
}

/// One who holds it.
#[derive(Debug, Serialize)]
struct By {
    holder: String,
    count: u64,
    ttl_ms: Option<u64>,
    host: Option<String>,
    pid: Option<u32>,
}

impl Finding {
    async fn of(servers: &Servers, name: &str) -> Result<Self, Failure> {
        let inspection = servers.inspect(name).await;
        let mut answers = Vec::new();
        let clients = servers.masters().clients();
        for ((node, answer), client) in inspection.iter().zip(clients) {
            let state = match answer {
                Ok(holders) => State::of(holders, client, name).await,
                Err(InspectError::Config(error)) => return Err(Failure::usage(error)),
                Err(error) => State::of_permits(&client.expirable_semaphore(name))
                    .await
                    .unwrap_or_else(|| State::Error { error: cause(error) }),
            };
            answers.push(Answer { server: node.to_string(), state });
        }
        let failed = |it: &&Answer| matches!(it.state, State::Error { .. });
        let answered = answers.len() - answers.iter().filter(failed).count();
        let majority_holder = inspection.majority_holder().map(|it| it.id.clone());
        let name = name.to_owned();
        let warning = servers.may_be_cut_off().then_some(CUT_OFF);
        Ok(Self { name, answered, majority_holder, servers: answers, warning })
    }

    /// The code of `--check`.
    fn check(&self) -> u8 {
        let (mut held, mut free) = (0, 0);
        for Answer { state, .. } in &self.servers {
            match state {
                State::Free => free += 1,
                State::Permits { by, .. } if by.is_empty() => free += 1,
                State::Error { .. } => {}
                State::Held { .. } | State::Permits { .. } | State::Shared { .. } => held += 1,
            }
        }
        let all = self.servers.len();
        // Whatever the others say, they are too few to grant it.
        if 2 * (all - held) <= all {
            IS_HELD
        } else if 2 * free > all {
            IS_FREE
        } else {
            IS_UNKNOWN
        }
    }

    fn to_json(&self) -> Result<String, Failure> {
        let json = serde_json::to_string_pretty(self);
        json.map(|json| json + "\n").map_err(|error| Failure::new(exit::INTERNAL, error))
    }
}

impl State {
    async fn of(holders: &[Holder], client: &Client, name: &str) -> Self {
        let Some(first) = holders.first() else { return Self::Free };
        let connected = Connected::to(client).await;
        let told = holder::tell_all(holders, &connected).unwrap_or_default();
        let by = |holder| By::of(holder, &connected);
        match first.access {
            Access::Read => Self::Shared { by: holders.iter().map(by).collect(), told },
            Access::Write => {
                Self::Held { by: by(first), with: Some("exclusive"), queue: Vec::new(), told }
            }
            _ => {
                let queue = client.fair_lock(name).waiting().await.unwrap_or_default();
                Self::Held { by: by(first), with: None, queue, told }
            }
        }
    }

    /// What stands there that is no lock: `None` if it is no semaphore either.
    async fn of_permits(semaphore: &ExpirableSemaphore) -> Option<Self> {
        semaphore.total().await.ok()??;
        let (left, holders) = (semaphore.permits().await.ok()?, semaphore.holders().await.ok()?);
        let nowhere = Connected::nobody();
        let by = holders.iter().map(|holder| By::of(holder, &nowhere)).collect();
        Some(Self::Permits { left, by })
    }
}

impl By {
    fn of(holder: &Holder, connected: &Connected) -> Self {
        let (host, pid) = connected.locate(holder).map(|Place { host, pid }| (host, pid)).unzip();
        let ttl_ms = holder.ttl.and_then(|ttl| u64::try_from(ttl.as_millis()).ok());
        Self { holder: holder.id.clone(), count: holder.count, ttl_ms, host, pid }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.servers.iter().try_for_each(|Answer { server, state }| match state {
            State::Free => writeln!(f, "{server}: free"),
            State::Held { told, queue, .. } if !queue.is_empty() => {
                writeln!(f, "{server}: {told}; {} wait in its queue", queue.len())
            }
            State::Held { told, .. } | State::Shared { told, .. } => {
                writeln!(f, "{server}: {told}")
            }
            State::Permits { left, by } => {
                writeln!(f, "{server}: {left} permits are left, {} are held", by.len())
            }
            State::Error { error } => writeln!(f, "{server}: {error}"),
        });
        shown?;
        self.warning.map_or(Ok(()), |warning| writeln!(f, "{warning}"))
    }
}

/// Where replicas take their masters' places, and nothing else is said of them.
const CUT_OFF: &str = "\
A master that is cut off together with clients goes on renewing their locks while another takes its \
place: neither --replicas nor --failover-lag is given. Clients of Redisson do not wait after a \
failover, whatever is given.";

const IS_HELD: u8 = 0;
const IS_FREE: u8 = 1;
const IS_UNKNOWN: u8 = 2;

/// The error without the server's name, which stands before it.
pub(crate) fn cause(error: &InspectError) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}
