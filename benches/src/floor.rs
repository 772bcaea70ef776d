//! The floor: the same two scripts, called by hand on a bare connection of redis-rs.
//!
//! No deadlines, no timers, no bookkeeping, one holder for all: less cannot be done in two round
//! trips. Several nodes are asked at once and all of them are waited for.

use std::sync::{Arc, LazyLock};

use futures::{StreamExt, future::join_all, stream};
use redis::{
    AsyncConnectionConfig, Client, IntoConnectionInfo, Value, aio::MultiplexedConnection, cmd,
    io::tcp::TcpSettings,
};
use testkit::RedisServer;

use crate::compare::Pair;

/// One name on one node.
#[derive(Clone)]
pub(crate) struct Floor {
    redis: MultiplexedConnection,
    name: Arc<str>,
    channel: Arc<str>,
}

impl Floor {
    /// One connection to `server`, and a name each.
    pub(crate) async fn connect(
        server: &RedisServer,
        names: impl IntoIterator<Item = String>,
    ) -> Vec<Self> {
        let redis = connect(server).await;
        let named = |name: String| {
            let channel = format!("redisson_lock__channel:{{{name}}}").into();
            Self { redis: redis.clone(), name: name.into(), channel }
        };
        names.into_iter().map(named).collect()
    }

    pub(crate) async fn acquire(&mut self) {
        let mut evalsha = cmd("EVALSHA");
        evalsha.arg(&*ACQUIRE.sha).arg(1).arg(&*self.name);
        evalsha.arg(HOLDER).arg(1).arg(LEASE_MS).arg(i64::MAX);
        expect_done(evalsha.query_async(&mut self.redis).await);
    }

    pub(crate) async fn release(&mut self) {
        let mut evalsha = cmd("EVALSHA");
        evalsha.arg(&*RELEASE.sha).arg(1).arg(&*self.name);
        evalsha.arg(HOLDER).arg(0).arg(0).arg(&*self.channel);
        expect_done(evalsha.query_async(&mut self.redis).await);
    }

    pub(crate) async fn renew(&mut self) {
        let mut evalsha = cmd("EVALSHA");
        evalsha.arg(&*RENEW.sha).arg(1).arg(&*self.name).arg(HOLDER).arg(LEASE_MS);
        expect_done(evalsha.query_async(&mut self.redis).await);
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
pub(crate) struct Parallel(Vec<Floor>);

impl Parallel {
    pub(crate) async fn connect(servers: impl IntoIterator<Item = &RedisServer>) -> Self {
        let one = |server| Floor::connect(server, [String::from("floor")]);
        Self(stream::iter(servers).then(one).map(stream::iter).flatten().collect().await)
    }
}

impl Pair for Parallel {
    async fn pair(&mut self) {
        join_all(self.0.iter_mut().map(Floor::acquire)).await;
        join_all(self.0.iter_mut().map(Floor::release)).await;
    }
}

async fn connect(server: &RedisServer) -> MultiplexedConnection {
    let info = server.url().into_connection_info().expect("the URL is one");
    let info = info.set_tcp_settings(TcpSettings::default().set_nodelay(true));
    let config = AsyncConnectionConfig::new()
        .set_response_timeout(None)
        .set_connection_timeout(None)
        .set_pipeline_buffer_size(1024);
    let client = Client::open(info).expect("the URL is one");
    let connection = client.get_multiplexed_async_connection_with_config(&config).await;
    let mut connection = connection.expect("the server is up");
    for script in [&ACQUIRE, &RELEASE, &RENEW] {
        let mut load = cmd("SCRIPT");
        load.arg("LOAD").arg(script.source);
        load.exec_async(&mut connection).await.expect("the script compiles");
    }
    connection
}

/// `[server time, 1, …]`
fn expect_done(answer: redis::RedisResult<Value>) {
    let answer = answer.expect("the server answers");
    let Value::Array(items) = &answer else { panic!("{answer:?}") };
    assert_eq!(items.get(1), Some(&Value::Int(1)), "{answer:?}");
}

struct Script {
    source: &'static str,
    sha: LazyLock<String>,
}

/// From files that stand behind one another.
macro_rules! script {
    ($($file:literal),+) => {{
        const SOURCE: &str = concat!($(include_str!(concat!("../../src/kinds/mutex/", $file)), "\n"),+);
        let digest = || sha1_smol::Sha1::from(SOURCE).digest().to_string();
        Script { source: SOURCE, sha: LazyLock::new(digest) }
    }};
}

static ACQUIRE: Script = script!("grant.lua", "acquire.lua");
static RELEASE: Script = script!("count.lua");
static RENEW: Script = script!("renew.lua");

/// As long as those of palisade.
const HOLDER: &str = "2b0b4a1e-7f62-4d62-9b6e-5f3f9f8f1c55:1";
const LEASE_MS: i64 = 30_000;
