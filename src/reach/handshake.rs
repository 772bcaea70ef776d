//! The first words on a new connection: which client this is, and whether this server can vote.

use std::{sync::Arc, time::Duration};

use redis::{Cmd, RedisConnectionInfo, RedisResult, ServerError, Value, cmd};

use super::{
    cause,
    exchange::exchange,
    gauge::Size,
    info::{field, read_time},
    server_clock::Sample,
    settings::NodeSettings,
    stream::Stream,
};
use crate::{
    clock::Instant,
    error::NodeError,
    standing::{Introduced, Introduction, Mark, RunId},
    wire::ScriptText,
};

/// What the server answered about itself.
#[derive(Debug)]
pub(crate) struct Greeting {
    pub(crate) run_id: Option<RunId>,
    /// For how long the process has been running, in whole seconds.
    pub(super) uptime: Option<Duration>,
    /// Of what data it is the master.
    pub(crate) replid: Option<RunId>,
    /// Whether INFO was taken away from all users, and not by an ACL.
    is_mute: bool,
    /// Whether it is one of a cluster.
    pub(super) is_in_cluster: bool,
    /// What that calls it, if it tells.
    pub(crate) cluster_id: Option<Arc<str>>,
    /// Read behind the uptime, as everything that is asked here.
    pub(super) mark: Option<Mark>,
    pub(crate) time: Sample,
    /// By which policy it throws keys away when its memory is full; `None` if it does not, or does not tell.
    pub(crate) evicts: Option<Box<str>>,
}

impl Greeting {
    /// Which server it is.
    pub(crate) fn introduction(&self) -> Introduction {
        let at = self.time.received;
        let told = self.run_id.zip(self.uptime);
        let is_in_cluster = self.is_in_cluster;
        let told = told.map(|(run_id, uptime)| Introduced { run_id, uptime, at, is_in_cluster });
        let told = told.ok_or_else(|| if self.is_mute { mute() } else { NodeError::Unidentified });
        Introduction { told, mark: self.mark.clone(), at, server_time: self.time.server_us }
    }
}

/// Logs in, in one round trip with everything else that is asked of a new connection; one more where
/// the server lacks scripts, and where one of a cluster is spoken to as if it were `alone`.
///
/// AUTH and SELECT are sent from here, not by redis-rs, which reports every error to its own AUTH as a
/// wrong password, even that there are too many clients: asking again would seem pointless.
pub(crate) async fn greet(
    stream: &mut (impl Stream + ?Sized),
    login: &RedisConnectionInfo,
    settings: &NodeSettings,
    alone: bool,
) -> Result<Greeting, NodeError> {
    let mut first = login_commands(login);
    let logins = first.len();
    first.extend(questions(settings));
    // Its error does not matter: a name is a courtesy.
    first.extend(name_command(&settings.client_name));
    let sent = settings.clock.now();
    let mut answers = exchange(stream, &first, Size::FEW).await.into_iter();
    let received = settings.clock.now();
    for reply in answers.by_ref().take(logins) {
        no_error(reply)?;
    }
    let mut next = || answers.next().unwrap_or(Ok(Value::Nil));
    let answers = [(); QUESTIONS].map(|()| next());
    let [server, ..] = &answers;
    if alone && server.as_ref().is_ok_and(is_in_cluster) {
        has_all_keys(stream).await?;
    }
    let (mut greeting, known) = understand(answers, sent, received)?;
    // Nor does an error here: EVAL follows NOSCRIPT.
    let mut rest = loads(&texts(settings), &known);
    if greeting.is_in_cluster {
        let mut who = cmd("CLUSTER");
        who.arg("MYID");
        rest.push(who);
        greeting.cluster_id = exchange(stream, &rest, Size::FEW).await.pop().and_then(read_id);
    } else {
        exchange(stream, &rest, Size::FEW).await;
    }
    Ok(greeting)
}

/// Logs in, and nothing else.
pub(crate) async fn log_in(
    stream: &mut (impl Stream + ?Sized),
    login: &RedisConnectionInfo,
    client_name: &str,
) -> Result<(), NodeError> {
    let mut words = login_commands(login);
    let logins = words.len();
    words.extend(name_command(client_name));
    let answers = exchange(stream, &words, Size::FEW).await.into_iter();
    answers.take(logins).try_for_each(|reply| no_error(reply).map(drop))
}

fn questions(settings: &NodeSettings) -> [Cmd; QUESTIONS] {
    [
        info("server"),
        info("replication"),
        info("memory"),
        get(&settings.marker),
        cmd("PING"),
        cmd("TIME"),
        known_scripts(&texts(settings)),
    ]
}

const QUESTIONS: usize = 7;

/// What the answers say of the server, and the one about its scripts as it is.
fn understand(
    answers: [RedisResult<Value>; QUESTIONS],
    sent: Instant,
    received: Instant,
) -> Result<(Greeting, RedisResult<Value>), NodeError> {
    let [server, replication, memory, mark, ping, time, known] = answers;
    let is_mute = matches!(&server, Ok(Value::ServerError(error)) if is_unknown(error));
    let server = told(server)?;
    let replication = told(replication)?;
    // INFO and TIME are answered while the data is being loaded; PING is not.
    permitted(ping)?;
    match field(&replication, "role") {
        Some("slave") => return Err(NodeError::Replica),
        // Each of two would grant what the other has granted.
        Some("active-replica") => {
            return Err(unsupported("an active replica, one of several masters"));
        }
        _ => {}
    }
    if let Some(version) = field(&server, "redis_version")
        && is_too_old(version)
    {
        return Err(unsupported(&format!("version {version}; at least 6.2 is needed")));
    }
    let server_us = read_time(no_error(time)?)?;
    let uptime = field(&server, "uptime_in_seconds").and_then(read_uptime);
    let greeting = Greeting {
        run_id: field(&server, "run_id").and_then(RunId::new),
        uptime,
        is_mute,
        replid: field(&replication, "master_replid").and_then(RunId::new),
        is_in_cluster: is_in_cluster(&server),
        cluster_id: None,
        mark: read_mark(mark),
        time: Sample { sent, received, server_us },
        // Not to be told is no obstacle.
        evicts: memory.ok().and_then(|memory| read_eviction(&memory)),
    };
    Ok((greeting, known))
}

/// By what INFO says of it: Redis and Valkey.
fn is_in_cluster(server: &Value) -> bool {
    ["redis_mode", "server_mode"].iter().any(|name| field(server, name) == Some("cluster"))
}

/// Ok if it serves all slots of its cluster, as far as it tells. Of several each would refuse the names of the
/// others, and none stays where it is when one of them fails.
async fn has_all_keys(stream: &mut (impl Stream + ?Sized)) -> Result<(), NodeError> {
    let mut question = cmd("CLUSTER");
    question.arg("INFO");
    let answer = exchange(stream, &[question], Size::FEW).await.pop().unwrap_or(Ok(Value::Nil));
    let said = told(answer)?;
    match field(&said, "cluster_size").and_then(|size| size.parse::<u32>().ok()) {
        Some(masters @ 2..) => Err(unsupported(&format!(
            "one of a cluster of {masters} masters, which has only some of the keys; name the cluster, \
             {OF_CLUSTERS}"
        ))),
        _ => Ok(()),
    }
}

/// How servers are named that are one of a cluster.
pub(crate) const OF_CLUSTERS: &str = "redis+cluster://host:port";

/// Locks have a ttl, so all policies but one take them.
fn read_eviction(memory: &Value) -> Option<Box<str>> {
    let is_limited = field(memory, "maxmemory").is_some_and(|bytes| bytes != "0");
    let policy = field(memory, "maxmemory_policy").filter(|policy| *policy != "noeviction");
    policy.filter(|_| is_limited).map(Into::into)
}

fn unsupported(what: &str) -> NodeError {
    NodeError::Unsupported { what: what.into() }
}

/// Forks tell the version of Redis that they are like.
fn is_too_old(version: &str) -> bool {
    let mut numbers = version.split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) < (6, 2),
        // A server that words it otherwise is not known to be old.
        _ => false,
    }
}

/// Negative if the server's clock was set back after its start: then nothing older is known of it.
fn read_uptime(text: &str) -> Option<Duration> {
    let seconds: i64 = text.parse().ok()?;
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

/// What a pub/sub connection sends after the HELLO of redis-rs.
pub(crate) fn name_command(name: &str) -> Option<Cmd> {
    let mut command = cmd("CLIENT");
    command.arg("SETNAME").arg(name);
    (!name.is_empty()).then_some(command)
}

pub(crate) fn login_commands(login: &RedisConnectionInfo) -> Vec<Cmd> {
    let mut commands = Vec::new();
    // There are users without a password; an endpoint that names one is not to log in as the
    // default user.
    if login.username().is_some() || login.password().is_some() {
        let mut auth = cmd("AUTH");
        auth.arg(login.username()).arg(login.password().unwrap_or_default());
        commands.push(auth);
    }
    if login.db() != 0 {
        let mut select = cmd("SELECT");
        select.arg(login.db());
        commands.push(select);
    }
    commands
}

/// Of the scripts that are loaded in advance.
fn texts(settings: &NodeSettings) -> Vec<ScriptText<'static>> {
    let publishing = settings.sharding.publishing();
    settings.scripts.iter().map(|script| script.text().publishing(publishing)).collect()
}

fn known_scripts(texts: &[ScriptText<'static>]) -> Cmd {
    let digests: Vec<_> = texts.iter().map(|text| text.sha).collect();
    let mut command = cmd("SCRIPT");
    command.arg("EXISTS").arg(digests);
    command
}

/// What loads the scripts that are not known by the server's answer, all if there is none: their texts
/// are long, and a server mostly knows them.
fn loads(texts: &[ScriptText<'static>], answer: &RedisResult<Value>) -> Vec<Cmd> {
    let known = if let Ok(Value::Array(known)) = answer { known.as_slice() } else { &[] };
    let is_missing = |at: usize| known.get(at) != Some(&Value::Int(1));
    let missing = texts.iter().enumerate().filter(|(at, _)| is_missing(*at));
    let load = |(_, text): (usize, &ScriptText<'static>)| {
        let mut command = cmd("SCRIPT");
        command.arg("LOAD").arg(text.source);
        command
    };
    missing.map(load).collect()
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

pub(crate) fn no_error(reply: RedisResult<Value>) -> Result<Value, NodeError> {
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

/// The same of INFO, which some hosted servers take away from all users.
fn told(reply: RedisResult<Value>) -> Result<Value, NodeError> {
    match permitted(reply) {
        // So says Envoy, and Redis never does.
        Err(NodeError::Server { message, .. }) if message.starts_with("unsupported command") => {
            Err(unsupported(
                "a proxy before several servers, such as Envoy; go to the servers behind it",
            ))
        }
        Err(NodeError::Server { message, .. }) if message.contains(UNKNOWN) => Ok(Value::Nil),
        other => other,
    }
}

/// A user without the right to ask does not know.
fn read_id(reply: RedisResult<Value>) -> Option<Arc<str>> {
    match reply {
        Ok(Value::BulkString(bytes)) => Some(std::str::from_utf8(&bytes).ok()?.into()),
        _ => None,
    }
}

/// So servers answer to commands that their configuration has renamed.
const UNKNOWN: &str = "unknown command";

fn is_unknown(error: &ServerError) -> bool {
    error.details().is_some_and(|text| text.contains(UNKNOWN))
}

/// What no ACL rule mends.
fn mute() -> NodeError {
    unsupported(
        "it does not know INFO, which tells when it was started; was it renamed by rename-command?",
    )
}

/// A user without the right to read it finds none, and so does one that finds something else there:
/// it is looked at once more before it counts.
fn read_mark(reply: RedisResult<Value>) -> Option<Mark> {
    match reply {
        Ok(Value::BulkString(bytes)) => Mark::read(std::str::from_utf8(&bytes).ok()?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use redis::ValueCodec;
    use tokio_util::codec::Decoder;

    use super::*;
    use crate::reach::test_settings::ECHO;

    #[test]
    fn only_scripts_that_a_server_is_not_known_to_know_are_sent() {
        let known =
            |flags: &[i64]| Ok(Value::Array(flags.iter().copied().map(Value::Int).collect()));
        let refused = ValueCodec::default().decode(&mut (&b"-NOPERM no\r\n"[..]).into()).unwrap();
        let refused = Ok(refused.unwrap());
        for (answer, sent) in [
            (known(&[1, 1]), 0),
            (known(&[0, 1]), 1),
            (known(&[1]), 1),
            (known(&[0, 0]), 2),
            (Ok(Value::Nil), 2),
            (refused, 2),
        ] {
            assert_eq!(loads(&[ECHO.text(), ECHO.text()], &answer).len(), sent, "{answer:?}");
        }
        let load = loads(&[ECHO.text()], &known(&[0])).pop().unwrap();
        assert!(load.get_packed_command().starts_with(b"*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n"));
    }

    fn understood(server: &str, replication: &str) -> Result<Greeting, NodeError> {
        let text = |text: &str| Ok(Value::BulkString(text.into()));
        let time = Value::Array(vec![Value::BulkString("1".into()), Value::BulkString("2".into())]);
        let answers = [
            text(server),
            text(replication),
            Ok(Value::Nil),
            Ok(Value::Nil),
            Ok(Value::SimpleString("PONG".into())),
            Ok(time),
            Ok(Value::Nil),
        ];
        let at = Instant::from_origin(Duration::ZERO);
        understand(answers, at, at).map(|(greeting, _)| greeting)
    }

    #[test]
    fn servers_that_are_too_old_and_one_master_of_several_do_not_vote() {
        for version in ["6.2.0", "6.2", "7.0.15", "8.2.1", "10.0.0", "255.255.255", "unstable"] {
            let server = format!("redis_version:{version}\r\nrun_id:x\r\n");
            assert!(understood(&server, "role:master\r\n").is_ok(), "{version}");
        }
        for (server, role, says) in [
            ("redis_version:6.0.16\r\n", "master", "version 6.0.16; at least 6.2"),
            ("redis_version:5.0.0\r\n", "master", "version 5.0.0"),
            ("redis_version:6.3.4\r\n", "active-replica", "one of several masters"),
        ] {
            let error = understood(server, &format!("role:{role}\r\n")).unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
            assert!(!error.is_transient(), "{error:?}");
        }
    }

    #[test]
    fn policy_is_told_where_memory_is_limited_and_something_is_thrown_away() {
        for (limit, policy, told) in [
            ("0", "allkeys-lru", None),
            ("100000000", "noeviction", None),
            ("100000000", "volatile-ttl", Some("volatile-ttl")),
            ("100000000", "allkeys-lru", Some("allkeys-lru")),
        ] {
            let text = format!("maxmemory:{limit}\r\nmaxmemory_policy:{policy}\r\n");
            let memory = Value::BulkString(text.into());
            assert_eq!(read_eviction(&memory).as_deref(), told, "{limit} {policy}");
        }
        assert_eq!(read_eviction(&Value::Nil), None);
    }

    #[test]
    fn an_uptime_before_the_start_is_none_at_all() {
        assert_eq!(read_uptime("75"), Some(Duration::from_secs(75)));
        assert_eq!(read_uptime("-2"), Some(Duration::ZERO));
        assert_eq!(read_uptime("soon"), None);
    }
}
