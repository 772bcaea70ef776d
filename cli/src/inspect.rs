//! `palisade inspect`: the holders of a lock, server by server.

use std::{error::Error, fmt, time::SystemTime};

use palisade::{
    Client, ExpirableSemaphore,
    error::{InspectError, NodeError},
    inspect::{Access, Holder, ProcessRecord},
};
use serde::Serialize;

use crate::{
    args::InspectArgs,
    duration::whole_ms,
    exit::Failure,
    holder::{self, Known, Place},
    print, refusal,
    servers::Servers,
    to_json,
};

/// Asks all servers and prints what they say.
pub(crate) async fn inspect(args: &InspectArgs) -> Result<u8, Failure> {
    let servers = Servers::named(&args.servers)?;
    let finding = Finding::of(&servers, &args.name).await?;
    let text = if args.json { to_json(&finding)? } else { finding.to_string() };
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
    let codes = finding.servers.iter().filter_map(|answer| match answer.state {
        State::Error { code, .. } => Some(code),
        _ => None,
    });
    let code = refusal::of_too_few(codes);
    Err(Failure::new(code, format_args!("{answered} of {asked} servers answered")))
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
    /// If its vote does not count now.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    quarantined: Option<Quarantined>,
}

/// Of a server that may have forgotten what it granted.
#[derive(Debug, Serialize)]
struct Quarantined {
    quarantined: String,
    /// Null if it does not pass.
    counts_in_ms: Option<u64>,
    #[serde(skip)]
    told: String,
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
        /// The waiters of --fair, the next one first.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        queue: Vec<String>,
        #[serde(skip)]
        told: String,
    },
    /// Permits of a semaphore.
    Permits {
        left: i64,
        by: Vec<By>,
        #[serde(skip)]
        told: String,
    },
    Shared {
        by: Vec<By>,
        #[serde(skip)]
        told: String,
    },
    Error {
        error: String,
        /// With which palisade exits for that.
        #[serde(skip)]
        code: u8,
    },
}

/// One of its holders.
#[derive(Debug, Serialize)]
struct By {
    holder: String,
    count: u64,
    ttl_ms: Option<u64>,
    host: Option<String>,
    pid: Option<u32>,
    /// What its process tells, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    held_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
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
                Err(error) => State::of_permits(&client.expirable_semaphore(name), client)
                    .await
                    .unwrap_or_else(|| {
                        let code = refusal::of_inspect(error);
                        State::Error { error: cause(error), code }
                    }),
            };
            let not_counted = inspection.quarantined().find(|(other, _)| *other == node);
            let quarantined = not_counted.map(|(_, cause)| Quarantined::of(cause));
            answers.push(Answer { server: node.to_string(), state, quarantined });
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
        for Answer { state, quarantined, .. } in &self.servers {
            match state {
                // What it says is true, and it may have forgotten that it is not.
                State::Free | State::Error { .. } if quarantined.is_some() => {}
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
}

impl State {
    async fn of(holders: &[Holder], client: &Client, name: &str) -> Self {
        let Some(first) = holders.first() else { return Self::Free };
        let connected = Known::to(client, holders).await;
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
    async fn of_permits(semaphore: &ExpirableSemaphore, client: &Client) -> Option<Self> {
        semaphore.total().await.ok()??;
        let (left, holders) = (semaphore.permits().await.ok()?, semaphore.holders().await.ok()?);
        let connected = Known::to(client, &holders).await;
        let told = holder::tell_permits(&holders, &connected);
        let by = holders.iter().map(|holder| By::of(holder, &connected)).collect();
        Some(Self::Permits { left, by, told })
    }
}

impl Quarantined {
    fn of(cause: &NodeError) -> Self {
        let NodeError::Quarantined { counts_in, .. } = cause else {
            let told = format!("its vote does not count: {cause}");
            return Self { quarantined: cause.to_string(), counts_in_ms: None, told };
        };
        let until = humantime::format_rfc3339_seconds(SystemTime::now() + *counts_in);
        Self {
            quarantined: cause.to_string(),
            counts_in_ms: whole_ms(*counts_in),
            told: format!("quarantined until {until}: {cause}"),
        }
    }
}

impl By {
    fn of(holder: &Holder, known: &Known) -> Self {
        let (host, pid) = known.locate(holder).map(|Place { host, pid }| (host, pid)).unzip();
        let record = known.record(holder);
        let text = |of: fn(&ProcessRecord) -> &Option<String>| record.and_then(|it| of(it).clone());
        let held_for = record.and_then(|record| record.held_for);
        Self {
            holder: holder.id.clone(),
            count: holder.count,
            ttl_ms: holder.ttl.and_then(whole_ms),
            host,
            pid,
            held_ms: held_for.and_then(whole_ms),
            user: text(|record| &record.user),
            program: text(|record| &record.program),
            note: text(|record| &record.note),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.servers.iter().try_for_each(|answer| writeln!(f, "{answer}"))?;
        self.warning.map_or(Ok(()), |warning| writeln!(f, "{warning}"))
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, state, quarantined, .. } = self;
        write!(f, "{server}: ")?;
        match state {
            State::Free => write!(f, "free")?,
            State::Held { told, queue, .. } if !queue.is_empty() => {
                write!(f, "{told}; {} wait in its queue", queue.len())?;
            }
            State::Held { told, .. } | State::Shared { told, .. } => write!(f, "{told}")?,
            State::Permits { left, by, .. } if by.is_empty() => {
                write!(f, "{left} permits are left, none is held")?;
            }
            State::Permits { left, by, told } => {
                write!(f, "{left} permits are left, {} are held: {told}", by.len())?;
            }
            State::Error { error, .. } => write!(f, "{error}")?,
        }
        quarantined.as_ref().map_or(Ok(()), |quarantined| write!(f, "; {}", quarantined.told))
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
    if let InspectError::Node { source: NodeError::Server { message, .. }, .. } = error
        && message.contains("max number of clients")
    {
        return "no connection is left: as many clients as it takes (maxclients) are connected"
            .to_owned();
    }
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}
