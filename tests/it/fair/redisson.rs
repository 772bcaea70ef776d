//! A peer that speaks as Redisson's `RFairLock` does, written by hand.

use testkit::{Actor, RedisServer, Reply};

use super::{CHANNEL, DEADLINES, NOTE, QUEUE, deadline, nothing_is_left, queue, waiter};
use crate::{
    scripts::now,
    support::{HANG, Look, client, eventually, promptly, soon},
};

const SWEEP: &str = "
while true do
  local first = redis.call('lindex', KEYS[2], 0)
  if first == false then break end
  local score = redis.call('zscore', KEYS[3], first)
  if score ~= false and tonumber(score) <= tonumber(ARGV[4]) then
    redis.call('zrem', KEYS[3], first)
    redis.call('lpop', KEYS[2])
  else
    break
  end
end
";

const ACQUIRE: &str = "
if redis.call('exists', KEYS[1]) == 0
  and (redis.call('exists', KEYS[2]) == 0 or redis.call('lindex', KEYS[2], 0) == ARGV[2]) then
  redis.call('lpop', KEYS[2])
  redis.call('zrem', KEYS[3], ARGV[2])
  for _, key in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do
    redis.call('zincrby', KEYS[3], -tonumber(ARGV[3]), key)
  end
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if redis.call('zscore', KEYS[3], ARGV[2]) ~= false then
  return math.max(0, redis.call('pttl', KEYS[1]))
end
local last = redis.call('lindex', KEYS[2], -1)
local ttl
if last ~= false and last ~= ARGV[2] and redis.call('zscore', KEYS[3], last) ~= false then
  ttl = tonumber(redis.call('zscore', KEYS[3], last)) - tonumber(ARGV[4])
else
  ttl = redis.call('pttl', KEYS[1])
end
if redis.call('zadd', KEYS[3], ttl + tonumber(ARGV[3]) + tonumber(ARGV[4]), ARGV[2]) == 1 then
  redis.call('rpush', KEYS[2], ARGV[2])
end
return ttl";

const UNLOCK: &str = "
if redis.call('exists', KEYS[1]) == 0 then
  local next = redis.call('lindex', KEYS[2], 0)
  if next ~= false then redis.call('publish', KEYS[4] .. ':' .. next, ARGV[1]) end
  return 1
end
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then return nil end
if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 0
end
redis.call('del', KEYS[1])
local next = redis.call('lindex', KEYS[2], 0)
if next ~= false then redis.call('publish', KEYS[4] .. ':' .. next, ARGV[1]) end
return 1";

const FAILED: &str = "
local queue = redis.call('lrange', KEYS[1], 0, -1)
local i = 1
while i <= #queue and queue[i] ~= ARGV[1] do i = i + 1 end
for j = i + 1, #queue do redis.call('zincrby', KEYS[2], -tonumber(ARGV[2]), queue[j]) end
redis.call('zrem', KEYS[2], ARGV[1])
redis.call('lrem', KEYS[1], 0, ARGV[1])";

/// A thread of a Java process.
struct Peer<'a> {
    server: &'a RedisServer,
    thread: &'a str,
    /// How far its clock is ahead, ms.
    ahead: i64,
}

impl<'a> Peer<'a> {
    fn new(server: &'a RedisServer, thread: &'a str) -> Self {
        Self { server, thread, ahead: 0 }
    }

    fn eval(&self, script: &str, keys: &[&str], args: &[&str]) -> Reply {
        let count = keys.len().to_string();
        let words = ["EVAL", script, &count].into_iter().chain(keys.iter().copied());
        self.server.command(&words.chain(args.iter().copied()).collect::<Vec<_>>())
    }

    /// Nil if it is granted; else it stands in the queue.
    fn acquire(&self, wait_ms: &str) -> Reply {
        let now = (now(self.server) / 1_000 + self.ahead).to_string();
        let script = [SWEEP, ACQUIRE].concat();
        self.eval(&script, &["x", QUEUE, DEADLINES], &["30000", self.thread, wait_ms, &now])
    }

    fn unlock(&self) -> Reply {
        let now = (now(self.server) / 1_000 + self.ahead).to_string();
        let script = [SWEEP, UNLOCK].concat();
        let keys = ["x", QUEUE, DEADLINES, CHANNEL];
        self.eval(&script, &keys, &["0", "30000", self.thread, &now])
    }

    fn gives_up(&self, wait_ms: &str) {
        self.eval(FAILED, &[QUEUE, DEADLINES], &[self.thread, wait_ms]);
    }

    /// Whether it is told to look within the time that ours take between two looks.
    fn listen(&self) -> testkit::Connection {
        let mut connection = self.server.connect();
        connection.command(&["SUBSCRIBE", &format!("{CHANNEL}:{}", self.thread)]).unwrap();
        connection
    }
}

const ONE: &str = "f9c8d5d5-26b4-4c0c-8a3c-0a1c3d6f9b6e:57";
const TWO: &str = "f9c8d5d5-26b4-4c0c-8a3c-0a1c3d6f9b6e:58";

#[tokio::test]
async fn redissons_waiters_and_ours_are_granted_in_the_order_of_one_queue() {
    let server = RedisServer::start();
    let (one, two) = (Peer::new(&server, ONE), Peer::new(&server, TWO));
    let (mut told_one, mut told_two) = (one.listen(), two.listen());
    let held = client(&server).await.fair_lock("x").acquire().await.unwrap();
    assert!(one.acquire("300000").int() > 0);
    let (first, waiter_one) = waiter(&server).await;
    assert!(two.acquire("600000").int() > 0);
    let (second, waiter_two) = waiter(&server).await;
    assert_eq!(queue(&server), [ONE, &first, TWO, &second]);
    let chain = [ONE, &first, TWO, &second].map(|id| deadline(&server, id).unwrap());
    let behind = [chain[1] - chain[0], chain[3] - chain[2]];
    assert!(behind.iter().all(|ms| (300_000..400_000).contains(ms)), "{behind:?}");
    assert_eq!(chain[2] - chain[1], 600_000);

    held.release().await.unwrap();
    assert_eq!(told_one.read().unwrap().array()[2].to_string(), "0");
    assert_eq!(one.acquire("300000"), Reply::Nil);
    assert_eq!(one.unlock(), Reply::Int(1));
    let guard = promptly(&server, waiter_one).await.unwrap();
    assert!(two.acquire("600000").int() >= 0, "not its turn");
    guard.release().await.unwrap();
    assert_eq!(told_two.read().unwrap().array()[2].to_string(), "0");
    assert_eq!(two.acquire("600000"), Reply::Nil);
    assert_eq!(two.acquire("600000"), Reply::Nil, "it enters again");
    assert_eq!([two.unlock(), two.unlock()], [Reply::Int(0), Reply::Int(1)]);
    promptly(&server, waiter_two).await.unwrap().release().await.unwrap();
    nothing_is_left(&server).await;
}

/// Redisson takes the wait of the waiter that was granted off all deadlines: one that was short would
/// be over.
#[tokio::test]
async fn our_place_outlives_the_grant_of_a_redisson_waiter_with_a_long_wait() {
    let server = RedisServer::start();
    let java = Peer::new(&server, ONE);
    let held = client(&server).await.fair_lock("x").acquire().await.unwrap();
    java.acquire("600000");
    let (ours, waiter) = waiter(&server).await;
    held.release().await.unwrap();
    assert_eq!(java.acquire("600000"), Reply::Nil);
    let left = deadline(&server, &ours).unwrap() - now(&server) / 1_000;
    assert!(left > 200_000, "{left}");
    java.unlock();
    promptly(&server, waiter).await.unwrap().release().await.unwrap();
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn redisson_waiter_that_gives_up_leaves_us_our_place() {
    let server = RedisServer::start();
    let java = Peer::new(&server, ONE);
    let held = client(&server).await.fair_lock("x").acquire().await.unwrap();
    java.acquire("5000");
    let (ours, waiter) = waiter(&server).await;
    java.gives_up("5000");
    assert_eq!(queue(&server), std::slice::from_ref(&ours));
    held.release().await.unwrap();
    promptly(&server, waiter).await.unwrap().release().await.unwrap();
    nothing_is_left(&server).await;
}

/// Redisson would wait for the end of its place, minutes away.
#[tokio::test]
async fn dead_redisson_waiter_is_passed_over_after_three_seconds_and_told() {
    let server = RedisServer::start();
    let (dead, alive) = (Peer::new(&server, ONE), Peer::new(&server, TWO));
    let held = client(&server).await.fair_lock("x").acquire().await.unwrap();
    dead.acquire("300000");
    alive.acquire("300000");
    let mut told = alive.listen();
    let (_, waiter) = waiter(&server).await;
    held.release().await.unwrap();
    // The script that sends the first off tells the next one.
    let told = tokio::task::spawn_blocking(move || told.read().unwrap());
    assert_eq!(soon(told).await.unwrap().array()[2].to_string(), "0");
    assert_eq!(alive.acquire("300000"), Reply::Nil);
    alive.unlock();
    promptly(&server, waiter).await.unwrap().release().await.unwrap();
    assert!(!server.exists(NOTE));
    nothing_is_left(&server).await;
}

/// Redisson takes its wait off all deadlines with each of its grants, and takes out a waiter that is first and
/// over.
#[tokio::test]
async fn our_place_outlives_the_grants_of_all_redisson_waiters_before_it() {
    let server = RedisServer::start();
    let threads: Vec<_> = (0..20).map(|thread| format!("{}{thread}", &ONE[..37])).collect();
    let held = client(&server).await.fair_lock("x").acquire().await.unwrap();
    let peers: Vec<_> = threads.iter().map(|thread| Peer::new(&server, thread)).collect();
    let mut ours = Vec::new();
    for pair in peers.chunks(2) {
        pair.iter().for_each(|peer| drop(peer.acquire("300000")));
        ours.push(waiter(&server).await);
    }
    let order = queue(&server);
    held.release().await.unwrap();
    for (pair, (id, waiter)) in peers.chunks(2).zip(ours) {
        for peer in pair {
            assert_eq!(peer.acquire("300000"), Reply::Nil);
            assert!(order.ends_with(&queue(&server)), "somebody has lost a place");
            assert_eq!(peer.unlock(), Reply::Int(1));
        }
        let guard = promptly(&server, waiter).await.unwrap();
        assert_eq!(guard.holder_id(), id);
        guard.release().await.unwrap();
    }
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn redisson_waiter_behind_a_dead_one_of_ours_sleeps_and_is_kept_out_for_ten_seconds_at_most()
{
    let server = RedisServer::start();
    let mut holder = Actor::spawn(env!("CARGO_BIN_EXE_actor"), &[server.url()]);
    assert_eq!(holder.ask("fair x 3000", HANG), "acquired");
    let mut dead = Actor::spawn(env!("CARGO_BIN_EXE_actor"), &[server.url()]);
    dead.send("fair x 3000").unwrap();
    eventually(|| queue(&server).len() == 1).await;
    let java = Peer::new(&server, ONE);
    dead.kill();
    let slept = java.acquire("300000").int() - 300_000;
    assert!(slept <= 10_000, "{slept}");
    let id = queue(&server)[0].clone();
    let left = deadline(&server, &id).unwrap() - now(&server) / 1_000;
    assert!(left <= 10_000, "{left}");
    holder.kill();
    eventually(|| java.acquire("300000") == Reply::Nil).await;
    java.unlock();
    nothing_is_left(&server).await;
}

/// As if what is noted of the first in the queue were from 20 s ago.
fn make_older(server: &RedisServer) {
    let note = server.command(&["GET", NOTE]).to_string();
    let (since, of) = note.split_once(' ').unwrap();
    let since = since.parse::<i64>().unwrap() - 20_000;
    server.command(&["SET", NOTE, &format!("{since} {of}")]);
}

/// Redisson leaves our notes alone: one that was served and waits again stands first anew.
#[tokio::test]
async fn first_with_another_deadline_is_not_judged_by_what_was_noted_of_it_before() {
    let server = RedisServer::start();
    let lock = client(&server).await.fair_lock("x");
    let held = lock.acquire().await.unwrap();
    Peer::new(&server, ONE).acquire("300000");
    held.release().await.unwrap();
    assert!(lock.try_acquire().await.unwrap().is_none(), "it is the other's turn");
    make_older(&server);
    server.command(&["ZINCRBY", DEADLINES, "60000", ONE]);
    assert!(lock.try_acquire().await.unwrap().is_none(), "it is another turn");
    make_older(&server);
    lock.try_acquire().await.unwrap().unwrap().release().await.unwrap();
    nothing_is_left(&server).await;
}

/// A deadline that is missing keeps all others out with Redisson, for ever.
#[tokio::test]
async fn place_without_a_deadline_keeps_nobody_out() {
    let server = RedisServer::start();
    let held = client(&server).await.fair_lock("x").acquire().await.unwrap();
    let (ours, waiter) = waiter(&server).await;
    server.command(&["LPUSH", QUEUE, ONE]);
    eventually(|| queue(&server) == [ours.clone()]).await;
    held.release().await.unwrap();
    promptly(&server, waiter).await.unwrap().release().await.unwrap();
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn redisson_clock_that_is_ahead_costs_us_a_place_and_not_the_turn() {
    let server = RedisServer::start();
    let held = client(&server).await.fair_lock("x").acquire().await.unwrap();
    let (ours, waiter) = waiter(&server).await;
    let java = Peer { ahead: 3_600_000, ..Peer::new(&server, ONE) };
    java.acquire("300000");
    eventually(|| queue(&server) == [ONE, &ours]).await;
    java.gives_up("300000");
    held.release().await.unwrap();
    soon(waiter).await.unwrap().release().await.unwrap();
    nothing_is_left(&server).await;
}
