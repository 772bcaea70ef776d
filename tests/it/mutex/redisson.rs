//! A peer that speaks as Redisson's `RLock` does, written by hand: both exclude and wake each
//! other.

use testkit::{RedisServer, Reply};

use crate::support::{Look, channel, client, eventually, promptly, soon};

/// Returns nothing if it was acquired, else the holder's ttl.
const ACQUIRE: &str = "
if (redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1) then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])";

/// Returns nothing if it is not the holder, 0 if it still is, 1 if the lock is free now.
const UNLOCK: &str = "
local val = redis.call('get', KEYS[3])
if val ~= false then return tonumber(val) end
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then return nil end
local counter = redis.call('hincrby', KEYS[1], ARGV[3], -1)
if counter > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  redis.call('set', KEYS[3], 0, 'px', ARGV[5])
  return 0
end
redis.call('del', KEYS[1])
redis.call(ARGV[4], KEYS[2], ARGV[1])
redis.call('set', KEYS[3], 1, 'px', ARGV[5])
return 1";

/// A thread of a Java process.
struct Peer<'a> {
    server: &'a RedisServer,
    holder: &'static str,
}

impl Peer<'_> {
    fn acquire(&self, name: &str) -> Reply {
        self.server.command(&["EVAL", ACQUIRE, "1", name, "30000", self.holder])
    }

    fn unlock(&self, name: &str, request: u32) -> Reply {
        let latch = format!("redisson_unlock_latch:{{{name}}}:{request}");
        let (keys, args) = (["3", name, &channel(name), &latch], ["0", "30000", self.holder]);
        let words = ["EVAL", UNLOCK].into_iter().chain(keys).chain(args);
        self.server.command(&words.chain(["publish", "1"]).collect::<Vec<_>>())
    }
}

const THREAD: &str = "f9c8d5d5-26b4-4c0c-8a3c-0a1c3d6f9b6e:57";

#[tokio::test]
async fn redisson_holder_excludes_us_and_its_unlock_wakes_us() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let java = Peer { server: &server, holder: THREAD };
    assert_eq!(java.acquire("x"), Reply::Nil);
    assert_eq!(java.acquire("x"), Reply::Nil, "it re-enters");
    assert!(client.lock("x").try_acquire().await.unwrap().is_none());
    let holder = client.lock("x").holder().await.unwrap().unwrap();
    assert_eq!((holder.id.as_str(), holder.count), (THREAD, 2));

    let lock = client.lock("x");
    let waiter = tokio::spawn(async move { lock.acquire().await });
    eventually(|| server.subscribers("x") == 1).await;
    assert_eq!(java.unlock("x", 1), Reply::Int(0));
    assert!(server.exists("x"));
    assert_eq!(java.unlock("x", 2), Reply::Int(1));
    // Far less than its ttl of 30 s.
    let guard = promptly(&server, waiter).await.unwrap().unwrap();
    assert_eq!(server.count("x"), 1);
    guard.release().await.unwrap();
}

#[tokio::test]
async fn our_hold_excludes_redisson_and_our_release_wakes_it() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let java = Peer { server: &server, holder: THREAD };
    let guard = soon(client.lock("x").acquire()).await.unwrap();
    let ttl = java.acquire("x").int();
    assert!((1..=600_000).contains(&ttl), "it is told how long to sleep: {ttl}");
    assert_eq!(java.unlock("x", 1), Reply::Nil, "it is not the holder");

    let mut subscriber = server.connect();
    subscriber.command(&["SUBSCRIBE", &channel("x")]).unwrap();
    let again = guard.reenter().unwrap();
    eventually(|| server.count("x") == 2).await;
    drop(again);
    eventually(|| server.count("x") == 1).await;
    guard.release().await.unwrap();
    // Its decoder takes the payload for a decimal number; only the last release speaks.
    assert_eq!(subscriber.read().unwrap().array()[2], Reply::Bulk(b"0".to_vec()));
    assert_eq!(java.acquire("x"), Reply::Nil);
    assert!(client.lock("x").try_acquire().await.unwrap().is_none());
}

#[tokio::test]
async fn redisson_and_we_take_turns() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let java = Peer { server: &server, holder: THREAD };
    for request in 0..20 {
        assert_eq!(java.acquire("x"), Reply::Nil);
        assert!(client.lock("x").try_acquire().await.unwrap().is_none());
        assert_eq!(java.unlock("x", request), Reply::Int(1));
        let guard = client.lock("x").try_acquire().await.unwrap().unwrap();
        assert!(java.acquire("x").int() > 0);
        guard.release().await.unwrap();
    }
}
