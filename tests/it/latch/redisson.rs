//! A Java service that speaks as `RCountDownLatch` does, written by hand.

use testkit::RedisServer;

use super::{CHANNEL, listeners};
use crate::support::{Look, client, eventually, promptly, soon};

pub(super) const TRY_SET: &str = "
if redis.call('exists', KEYS[1]) == 0 then
  redis.call('set', KEYS[1], ARGV[2])
  redis.call(ARGV[3], KEYS[2], ARGV[1])
  return 1
end
return 0";

pub(super) const COUNT_DOWN: &str = "
local v = redis.call('decr', KEYS[1])
if v <= 0 then redis.call('del', KEYS[1]) end
if v == 0 then redis.call(ARGV[2], KEYS[2], ARGV[1]) end";

const DELETE: &str = "
if redis.call('del', KEYS[1]) == 1 then
  redis.call(ARGV[2], KEYS[2], ARGV[1])
  return 1
end
return 0";

fn java(server: &RedisServer, script: &str, args: &[&str]) {
    let words = ["EVAL", script, "2", "x", CHANNEL];
    server.cli(&words.iter().chain(args).collect::<Vec<_>>());
}

#[tokio::test]
async fn redisson_and_we_count_the_same_latch_down() {
    let server = RedisServer::start();
    let latch = client(&server).await.count_down_latch("x");
    java(&server, TRY_SET, &["1", "3", "PUBLISH"]);
    assert!(!soon(latch.try_set_count(5)).await.unwrap());
    assert!(soon(latch.count_down()).await.unwrap());
    java(&server, COUNT_DOWN, &["0", "PUBLISH"]);
    assert_eq!(soon(latch.count()).await.unwrap(), 1);
    let wait = tokio::spawn({
        let latch = latch.clone();
        async move { latch.wait().await }
    });
    eventually(|| listeners(&server) == 1).await;
    java(&server, COUNT_DOWN, &["0", "PUBLISH"]);
    promptly(&server, wait).await.unwrap().unwrap();
    assert!(!server.exists("x"));
}

#[tokio::test]
async fn latch_that_redisson_deletes_lets_us_through_at_once() {
    let server = RedisServer::start();
    let latch = client(&server).await.count_down_latch("x");
    assert!(soon(latch.try_set_count(5)).await.unwrap());
    let wait = tokio::spawn(async move { latch.wait().await });
    eventually(|| listeners(&server) == 1).await;
    java(&server, DELETE, &["1", "PUBLISH"]);
    promptly(&server, wait).await.unwrap().unwrap();
}
