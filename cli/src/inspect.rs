//! `palisade inspect`: who holds a lock, server by server.

use std::{
    error::Error,
    fmt,
    io::{self, Write},
};

use palisade::{error::InspectError, inspect::Holder};
use serde::Serialize;

use crate::{
    args::InspectArgs,
    exit::{self, Failure},
    holder::{self, Described, Place},
    servers::{Servers, Url},
};

/// Asks all servers and prints what they say.
pub(crate) async fn inspect(args: &InspectArgs) -> Result<u8, Failure> {
    let servers = Servers::named(&args.servers)?;
    let finding = Finding::of(&servers, &args.name).await?;
    let text = if args.json { finding.to_json()? } else { finding.to_string() };
    // Whoever reads may have enough before the end, as `head` has.
    let _nobody_reads = io::stdout().write_all(text.as_bytes());
    servers.close().await;
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
        holder: String,
        count: u64,
        ttl_ms: Option<u64>,
        host: Option<String>,
        pid: Option<u32>,
        #[serde(skip)]
        words: String,
    },
    Error {
        error: String,
    },
}

impl Finding {
    async fn of(servers: &Servers, name: &str) -> Result<Self, Failure> {
        let inspection = servers.inspect(name).await;
        let mut answers = Vec::new();
        for ((node, answer), url) in inspection.iter().zip(servers.urls()) {
            let state = match answer {
                Ok(None) => State::Free,
                Ok(Some(holder)) => State::held(holder, url).await,
                Err(InspectError::Config(error)) => return Err(Failure::usage(error)),
                Err(error) => State::Error { error: cause(error) },
            };
            answers.push(Answer { server: node.to_string(), state });
        }
        let failed = |it: &&Answer| matches!(it.state, State::Error { .. });
        let answered = answers.len() - answers.iter().filter(failed).count();
        let majority_holder = inspection.majority_holder().map(|it| it.id.clone());
        Ok(Self { name: name.to_owned(), answered, majority_holder, servers: answers })
    }

    fn to_json(&self) -> Result<String, Failure> {
        let json = serde_json::to_string_pretty(self);
        json.map(|json| json + "\n").map_err(|error| Failure::new(exit::INTERNAL, error))
    }
}

impl State {
    async fn held(holder: &Holder, url: &Url) -> Self {
        let place = holder::locate(url, holder).await;
        let words = Described { holder, place: place.as_ref() }.to_string();
        let (host, pid) = place.map(|Place { host, pid }| (host, pid)).unzip();
        let ttl_ms = holder.ttl.and_then(|ttl| u64::try_from(ttl.as_millis()).ok());
        Self::Held { holder: holder.id.clone(), count: holder.count, ttl_ms, host, pid, words }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.servers.iter().try_for_each(|Answer { server, state }| match state {
            State::Free => writeln!(f, "{server}: free"),
            State::Held { words, count: 1, .. } => writeln!(f, "{server}: held by {words}"),
            State::Held { words, count, .. } => {
                writeln!(f, "{server}: held {count} times by {words}")
            }
            State::Error { error } => writeln!(f, "{server}: {error}"),
        })
    }
}

/// The error without the server's name, which stands before it.
pub(crate) fn cause(error: &InspectError) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}
