//! The first words on a new connection: who we are, and whether this server can vote.

use std::time::Duration;

use redis::{Cmd, RedisConnectionInfo, RedisResult, Value, cmd};

use super::{
    NodeSettings, Stream, cause,
    exchange::exchange,
    info::{field, read_time},
    server_clock::Sample,
};
use crate::{
    error::NodeError,
    standing::{Introduced, Introduction, Mark, RunId},
};

/// What the server answered about itself.
#[derive(Debug)]
pub(super) struct Greeting {
    pub(super) run_id: Option<RunId>,
    /// For how long the process has been running, in whole seconds.
    pub(super) uptime: Option<Duration>,
    /// Whether it is one of a cluster.
    pub(super) is_in_cluster: bool,
    /// Read behind the uptime, as everything that is asked here.
    pub(super) mark: Option<Mark>,
    pub(super) time: Sample,
}

impl Greeting {
    /// Who the server is.
    pub(super) fn introduction(&self) -> Introduction {
        let at = self.time.received;
        let told = self.run_id.zip(self.uptime);
        let is_in_cluster = self.is_in_cluster;
        let told = told.map(|(run_id, uptime)| Introduced { run_id, uptime, at, is_in_cluster });
        Introduction { told, mark: self.mark.clone(), at, server_time: self.time.server_us }
    }
}

/// Logs in, in one round trip with everything else that is asked of a new connection.
///
/// AUTH and SELECT are sent from here, not by redis-rs, which reports every error to its own AUTH as a
/// wrong password, even that there are too many clients: asking again would seem pointless.
pub(super) async fn greet(
    stream: &mut (impl Stream + ?Sized),
    login: &RedisConnectionInfo,
    settings: &NodeSettings,
) -> Result<Greeting, NodeError> {
    let mut words = login_commands(login);
    let logins = words.len();
    words.extend([
        info("server"),
        info("replication"),
        get(&settings.marker),
        cmd("PING"),
        cmd("TIME"),
    ]);
    // Their errors do not matter: a name is a courtesy, and EVAL follows NOSCRIPT.
    words.extend(courtesies(settings));
    let sent = settings.clock.now();
    let mut answers = exchange(stream, &words).await.into_iter();
    let received = settings.clock.now();
    for reply in answers.by_ref().take(logins) {
        no_error(reply)?;
    }
    let mut next = || answers.next().unwrap_or(Ok(Value::Nil));
    let (server, replication, mark, ping, time) = (next(), next(), next(), next(), next());
    let server = permitted(server)?;
    let replication = permitted(replication)?;
    // INFO and TIME are answered while the data is being loaded; PING is not.
    permitted(ping)?;
    if field(&replication, "role") == Some("slave") {
        return Err(NodeError::Replica);
    }
    let server_us = read_time(no_error(time)?)?;
    let uptime = field(&server, "uptime_in_seconds").and_then(read_uptime);
    Ok(Greeting {
        run_id: field(&server, "run_id").and_then(RunId::new),
        uptime,
        // Redis and Valkey.
        is_in_cluster: ["redis_mode", "server_mode"]
            .iter()
            .any(|name| field(&server, name) == Some("cluster")),
        mark: read_mark(mark),
        time: Sample { sent, received, server_us },
    })
}

/// Negative if the server's clock was set back after its start: then nothing older is known of it.
fn read_uptime(text: &str) -> Option<Duration> {
    let seconds: i64 = text.parse().ok()?;
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

/// What a pub/sub connection sends after the HELLO of redis-rs.
pub(super) fn name_command(name: &str) -> Option<Cmd> {
    let mut command = cmd("CLIENT");
    command.arg("SETNAME").arg(name);
    (!name.is_empty()).then_some(command)
}

fn login_commands(login: &RedisConnectionInfo) -> Vec<Cmd> {
    let mut commands = Vec::new();
    if let Some(password) = login.password() {
        let mut auth = cmd("AUTH");
        auth.arg(login.username()).arg(password);
        commands.push(auth);
    }
    if login.db() != 0 {
        let mut select = cmd("SELECT");
        select.arg(login.db());
        commands.push(select);
    }
    commands
}

fn courtesies(settings: &NodeSettings) -> Vec<Cmd> {
    let load = |source: &str| {
        let mut command = cmd("SCRIPT");
        command.arg("LOAD").arg(source);
        command
    };
    let scripts = settings.scripts.iter().map(|script| load(script.source));
    name_command(&settings.client_name).into_iter().chain(scripts).collect()
}

fn info(section: &str) -> Cmd {
    let mut command = cmd("INFO");
    command.arg(section);
    command
}

fn get(key: &str) -> Cmd {
    let mut command = cmd("GET");
    command.arg(key);
    command
}

fn no_error(reply: RedisResult<Value>) -> Result<Value, NodeError> {
    match reply.map_err(cause::of_connecting)? {
        Value::ServerError(error) => Err(cause::of_server(&error)),
        value => Ok(value),
    }
}

/// The same, where a missing permission is no obstacle.
fn permitted(reply: RedisResult<Value>) -> Result<Value, NodeError> {
    match no_error(reply) {
        Err(NodeError::Permission { .. }) => Ok(Value::Nil),
        other => other,
    }
}

/// Whoever may not read it, or finds something else there, finds none: it is looked at once more
/// before anybody goes by it.
fn read_mark(reply: RedisResult<Value>) -> Option<Mark> {
    match reply {
        Ok(Value::BulkString(bytes)) => Mark::read(std::str::from_utf8(&bytes).ok()?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_uptime_before_the_start_is_none_at_all() {
        assert_eq!(read_uptime("75"), Some(Duration::from_secs(75)));
        assert_eq!(read_uptime("-2"), Some(Duration::ZERO));
        assert_eq!(read_uptime("soon"), None);
    }
}
