//! Asking a server about itself.

use std::time::Duration;

use futures::future::{BoxFuture, join, join_all, try_join_all};
use redis::Value;

use super::{
    reading::{flag, fsync, number, replicas, setting, version, writes_fail},
    server_health::ServerHealth,
};
use crate::{
    clock::Instant,
    error::NodeError,
    process::NodeServices,
    reach::field,
    socket::{Connection, Question, words},
};

/// What is asked beside what every client may.
pub(crate) const COMMANDS: [&str; 1] = ["config|get"];

/// Looks whether a vote counts. A function that is passed, since voting stands above this room.
pub(crate) type VoteLook =
    for<'a> fn(&'a NodeServices, &'a Connection, Instant) -> BoxFuture<'a, Result<(), NodeError>>;

/// Asks all servers of a deployment that a client speaks to: the one that there is, or all masters of a cluster.
///
/// # Errors
/// Whatever stops a connection, or an answer. A question that is not allowed is none.
///
/// # Cancel safety
/// Dropping the future changes nothing.
pub(crate) async fn examine(
    services: &NodeServices,
    vote_look: VoteLook,
) -> Result<Vec<ServerHealth>, NodeError> {
    let deadline = services.now() + services.settings.connect_timeout;
    let connections = services.node.connections(deadline).await?;
    try_join_all(connections.iter().map(|one| examine_one(services, one, vote_look))).await
}

async fn examine_one(
    services: &NodeServices,
    connection: &Connection,
    vote_look: VoteLook,
) -> Result<ServerHealth, NodeError> {
    let begun = services.now();
    let deadline = begun + services.settings.node_timeout;
    let ask = |question: &[&str]| connection.ask(Question(words(question)), deadline);
    ask(&["PING"]).await?;
    let round_trip = services.now().saturating_since(begun);
    let asked_at = services.now();
    let asked = join_all(QUESTIONS.iter().map(|question| ask(question)));
    let (vote, asked) = join(vote_look(services, connection, deadline), asked).await;
    let mut not_allowed = Vec::new();
    let mut answers = Vec::new();
    for (answer, name) in asked.into_iter().zip(NAMES) {
        let answer = answer.or_else(unless_it_is_refused)?;
        if answer == Value::Nil && !not_allowed.contains(&name) {
            not_allowed.push(name);
        }
        answers.push(answer);
    }
    let Ok(answers) = <[Value; QUESTIONS.len()]>::try_from(answers) else {
        return Err(NodeError::Closed);
    };
    let came = asked_at + round_trip / 2;
    let health = told(services, connection, (round_trip, came), not_allowed, &answers);
    Ok(ServerHealth { vote, ..health })
}

fn told(
    services: &NodeServices,
    connection: &Connection,
    (round_trip, came): (Duration, Instant),
    not_allowed: Vec<&'static str>,
    answers: &[Value; QUESTIONS.len()],
) -> ServerHealth {
    let [server, clients, memory, persistence, replication, appendfsync, save] = answers;
    let (now, standing) = (services.now(), connection.standing());
    // What is known of its clock by earlier calls would hide that it was set since.
    let said = number(server, "server_time_usec").map(Duration::from_micros);
    let known =
        || Duration::from_micros(u64::try_from(connection.server_time_at(now)).unwrap_or(0));
    let time = said.map_or_else(known, |said| said.saturating_add(now.saturating_since(came)));
    ServerHealth {
        address: shown_place(services, connection),
        run_id: standing.run_id().map(|run| run.to_string()),
        version: version(server),
        uptime: number(server, "uptime_in_seconds").map(Duration::from_secs),
        round_trip,
        time,
        vote: standing.may_vote(now),
        longest_wait: standing.greatest_wait(),
        blessed_for: standing.blessing().map(|blessing| blessing.max_lease),
        appends: flag(persistence, "aof_enabled"),
        fsync: setting(appendfsync).as_deref().and_then(fsync),
        saves: setting(save).map(|rules| !rules.is_empty()),
        writes_fail: writes_fail(persistence),
        memory_used: number(memory, "used_memory"),
        memory_limit: number(memory, "maxmemory"),
        eviction: field(memory, "maxmemory_policy").map(str::to_owned),
        connections: number(clients, "connected_clients")
            .map(|connected| (connected, number(clients, "maxclients"))),
        replicas: replicas(replication),
        not_allowed,
    }
}

/// Where a server is: of a cluster, one of its masters.
pub(super) fn shown_place(services: &NodeServices, connection: &Connection) -> String {
    let place = connection.place().map(|(host, port)| match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    });
    place.unwrap_or_else(|| services.node_id().to_string())
}

/// A server that does not know a question, or this user may not ask it, is healthy all the same.
pub(super) fn unless_it_is_refused(error: NodeError) -> Result<Value, NodeError> {
    match error {
        NodeError::Permission { .. } | NodeError::Server { .. } => Ok(Value::Nil),
        error => Err(error),
    }
}

const QUESTIONS: [&[&str]; 7] = [
    &["INFO", "server"],
    &["INFO", "clients"],
    &["INFO", "memory"],
    &["INFO", "persistence"],
    &["INFO", "replication"],
    &["CONFIG", "GET", "appendfsync"],
    &["CONFIG", "GET", "save"],
];

/// By which right each is asked.
const NAMES: [&str; QUESTIONS.len()] =
    ["INFO", "INFO", "INFO", "INFO", "INFO", "CONFIG GET", "CONFIG GET"];
