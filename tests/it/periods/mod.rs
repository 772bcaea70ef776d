//! Jobs that run once for a period, on real servers.

mod ending;
mod every;
mod limits;
mod program;
mod recorded;
mod several;

use std::convert::Infallible;

use palisade::{
    Client, ClientBuilder, LockGuard,
    any::BoxLock,
    once::{Once, OnceError, RecordedRun},
};
use testkit::RedisServer;
use tokio::net::TcpStream;

use crate::support::{patient, patiently, watchdog};

/// What a job comes to that has no errors.
type Ran<T> = Result<Once<T>, OnceError<T, Infallible>>;

/// Work that is done.
async fn done<G>(_guard: &G) -> Result<u32, Infallible> {
    Ok(42)
}

/// A client as of another process.
async fn stranger(server: &RedisServer) -> Client {
    strange(server).connect().await.unwrap()
}

fn strange(server: &RedisServer) -> ClientBuilder {
    let addr = server.addr();
    let settings = patiently(Client::builder().url(&server.url()));
    settings.connector(&addr.to_string(), move || TcpStream::connect(addr))
}

/// One lock of each kind with records, by one name each.
fn kinds(client: &Client) -> Vec<(&'static str, BoxLock)> {
    vec![
        ("lock", client.lock("a").boxed()),
        ("fenced", client.fenced_lock("b").boxed()),
        ("fair", client.fair_lock("c").boxed()),
        ("write", client.rw_lock("d").write().with_lease(watchdog(20_000)).boxed()),
        ("braced", client.lock("{e}").boxed()),
    ]
}

#[track_caller]
fn ran<T: std::fmt::Debug>(once: Ran<T>) -> T {
    match once {
        Ok(Once::Done(value)) => value,
        other => panic!("it was due: {other:?}"),
    }
}

#[track_caller]
fn not_due<T: std::fmt::Debug>(once: Ran<T>) -> RecordedRun {
    match once {
        Ok(Once::NotDue(run)) => run,
        other => panic!("it was not due: {other:?}"),
    }
}

/// The keys with records.
fn records(server: &RedisServer) -> Vec<String> {
    server.keys().into_iter().filter(|key| key.contains("palisade_")).collect()
}

/// Takes the lock from its holder, for another one.
fn take(server: &RedisServer, name: &str) {
    server.cli(&["DEL", name]);
    server.cli(&["HSET", name, "other:1", "1"]);
    server.cli(&["PEXPIRE", name, "600000"]);
}

async fn held(server: &RedisServer, name: &str) -> (Client, LockGuard) {
    let client = patient(server).connect().await.unwrap();
    let guard = client.lock(name).acquire().await.unwrap();
    (client, guard)
}
