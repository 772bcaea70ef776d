//! The counter is Redisson's: a Java service that speaks as `RFencedLock` does, written by hand,
//! and we go on from each other's tokens.

use testkit::{RedisServer, Reply};

use super::{counter, value};
use crate::support::{Look, client};

const ACQUIRE: &str = "
if (redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1) then
  local token = redis.call('incr', KEYS[2])
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return {-1, token}
end
return {redis.call('pttl', KEYS[1]), -1}";

const THREAD: &str = "f9c8d5d5-26b4-4c0c-8a3c-0a1c3d6f9b6e:57";

fn java_acquires(server: &RedisServer, name: &str) -> Option<u64> {
    let reply = server.command(&["EVAL", ACQUIRE, "2", name, &counter(name), "30000", THREAD]);
    let [state, token] = reply.array() else { panic!("{reply:?}") };
    (state == &Reply::Int(-1)).then(|| u64::try_from(token.int()).unwrap())
}

#[tokio::test]
async fn redisson_and_we_count_on_from_each_others_tokens() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let lock = client.fenced_lock("x");
    let mut last = 0;
    for round in 1..=10 {
        let token = java_acquires(&server, "x").unwrap();
        assert!(token > last, "{token} after {last}");
        if round == 1 {
            assert_eq!(token, 1);
        }
        assert!(lock.try_acquire().await.unwrap().is_none());
        assert_eq!(value(&server, &counter("x")), token, "a refusal raises nothing");
        server.cli(&["DEL", "x"]);
        let guard = lock.acquire().await.unwrap();
        assert!(guard.fencing_token().get() > token);
        assert_eq!(java_acquires(&server, "x"), None);
        last = guard.fencing_token().get();
        guard.release().await.unwrap();
    }
}

#[tokio::test]
async fn ttl_that_redisson_gave_the_counter_is_gone_with_our_grant() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let token = java_acquires(&server, "x").unwrap();
    server.cli(&["DEL", "x"]);
    server.cli(&["PEXPIRE", &counter("x"), "60000"]);
    let guard = client.fenced_lock("x").acquire().await.unwrap();
    assert!(guard.fencing_token().get() > token);
    assert_eq!(server.pttl(&counter("x")), -1);
    guard.release().await.unwrap();
}
