//! Fencing tokens, on one server and over many.

mod agreeing;
mod clocks;
mod costs;
mod disagreeing;
mod looking;
mod order;
mod owners;
mod quorum;
mod redisson;
mod scripts;
mod single;

use std::{collections::BTreeMap, time::Duration};

use futures::future::BoxFuture;
use palisade::{
    Client, FencedGuard, FencingToken, Masters, Quarantine,
    clock::{BootClock, Clock, Instant},
};
use testkit::{Cluster, FaultProxy, RedisServer};
use tokio::net::TcpStream;

use crate::fleet::{eventually, holder_on, masters};

/// The counter of a lock by itself, for a name without braces.
fn counter(name: &str) -> String {
    format!("redisson_lock_token:{{{name}}}")
}

/// The counter of a member of a composite.
fn member_counter(name: &str) -> String {
    format!("palisade_lock_token:{{{name}}}")
}

/// What a counter says; 0 if it is not there.
fn value(server: &RedisServer, counter: &str) -> u64 {
    server.cli(&["GET", counter]).parse().unwrap_or(0)
}

/// A counter that is so far ahead of the servers' time of day: less than a day, so that it counts.
fn ahead(hours: u64) -> u64 {
    let now = BootClock.unix_time() + Duration::from_secs(hours * 3_600);
    u64::try_from(now.as_micros()).unwrap()
}

/// The system's clock, whose time of day is wrong.
#[derive(Debug)]
enum Off {
    Ahead(Duration),
    /// It stands at this time since 1970.
    At(Duration),
}

impl Clock for Off {
    fn now(&self) -> Instant {
        BootClock.now()
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        BootClock.sleep_until(at)
    }

    fn unix_time(&self) -> Duration {
        match self {
            Self::Ahead(by) => BootClock.unix_time() + *by,
            Self::At(time) => *time,
        }
    }
}

const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// How often clients and scripts called each command since `before`, without what is asked here.
fn calls_since(server: &RedisServer, before: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut calls = server.calls();
    for (command, count) in before {
        *calls.get_mut(command).unwrap() -= count;
    }
    calls.retain(|command, count| *count > 0 && command != "info");
    calls
}

/// Completes when the rest of the masters have granted too.
async fn everywhere(servers: impl Iterator<Item = &RedisServer> + Clone, guard: &FencedGuard) {
    let id = guard.holder_id().to_owned();
    let all = || servers.clone().all(|s| holder_on(s, "x").as_deref() == Some(&*id));
    eventually("every member grants", all).await;
}

/// Only counters are left, all of them with the same value.
fn counters_agree(servers: &Cluster, token: FencingToken) {
    for server in servers {
        assert_eq!(value(server, &member_counter("x")), token.get());
    }
}

/// Masters, each behind a proxy.
struct Proxied {
    servers: Cluster,
    proxies: Vec<FaultProxy>,
    masters: Masters,
}

impl Proxied {
    async fn start(n: usize) -> Self {
        let servers = Cluster::start(n);
        let proxies: Vec<_> = servers.iter().map(FaultProxy::before).collect();
        let clients = proxies.iter().map(|proxy| {
            let addr = proxy.addr();
            Client::builder()
                .node_timeout(Duration::from_secs(10))
                .quarantine(Quarantine::Durable)
                .connector("proxy", move || TcpStream::connect(addr))
        });
        let masters = masters(clients).await;
        Self { servers, proxies, masters }
    }
}
