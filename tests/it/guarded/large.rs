//! Calls that are so large that others would wait behind them go by a socket of their own.

use std::{collections::BTreeSet, net::SocketAddr};

use futures::poll;
use palisade::{Client, LockGuard, error::GuardedError, guarded::Script};
use testkit::{FaultProxy, RedisServer, SlotCluster};
use tokio::time::Instant;

use super::poll_a_while;
use crate::{
    deployment::cluster,
    support::{client, eventually, patiently, soon},
};

fn set() -> Script {
    Script::new("redis.call('SET', KEYS[1], ARGV[1]) return #ARGV[1]")
}

async fn sets(guard: &LockGuard, bytes: usize) -> Result<i64, GuardedError> {
    guard.script(&set()).key("{x}:data").arg(vec![b'a'; bytes]).invoke().await
}

/// Where its clients are.
fn clients_of(server: &RedisServer) -> BTreeSet<SocketAddr> {
    let list = server.cli(&["CLIENT", "LIST"]);
    let words = list.split_whitespace();
    words.filter_map(|word| word.strip_prefix("addr=")?.parse().ok()).collect()
}

#[tokio::test]
async fn large_call_that_hangs_holds_up_no_other() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let settings = patiently(Client::builder().url(&proxy.url())).tracking(false);
    let client = settings.connect().await.unwrap();
    let guard = client.lock("x").acquire().await.unwrap();
    assert_eq!(sets(&guard, 60_000).await.unwrap(), 60_000);
    // Each connection names itself last, and the watchdog has its own.
    eventually(|| server.calls_of("client") == 2).await;
    let before = clients_of(&server);
    for bytes in [100_000, 5_000_000] {
        assert_eq!(sets(&guard, bytes).await.unwrap(), i64::try_from(bytes).unwrap());
    }
    // That by which it is asked is another each time.
    let mut apart = Vec::new();
    eventually(|| {
        let [now, later] = [(); 2].map(|()| clients_of(&server));
        apart = now.intersection(&later).filter(|at| !before.contains(at)).copied().collect();
        apart.len() == 1
    })
    .await;

    proxy.mute(&apart);
    let mut call = Box::pin(sets(&guard, 5_000_000));
    assert!(poll_a_while(&mut call).await, "nothing answers");
    let other = soon(client.lock("y").acquire()).await.unwrap();
    assert_eq!(soon(sets(&guard, 60_000)).await.unwrap(), 60_000);
    other.release().await.unwrap();
    assert!(poll!(&mut call).is_pending());
    proxy.heal();
    let unknown = soon(call).await.unwrap_err();
    assert!(matches!(unknown, GuardedError::Unknown { .. }), "{unknown:?}");
    assert_eq!(soon(sets(&guard, 100_000)).await.unwrap(), 100_000);
}

/// On one socket an acquire would be answered behind it.
#[tokio::test]
async fn acquire_does_not_wait_until_a_large_call_is_over() {
    const BYTES: usize = 30_000_000;
    let server = RedisServer::start();
    let client = client(&server).await;
    let (guard, lock) = (client.lock("x").acquire().await.unwrap(), client.lock("y"));
    sets(&guard, 100_000).await.unwrap();
    let mut rounds = Vec::new();
    for _ in 0..5 {
        let begun = Instant::now();
        let large = async {
            sets(&guard, BYTES).await.unwrap();
            begun.elapsed()
        };
        let acquire = async {
            tokio::task::yield_now().await;
            let asked = Instant::now();
            lock.acquire().await.unwrap().release().await.unwrap();
            asked.elapsed()
        };
        rounds.push(soon(async { tokio::join!(large, acquire) }).await);
    }
    rounds.sort_by_key(|(large, acquire)| acquire.as_nanos() * 1_000 / large.as_nanos());
    let (large, acquire) = rounds[rounds.len() / 2];
    assert!(2 * acquire < large, "{rounds:?}");
}

#[tokio::test]
async fn large_call_finds_the_server_of_its_slot() {
    let servers = SlotCluster::start(3);
    let client = soon(cluster::settings(&servers).connect()).await.unwrap();
    let guard = soon(client.lock("x").acquire()).await.unwrap();
    for bytes in [100_000, 1_000_000] {
        assert_eq!(soon(sets(&guard, bytes)).await.unwrap(), i64::try_from(bytes).unwrap());
    }
}
