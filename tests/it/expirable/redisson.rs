//! A peer that speaks as Redisson's `RPermitExpirableSemaphore` does, written by hand.

use testkit::{RedisServer, Reply};

use super::{CHANNEL, LEASES, leases, left, semaphore};
use crate::{
    scripts::{eval, now},
    support::{fixed, ms, patient, soon},
};

const ACQUIRE: &str = "
local over = redis.call('zrangebyscore', KEYS[2], 0, ARGV[3], 'LIMIT', 0, ARGV[1])
if #over > 0 then
  redis.call('zrem', KEYS[2], unpack(over))
  local value = redis.call('incrby', KEYS[1], #over)
  if tonumber(value) > 0 then redis.call('publish', KEYS[3], value) end
end
local value = redis.call('get', KEYS[1])
if value ~= false and tonumber(value) >= tonumber(ARGV[1]) then
  redis.call('decrby', KEYS[1], ARGV[1])
  redis.call('zadd', KEYS[2], ARGV[2], ARGV[4])
  return 'OK'
end
local next = redis.call('zrange', KEYS[2], 0, 0, 'WITHSCORES')
if next[1] then return ':' .. next[2] end
return nil";

const RELEASE: &str = "
local at = redis.call('zscore', KEYS[3], ARGV[1])
local removed = redis.call('zrem', KEYS[3], ARGV[1])
if tonumber(removed) ~= 1 then return 0 end
local value = redis.call('incrby', KEYS[1], ARGV[2])
redis.call('publish', KEYS[2], value)
if tonumber(at) <= tonumber(ARGV[3]) then return 0 end
return 1";

/// Takes one permit for so long, by a clock that is so much ahead.
fn take(server: &RedisServer, id: &str, lease_ms: i64, ahead_ms: i64) -> bool {
    let now = now(server) / 1_000 + ahead_ms;
    let args = ["1", &(now + lease_ms).to_string(), &now.to_string(), id];
    eval(server, ACQUIRE, &["x", LEASES, CHANNEL], &args).to_string() == "OK"
}

fn give_back(server: &RedisServer, id: &str) -> bool {
    let now = (now(server) / 1_000).to_string();
    eval(server, RELEASE, &["x", CHANNEL, LEASES], &[id, "1", &now]) == Reply::Int(1)
}

const ID: &str = "sixteen bytes ..";

fn hexadecimal(id: &str) -> String {
    id.bytes().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn permits_of_both_sides_are_one_number() {
    let server = RedisServer::start();
    let semaphore = semaphore(&server, 2).await;
    assert!(take(&server, ID, 60_000, 0));
    let guard = semaphore.try_acquire().await.unwrap().unwrap();
    assert!(semaphore.try_acquire().await.unwrap().is_none());
    assert!(!take(&server, "another", 60_000, 0));
    assert_eq!((semaphore.total().await.unwrap(), leases(&server)), (Some(2), 2));
    guard.release().await.unwrap();
    assert!(take(&server, "another", 60_000, 0));
    assert!(give_back(&server, ID) && give_back(&server, "another"));
    assert_eq!((left(&server).as_str(), leases(&server)), ("2", 0));
}

#[tokio::test]
async fn permit_of_one_side_is_released_and_extended_by_the_other() {
    let server = RedisServer::start();
    let semaphore = semaphore(&server, 1).await;
    assert!(take(&server, ID, 60_000, 0));
    let [holder] = &soon(semaphore.holders()).await.unwrap()[..] else { panic!("one holds it") };
    assert_eq!((holder.id.as_str(), holder.ttl < Some(ms(60_001))), (&*hexadecimal(ID), true));
    assert!(semaphore.update_lease(&hexadecimal(ID), ms(500_000)).await.unwrap());
    assert!(semaphore.holders().await.unwrap()[0].ttl > Some(ms(400_000)));
    assert!(semaphore.release_permit(&hexadecimal(ID)).await.unwrap());
    assert!(!give_back(&server, ID));

    let guard = semaphore.acquire().await.unwrap();
    let raw = u128::from_str_radix(guard.holder_id(), 16).unwrap().to_be_bytes();
    guard.orphan();
    let member = server.command(&["ZRANGE", LEASES, "0", "0"]).array()[0].clone();
    assert_eq!(member, Reply::Bulk(raw.to_vec()), "16 bytes, as Redisson stores them");
}

/// Redisson sweeps by its own clock: 9 s ahead, it had a permit of 8 s at once. Within the skew it has none
/// of ours before we know that it is lost.
#[tokio::test]
async fn redisson_whose_clock_is_ahead_has_no_permit_that_is_held_here() {
    let server = RedisServer::start();
    let semaphore = semaphore(&server, 1).await;
    let guard = semaphore.clone().with_lease(fixed(60_000)).acquire().await.unwrap();
    assert!(!take(&server, ID, 60_000, 60_000 + 4_000), "its lease is over there, and not here");
    assert!(guard.is_held());
    assert!(take(&server, ID, 60_000, 60_000 + 5_100));
}

/// Nor have we one of its, whose clock is behind.
#[tokio::test]
async fn permit_of_redisson_whose_clock_is_behind_is_not_ended_early() {
    let server = RedisServer::start();
    let semaphore = semaphore(&server, 1).await;
    assert!(take(&server, ID, 30_000, -34_000));
    assert!(semaphore.try_acquire().await.unwrap().is_none());
    let client = patient(&server).clock_skew(ms(3_000)).connect().await.unwrap();
    assert!(client.expirable_semaphore("x").try_acquire().await.unwrap().is_some());
}
