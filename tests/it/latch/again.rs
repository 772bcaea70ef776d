//! Latches that are set again as soon as they are at zero: no look sees them there.

use futures::future::join_all;
use palisade::{Client, CountDownLatch, error::InspectError};
use testkit::{Connection, RedisServer};
use tokio::task::JoinHandle;

use super::{CHANNEL, GENERATION, listeners, redisson};
use crate::{
    scripts::NEVER,
    sources::{COUNT_DOWN, DELETE_LATCH, SET_LATCH},
    support::{Look, client, eventually, ms, promptly, soon},
};

type Waiter = JoinHandle<Result<(), InspectError>>;

/// As many clients, each with a subscription of its own.
async fn clients(server: &RedisServer, count: usize) -> Vec<Client> {
    let connecting = (0..count).map(|_| client(server));
    join_all(connecting).await
}

/// One waiter on each of them. Returns when all have looked, and listen.
async fn waiters(server: &RedisServer, clients: &[Client]) -> Vec<Waiter> {
    eventually(|| listeners(server) == 0).await;
    let waiting = clients.iter().map(|client| {
        let latch = client.count_down_latch("x");
        tokio::spawn(async move { latch.wait().await })
    });
    let waiting = waiting.collect();
    eventually(|| listeners(server) == clients.len() as i64).await;
    waiting
}

async fn are_let_through(server: &RedisServer, waiters: Vec<Waiter>) {
    for waited in promptly(server, join_all(waiters)).await {
        waited.unwrap().unwrap();
    }
}

/// Scripts of one moment: nothing is executed between them.
fn at_once(server: &RedisServer, scripts: &[&[&str]]) {
    let mut connection: Connection = server.connect();
    let mut say = |words: &[&str]| connection.command(words).unwrap();
    say(&["MULTI"]);
    scripts.iter().for_each(|words| drop(say(words)));
    let replies = say(&["EXEC"]);
    assert!(replies.array().iter().all(|reply| !reply.is_error()), "{replies}");
}

/// Ours: brought to zero by `script` and set again. Zero is announced on `channel`.
fn zero_and_again(server: &RedisServer, script: &str, channel: &str, round: usize) {
    let (zero, set) = (format!("once:{round}:zero"), format!("once:{round}:set"));
    let zero = ["EVAL", script, "2", "x", &zero, NEVER, channel, GENERATION];
    let set = ["EVAL", SET_LATCH, "2", "x", &set, NEVER, CHANNEL, "1"];
    at_once(server, &[&zero, &set]);
    assert_eq!(server.cli(&["GET", "x"]), "1");
}

async fn set(client: &Client) -> CountDownLatch {
    let latch = client.count_down_latch("x");
    assert!(soon(latch.try_set_count(1)).await.unwrap());
    latch
}

#[tokio::test]
async fn twenty_clients_that_waited_are_let_through_a_hundred_times() {
    let server = RedisServer::start();
    let clients = clients(&server, 20).await;
    let latch = set(&clients[0]).await;
    for _ in 0..100 {
        let waiters = waiters(&server, &clients).await;
        assert!(soon(latch.count_down()).await.unwrap());
        assert!(soon(latch.try_set_count(1)).await.unwrap());
        are_let_through(&server, waiters).await;
    }
}

#[tokio::test]
async fn one_client_that_waits_and_sets_is_let_through_each_time() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let latch = set(&client).await;
    for _ in 0..20 {
        let waiters = waiters(&server, std::slice::from_ref(&client)).await;
        let again = async { while !latch.try_set_count(1).await.unwrap() {} };
        let (counted, ()) = soon(futures::future::join(latch.count_down(), again)).await;
        assert!(counted.unwrap());
        are_let_through(&server, waiters).await;
    }
}

/// The generation alone: they hear of the new count, and of no zero.
#[tokio::test]
async fn zero_by_palisade_that_was_not_heard_lets_through_all_that_waited() {
    let server = RedisServer::start();
    let clients = clients(&server, 20).await;
    set(&clients[0]).await;
    for (round, script) in [COUNT_DOWN, DELETE_LATCH, COUNT_DOWN].into_iter().enumerate() {
        let waiters = waiters(&server, &clients).await;
        zero_and_again(&server, script, "elsewhere", round);
        are_let_through(&server, waiters).await;
    }
}

/// The message alone: Redisson leaves nothing else.
#[tokio::test]
async fn zero_by_redisson_lets_through_all_that_listened() {
    let server = RedisServer::start();
    let clients = clients(&server, 20).await;
    set(&clients[0]).await;
    for _ in 0..20 {
        let waiters = waiters(&server, &clients).await;
        let zero = ["EVAL", redisson::COUNT_DOWN, "2", "x", CHANNEL, "0", "PUBLISH"];
        let set = ["EVAL", redisson::TRY_SET, "2", "x", CHANNEL, "1", "1", "PUBLISH"];
        at_once(&server, &[&zero, &set]);
        assert_eq!(server.cli(&["GET", "x"]), "1");
        are_let_through(&server, waiters).await;
    }
    assert!(!server.exists(GENERATION));
}

#[tokio::test]
async fn waiter_that_comes_after_it_was_set_again_waits_for_the_next_zero() {
    let server = RedisServer::start();
    let clients = clients(&server, 2).await;
    set(&clients[0]).await;
    let [here, there] = &clients[..] else { panic!("two") };
    for round in 0..5 {
        zero_and_again(&server, COUNT_DOWN, CHANNEL, round);
        // One has a subscription that stands, the other has none.
        let waiters = waiters(&server, std::slice::from_ref(here)).await;
        for late in [here, there] {
            assert!(!soon(late.count_down_latch("x").wait_for(ms(50))).await.unwrap(), "{round}");
        }
        assert!(!waiters[0].is_finished());
        assert!(soon(there.count_down_latch("x").count_down()).await.unwrap());
        are_let_through(&server, waiters).await;
        set(here).await;
    }
}
