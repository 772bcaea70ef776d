//! A `MultiLock` that wins its members one after the other, beside others that want one of them.

use std::time::Duration;

use palisade::{LockGuard, MultiLock, embedded::Server};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

use crate::{outside::ask, support::soon};

/// A waiter for `a`, that keeps it for long once it has it, behind a `MultiLock` that waits for the rest.
fn behind(server: &Server) -> JoinHandle<()> {
    let one = server.client().unwrap().lock("a");
    tokio::spawn(async move {
        let guard = one.acquire().await.unwrap();
        sleep(Duration::from_secs(20)).await;
        guard.release().await.unwrap();
    })
}

/// Waits for all members in a task, of which `a` is free. When it was granted them.
async fn several(server: &Server, names: &[&str]) -> JoinHandle<(LockGuard, Instant)> {
    let client = server.client().unwrap();
    let all = MultiLock::new(names.iter().map(|name| client.lock(*name))).unwrap();
    let several = tokio::spawn(async move {
        let guard = all.acquire().await.unwrap();
        (guard, Instant::now())
    });
    sleep(Duration::from_millis(100)).await;
    several
}

#[tokio::test(start_paused = true)]
async fn members_that_were_won_are_kept_while_one_more_is_won_now_and_then() {
    let server = Server::start_here();
    let elsewhere = server.client().unwrap();
    let (b, c) = (elsewhere.lock("b"), elsewhere.lock("c"));
    let (b, c) = (b.acquire().await.unwrap(), c.acquire().await.unwrap());
    let several = several(&server, &["a", "b", "c"]).await;
    let behind = behind(&server);
    sleep(Duration::from_millis(1_700)).await;
    b.release().await.unwrap();
    sleep(Duration::from_millis(1_700)).await;
    c.release().await.unwrap();
    let free = Instant::now();
    let (guard, granted) = soon(several).await.unwrap();
    assert!(granted - free < Duration::from_secs(1), "{:?}", granted - free);
    guard.release().await.unwrap();
    soon(behind).await.unwrap();
}

/// One of them passes from hand to hand, and never is free when the `MultiLock` asks.
#[tokio::test(start_paused = true)]
async fn members_that_were_won_are_kept_while_another_changes_hands() {
    const PASS: &str = "redis.call('DEL', 'b') redis.call('HSET', 'b', ARGV[1], '1') \
                        redis.call('PEXPIRE', 'b', 30000) \
                        return redis.call('PUBLISH', 'redisson_lock__channel:{b}', '0')";
    let server = Server::start_here();
    let pass = async |i: u32| {
        let _heard: i64 = ask(&server, &["EVAL", PASS, "0", &format!("else:{i}")]).await;
    };
    pass(0).await;
    let several = several(&server, &["a", "b"]).await;
    let behind = behind(&server);
    for i in 1..20 {
        sleep(Duration::from_millis(400)).await;
        pass(i).await;
    }
    assert!(!several.is_finished());
    let _deleted: i64 = ask(&server, &["DEL", "b"]).await;
    let _heard: i64 = ask(&server, &["PUBLISH", "redisson_lock__channel:{b}", "0"]).await;
    let free = Instant::now();
    let (guard, granted) = soon(several).await.unwrap();
    assert!(granted - free < Duration::from_secs(1), "{:?}", granted - free);
    guard.release().await.unwrap();
    soon(behind).await.unwrap();
}
