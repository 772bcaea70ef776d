//! A peer that speaks as Redisson's `RReadWriteLock` does, written by hand.

use testkit::{RedisServer, Reply};

use super::{channel, client, subscribers, timer};
use crate::support::{Look, eventually, fixed, promptly, soon};

const READ: &str = "
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
  redis.call('hset', KEYS[1], 'mode', 'read')
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('set', KEYS[2] .. ':1', 1)
  redis.call('pexpire', KEYS[2] .. ':1', ARGV[1])
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if mode == 'read' or (mode == 'write' and redis.call('hexists', KEYS[1], ARGV[3]) == 1) then
  local ind = redis.call('hincrby', KEYS[1], ARGV[2], 1)
  local key = KEYS[2] .. ':' .. ind
  redis.call('set', key, 1)
  redis.call('pexpire', key, ARGV[1])
  redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), ARGV[1]))
  return nil
end
return redis.call('pttl', KEYS[1])";

const READ_UNLOCK: &str = "
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
  redis.call('publish', KEYS[2], ARGV[1])
  return nil
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return nil end
local counter = redis.call('hincrby', KEYS[1], ARGV[2], -1)
if counter == 0 then redis.call('hdel', KEYS[1], ARGV[2]) end
redis.call('del', KEYS[3] .. ':' .. (counter + 1))
if redis.call('hlen', KEYS[1]) > 1 then
  local most = -3
  for _, key in ipairs(redis.call('hkeys', KEYS[1])) do
    counter = tonumber(redis.call('hget', KEYS[1], key))
    if type(counter) == 'number' then
      for i = counter, 1, -1 do
        local left = redis.call('pttl', KEYS[4] .. ':' .. key .. ':rwlock_timeout:' .. i)
        most = math.max(left, most)
      end
    end
  end
  if most > 0 then
    redis.call('pexpire', KEYS[1], most)
    return 0
  end
  if mode == 'write' then return 0 end
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], ARGV[1])
return 1";

const WRITE: &str = "
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
  redis.call('hset', KEYS[1], 'mode', 'write')
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if mode == 'write' and redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], redis.call('pttl', KEYS[1]) + ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])";

const WRITE_UNLOCK: &str = "
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
  redis.call('publish', KEYS[2], ARGV[1])
  return nil
end
if mode == 'write' then
  if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return nil end
  if redis.call('hincrby', KEYS[1], ARGV[2], -1) > 0 then return 0 end
  redis.call('hdel', KEYS[1], ARGV[2])
  if redis.call('hlen', KEYS[1]) == 1 then
    redis.call('del', KEYS[1])
    redis.call('publish', KEYS[2], ARGV[1])
  else
    redis.call('hset', KEYS[1], 'mode', 'read')
  end
  return 1
end
return nil";

const THREAD: &str = "f9c8d5d5-26b4-4c0c-8a3c-0a1c3d6f9b6e:57";

/// A thread of a Java process.
struct Peer<'a>(&'a RedisServer);

impl Peer<'_> {
    fn eval(&self, script: &str, keys: &[&str], args: &[&str]) -> Reply {
        let count = keys.len().to_string();
        let words = ["EVAL", script, &count].into_iter().chain(keys.iter().copied());
        self.0.command(&words.chain(args.iter().copied()).collect::<Vec<_>>())
    }

    fn timers(name: &str) -> String {
        format!("{{{name}}}:{THREAD}:rwlock_timeout")
    }

    fn read(&self, name: &str, lease_ms: &str) -> Reply {
        let writer = format!("{THREAD}:write");
        self.eval(READ, &[name, &Self::timers(name)], &[lease_ms, THREAD, &writer])
    }

    fn read_unlock(&self, name: &str) -> Reply {
        let (timers, prefix) = (Self::timers(name), format!("{{{name}}}"));
        self.eval(READ_UNLOCK, &[name, &channel(name), &timers, &prefix], &["0", THREAD])
    }

    fn write(&self, name: &str) -> Reply {
        self.eval(WRITE, &[name], &["30000", &format!("{THREAD}:write")])
    }

    fn write_unlock(&self, name: &str) -> Reply {
        self.eval(WRITE_UNLOCK, &[name, &channel(name)], &["1", &format!("{THREAD}:write")])
    }
}

#[tokio::test]
async fn redissons_readers_and_ours_share() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    let java = Peer(&server);
    let ours = lock.read().acquire().await.unwrap();
    assert_eq!(java.read("x", "30000"), Reply::Nil);
    assert!(lock.write().try_acquire().await.unwrap().is_none());
    assert!(java.write("x").int() > 0);
    // Its unlock spares us for our timer.
    assert_eq!(java.read_unlock("x"), Reply::Int(0));
    assert!(server.exists("x") && ours.is_held());
    assert_eq!(java.read("x", "30000"), Reply::Nil);
    ours.release().await.unwrap();
    assert!(lock.write().try_acquire().await.unwrap().is_none(), "Java reads");
    assert_eq!(java.read_unlock("x"), Reply::Int(1));
    assert_eq!(server.size(), 0);
}

#[tokio::test]
async fn our_reader_that_was_entered_twice_is_spared_for_its_one_timer() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    let java = Peer(&server);
    let ours = lock.read().acquire().await.unwrap();
    let _again = ours.reenter().unwrap();
    eventually(|| server.hash("x")[ours.holder_id()] == "2").await;
    assert_eq!(java.read("x", "30000"), Reply::Nil);
    assert_eq!(java.read_unlock("x"), Reply::Int(0));
    assert!(server.pttl("x") > 300_000 && server.exists(&timer("x", ours.holder_id())));
}

#[tokio::test]
async fn release_of_ours_leaves_a_redisson_reader_whose_timer_ends_before_the_hash() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    let java = Peer(&server);
    assert_eq!(java.read("x", "30000"), Reply::Nil);
    // As its MultiLock leaves it: the hash lives on without the timer.
    server.command(&["DEL", &format!("{}:1", Peer::timers("x"))]);
    let ours = lock.read().with_lease(fixed(200_000)).acquire().await.unwrap();
    ours.release().await.unwrap();
    assert_eq!(server.hash("x")[THREAD], "1");
    assert!(server.pttl("x") > 100_000);
    assert!(lock.write().try_acquire().await.unwrap().is_none());
}

#[tokio::test]
async fn writers_exclude_and_wake_each_other() {
    let server = RedisServer::start();
    let (lock, java) = (client(&server).await.rw_lock("x"), Peer(&server));
    assert_eq!(java.write("x"), Reply::Nil);
    assert_eq!(java.write("x"), Reply::Nil, "it re-enters");
    let writer = lock.write().holder().await.unwrap().unwrap();
    assert_eq!((writer.id.as_str(), writer.count), (THREAD, 2));
    let (read, write) = (lock.read(), lock.write());
    let reader = tokio::spawn(async move { read.acquire().await });
    eventually(|| subscribers(&server, "x") == 1).await;
    assert_eq!(java.write_unlock("x"), Reply::Int(0));
    assert_eq!(java.write_unlock("x"), Reply::Int(1));
    let reader = promptly(&server, reader).await.unwrap().unwrap();
    assert!(java.write("x").int() > 0);
    reader.release().await.unwrap();

    assert_eq!(java.read("x", "30000"), Reply::Nil);
    let waiter = tokio::spawn(async move { write.acquire().await });
    eventually(|| subscribers(&server, "x") == 1).await;
    assert_eq!(java.read_unlock("x"), Reply::Int(1));
    let writer = promptly(&server, waiter).await.unwrap().unwrap();
    assert!(java.read("x", "30000").int() > 0);
    let reader = soon(writer.downgrade()).await.unwrap();
    assert_eq!(java.read("x", "30000"), Reply::Nil);
    reader.release().await.unwrap();
    assert_eq!(java.read_unlock("x"), Reply::Int(1));
    assert_eq!(server.size(), 0);
}

#[tokio::test]
async fn redissons_nested_reader_outlives_its_writer_and_keeps_ours_out_until_then() {
    let server = RedisServer::start();
    let (lock, java) = (client(&server).await.rw_lock("x"), Peer(&server));
    assert_eq!(java.write("x"), Reply::Nil);
    assert_eq!(java.read("x", "30000"), Reply::Nil);
    assert!(lock.read().is_locked().await.unwrap() && lock.write().is_locked().await.unwrap());
    assert!(lock.read().try_acquire().await.unwrap().is_none());
    assert_eq!(java.write_unlock("x"), Reply::Int(1));
    soon(lock.read().acquire()).await.unwrap().release().await.unwrap();
    assert!(lock.write().try_acquire().await.unwrap().is_none());
    assert_eq!(java.read_unlock("x"), Reply::Int(1));
}
