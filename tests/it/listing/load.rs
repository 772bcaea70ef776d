//! What a list costs its servers.

use std::time::{Duration, Instant};

use palisade::{error::ConfigError, inspect::ListOptions};
use testkit::{Fault, FaultProxy, RedisServer};

use super::{UUID, all, hash, only};
use crate::support::{client, patient, soon};

/// So many keys with a field of theirs.
fn fill(server: &RedisServer, hashes: usize) {
    let script = "for i = 1, ARGV[1] do redis.call('HSET', 'h' .. i, 'name', 'x') end";
    server.cli(&["EVAL", script, "0", &hashes.to_string()]);
}

/// Per page of the scan, and then the least of each hash: nothing that grows with what stands in it.
#[tokio::test]
async fn of_a_foreign_hash_the_length_and_one_name_are_asked() {
    let server = RedisServer::start();
    fill(&server, 1_000);
    let here = client(&server).await;
    let guard = soon(here.lock("x").acquire()).await.unwrap();
    let before = server.calls();
    let list = all(&here).await;
    assert_eq!(only(&list).name, "x");
    let after = server.calls();
    let said = |command: &str| {
        let of = |calls: &std::collections::BTreeMap<String, u64>| calls.get(command).copied();
        of(&after).unwrap_or(0) - of(&before).unwrap_or(0)
    };
    // A scan may come to a key more than once.
    assert!((3..=20).contains(&said("scan")), "{}", said("scan"));
    assert!((1_001..2_000).contains(&said("hlen")), "{}", said("hlen"));
    assert!(said("hkeys") <= said("hlen"));
    for once in ["hgetall", "pttl", "zcard", "lrange"] {
        assert_eq!(said(once), 1, "{once}");
    }
    assert_eq!((said("evalsha"), said("eval"), said("hscan")), (0, 0, 0));
    guard.release().await.unwrap();
}

/// A hash of thousands would hold the server up.
#[tokio::test]
async fn of_very_many_readers_some_are_read_and_the_rest_is_counted() {
    let server = RedisServer::start();
    let script = "for i = 1, 5000 do redis.call('HSET', KEYS[1], ARGV[1] .. ':' .. i, 1) end";
    server.cli(&["EVAL", script, "1", "x", UUID]);
    hash(&server, "x", &["mode", "read"]);
    let reads = server.calls_of("hgetall");
    let list = all(&client(&server).await).await;
    let lock = only(&list);
    assert!((63..=64).contains(&lock.holders.len()), "{}", lock.holders.len());
    assert_eq!(lock.more_holders + 64, 5_001);
    assert_eq!(server.calls_of("hgetall"), reads);
    assert_eq!(lock.is_held_longer_than(Duration::ZERO), None);
}

/// It waits nine times as long as it was answered for, or as is asked for, and not at all in haste.
#[tokio::test]
async fn server_is_left_alone_for_all_but_a_share_of_the_time() {
    let server = RedisServer::start();
    fill(&server, 1_000);
    let proxy = FaultProxy::before(&server);
    let here = patient(&server).url(&proxy.url()).connect().await.unwrap();
    proxy.set(Fault::Delay(Duration::from_millis(2)));
    for (options, pauses) in [(ListOptions::new(), 9), (ListOptions::new().pace(20), 19)] {
        let scans = server.calls_of("scan");
        let began = Instant::now();
        soon(here.list(&options)).await.unwrap();
        let (took, pages) = (began.elapsed(), server.calls_of("scan") - scans);
        // Three round trips a page, each of twice the delay, and a pause after all but the last.
        let busy = Duration::from_millis(12);
        let pages = u32::try_from(pages).unwrap();
        assert!(pages >= 3, "{pages}");
        assert!(took >= busy * pauses * (pages - 1), "{took:?} for {pages} pages");
    }
    for pace in [0, 10_001] {
        let options = ListOptions::new().pace(pace);
        for refused in [here.list(&options).await.err(), here.list_processes(&options).await.err()]
        {
            let is_refused =
                matches!(refused, Some(ConfigError::InvalidSetting { setting: "pace", .. }));
            assert!(is_refused, "{pace}: {refused:?}");
        }
    }
}
