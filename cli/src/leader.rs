//! `palisade leader`: which candidate of an election leads, once or as it changes.

use palisade::{
    election::{Election, Leader, Observation},
    error::InspectError,
};
use serde::Serialize;

use crate::{
    args::LeaderArgs,
    exit::{self, Failure},
    in_one_line, print, print_to_reader, refusal,
    servers::Servers,
};

/// Asks the servers and prints what they say: once, or until it is ended.
pub(crate) async fn leader(args: &LeaderArgs) -> Result<u8, Failure> {
    let servers = Servers::named(&args.servers)?;
    let election = election(&servers, &args.name);
    let told =
        if args.follow { follow(args, &election).await } else { once(args, &election).await };
    servers.close().await;
    told
}

/// What `palisade run --proclaim` leads by.
fn election(servers: &Servers, name: &str) -> Election {
    match servers.masters().clients() {
        [only] => only.election(name),
        _ => servers.masters().election(name),
    }
}

async fn once(args: &LeaderArgs, election: &Election) -> Result<u8, Failure> {
    let leader = election.leader().await.map_err(|error| failed(&error))?;
    print(&line(args, leader.as_ref(), false)?)?;
    Ok(if leader.is_some() { 0 } else { NONE_LEADS })
}

async fn follow(args: &LeaderArgs, election: &Election) -> Result<u8, Failure> {
    let mut observer = election.observe();
    loop {
        let seen = observer.changed().await.map_err(|error| failed(&error))?;
        let Observation { leader, stale_since, .. } = seen;
        if !print_to_reader(&line(args, leader.as_ref(), stale_since.is_some())?)? {
            return Ok(0);
        }
    }
}

fn failed(error: &InspectError) -> Failure {
    Failure::new(refusal::of_inspect(error), error)
}

fn line(args: &LeaderArgs, leader: Option<&Leader>, is_stale: bool) -> Result<String, Failure> {
    if args.json {
        let seen = Seen { name: &args.name, leader: leader.map(Leading::of), is_stale };
        let json = serde_json::to_string(&seen);
        return json.map(|json| json + "\n").map_err(|error| Failure::new(exit::INTERNAL, error));
    }
    let told = leader.map_or_else(|| "none leads".to_owned(), ToString::to_string);
    let unknown = if is_stale { "no server answers; the last leader seen: " } else { "" };
    Ok(format!("{unknown}{}\n", in_one_line(&told)))
}

/// What is known of an election. For programs: fields are added, never changed.
#[derive(Debug, Serialize)]
struct Seen<'a> {
    name: &'a str,
    leader: Option<Leading<'a>>,
    /// Whether too few servers answer now.
    #[serde(rename = "stale")]
    is_stale: bool,
}

#[derive(Debug, Serialize)]
struct Leading<'a> {
    holder: &'a str,
    token: Option<u64>,
    /// Bytes that are no text are replaced.
    value: Option<String>,
}

impl<'a> Leading<'a> {
    fn of(leader: &'a Leader) -> Self {
        let value = leader.value.as_ref();
        Self {
            holder: &leader.holder,
            token: leader.token.map(palisade::FencingToken::get),
            value: value.map(|value| String::from_utf8_lossy(value).into_owned()),
        }
    }
}

/// As `inspect --check` says that a lock is free.
const NONE_LEADS: u8 = 1;
