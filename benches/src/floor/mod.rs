//! The floor: two scripts as one writes them by hand, on a bare connection of redis-rs.
//!
//! No deadlines, no timers, no bookkeeping, one holder for all: less cannot be done in two round
//! trips.

pub(crate) mod kinds;

use std::sync::{Arc, OnceLock};

use crate::block::Pair;
use futures::{StreamExt, future::join_all, stream::FuturesUnordered};
use redis::{
    AsyncConnectionConfig, Client, IntoConnectionInfo, Value, aio::MultiplexedConnection, cmd,
    io::tcp::TcpSettings,
};

/// One name on one node.
#[derive(Clone)]
pub(crate) struct Floor {
    redis: MultiplexedConnection,
    name: Arc<str>,
    channel: Arc<str>,
    holder: Arc<str>,
}

impl Floor {
    /// One connection to the server, and a name each.
    pub(crate) async fn connect(url: &str, names: &[String]) -> Vec<Self> {
        Self::connect_as(HOLDER, url, names).await
    }

    /// For a holder of its own.
    pub(crate) async fn connect_as(holder: &str, url: &str, names: &[String]) -> Vec<Self> {
        let (redis, holder) = (connect(url).await, Arc::from(holder));
        let named = |name: &String| Self {
            redis: redis.clone(),
            name: name.as_str().into(),
            channel: channel(name).into(),
            holder: Arc::clone(&holder),
        };
        names.iter().map(named).collect()
    }

    /// Whether it was granted.
    pub(crate) async fn try_acquire(&mut self) -> bool {
        let mut evalsha = cmd("EVALSHA");
        evalsha.arg(ACQUIRE.sha()).arg(1).arg(&*self.name);
        evalsha.arg(&*self.holder).arg(LEASE_MS);
        was_done(evalsha.query_async(&mut self.redis).await)
    }

    pub(crate) async fn acquire(&mut self) {
        assert!(self.try_acquire().await, "nobody else holds it");
    }

    pub(crate) async fn release(&mut self) {
        let mut evalsha = cmd("EVALSHA");
        evalsha.arg(RELEASE.sha()).arg(1).arg(&*self.name);
        evalsha.arg(&*self.holder).arg(&*self.channel);
        assert!(was_done(evalsha.query_async(&mut self.redis).await), "it was held");
    }

    /// Those of one connection.
    pub(crate) async fn renew(locks: &[Self]) {
        let Some(first) = locks.first() else { return };
        let mut evalsha = cmd("EVALSHA");
        evalsha.arg(RENEW.sha()).arg(locks.len());
        let names: Vec<_> = locks.iter().map(|lock| &*lock.name).collect();
        let holders: Vec<_> = locks.iter().map(|lock| &*lock.holder).collect();
        evalsha.arg(names).arg(LEASE_MS).arg(holders);
        let renewed: redis::RedisResult<usize> =
            evalsha.query_async(&mut first.redis.clone()).await;
        assert_eq!(renewed.expect("the server answers"), locks.len(), "they were held");
    }
}

impl Pair for Floor {
    async fn pair(&mut self) {
        self.acquire().await;
        self.release().await;
    }
}

/// The same name on several nodes.
#[derive(Clone)]
pub(crate) struct Nodes(Vec<Floor>);

impl Nodes {
    /// One connection to each server, and a name each.
    pub(crate) async fn connect(urls: &[String], names: &[String]) -> Vec<Self> {
        let mut all: Vec<_> = names.iter().map(|_| Self(Vec::new())).collect();
        for url in urls {
            for (nodes, floor) in all.iter_mut().zip(Floor::connect(url, names).await) {
                nodes.0.push(floor);
            }
        }
        all
    }
}

/// Asks all nodes at once, and waits for all.
#[derive(Clone)]
pub(crate) struct All(pub(crate) Nodes);

impl Pair for All {
    async fn pair(&mut self) {
        let Self(Nodes(nodes)) = self;
        join_all(nodes.iter_mut().map(Floor::acquire)).await;
        join_all(nodes.iter_mut().map(Floor::release)).await;
    }
}

/// Asks all nodes at once, and goes on when most have answered.
#[derive(Clone)]
pub(crate) struct Quorum(pub(crate) Nodes);

impl Pair for Quorum {
    async fn pair(&mut self) {
        let nodes = || self.0.0.iter().cloned();
        most_of(nodes().map(|mut node| async move { node.acquire().await })).await;
        most_of(nodes().map(|mut node| async move { node.release().await })).await;
    }
}

/// Leaves the rest to a task. What goes to a node later stands behind it on the connection.
async fn most_of<F>(calls: impl Iterator<Item = F>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut calls: FuturesUnordered<_> = calls.collect();
    for _ in 0..calls.len() / 2 + 1 {
        calls.next().await;
    }
    if !calls.is_empty() {
        tokio::spawn(async move { while calls.next().await.is_some() {} });
    }
}

/// Where releases are announced.
pub(crate) fn channel(name: &str) -> String {
    format!("redisson_lock__channel:{{{name}}}")
}

async fn connect(url: &str) -> MultiplexedConnection {
    let info = url.into_connection_info().expect("the URL is one");
    let info = info.set_tcp_settings(TcpSettings::default().set_nodelay(true));
    let config = AsyncConnectionConfig::new()
        .set_response_timeout(None)
        .set_connection_timeout(None)
        .set_pipeline_buffer_size(1024);
    let client = Client::open(info).expect("the URL is one");
    let connection = client.get_multiplexed_async_connection_with_config(&config).await;
    let mut connection = connection.expect("the server is up");
    for script in [&ACQUIRE, &RELEASE, &RENEW] {
        script.load(&mut connection).await;
    }
    connection
}

fn was_done(answer: redis::RedisResult<Value>) -> bool {
    match answer.expect("the server answers") {
        Value::Int(done) => done == 1,
        other => panic!("{other:?}"),
    }
}

struct Script {
    source: &'static str,
    sha: OnceLock<String>,
}

impl Script {
    const fn new(source: &'static str) -> Self {
        Self { source, sha: OnceLock::new() }
    }

    async fn load(&self, connection: &mut MultiplexedConnection) {
        let mut load = cmd("SCRIPT");
        load.arg("LOAD").arg(self.source);
        load.exec_async(connection).await.expect("the script compiles");
    }

    fn sha(&self) -> &str {
        self.sha.get_or_init(|| sha1_smol::Sha1::from(self.source).digest().to_string())
    }
}

static ACQUIRE: Script = Script::new(include_str!("acquire.lua"));
static RELEASE: Script = Script::new(include_str!("release.lua"));
static RENEW: Script = Script::new(include_str!("renew.lua"));

/// As long as those of palisade.
const HOLDER: &str = "2b0b4a1e-7f62-4d62-9b6e-5f3f9f8f1c55:1";
const LEASE_MS: i64 = 30_000;
