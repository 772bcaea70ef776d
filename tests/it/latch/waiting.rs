//! Waiters: let through at zero, and by the word of one.

use palisade::{
    Client, CountDownLatch, OnOutage,
    error::{InspectError, NodeError},
};
use testkit::RedisServer;
use tokio::task::JoinHandle;

use super::{CHANNEL, listeners};
use crate::support::{HANG, Look, client, eventually, ms, patient, promptly, soon};

/// Waits in a task; returns when it listens.
async fn waiter(
    server: &RedisServer,
    latch: CountDownLatch,
) -> JoinHandle<Result<(), InspectError>> {
    eventually(|| listeners(server) == 0).await;
    let waiter = tokio::spawn(async move { latch.wait().await });
    eventually(|| listeners(server) == 1).await;
    waiter
}

async fn set(client: &Client, count: u64) -> CountDownLatch {
    let latch = client.count_down_latch("x");
    assert!(soon(latch.try_set_count(count)).await.unwrap());
    latch
}

#[tokio::test]
async fn latch_that_is_not_set_lets_everybody_through_without_listening() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let latch = client.count_down_latch("x");
    soon(latch.wait()).await.unwrap();
    assert!(soon(latch.wait_for(ms(0))).await.unwrap());
    assert_eq!(client.subscriptions(), 0);
}

#[tokio::test]
async fn count_to_zero_by_another_client_wakes_the_waiter() {
    let server = RedisServer::start();
    let (one, other) = (client(&server).await, client(&server).await);
    for _ in 0..5 {
        let latch = set(&one, 2).await;
        let waiter = waiter(&server, other.count_down_latch("x")).await;
        latch.count_down().await.unwrap();
        assert!(!waiter.is_finished());
        latch.count_down().await.unwrap();
        promptly(&server, waiter).await.unwrap().unwrap();
    }
    eventually(|| listeners(&server) == 0).await;
}

#[tokio::test]
async fn deletion_wakes_the_waiter() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let latch = set(&client, 2).await;
    let waiter = waiter(&server, latch.clone()).await;
    assert!(latch.delete().await.unwrap());
    promptly(&server, waiter).await.unwrap().unwrap();
}

/// Redisson announces a deletion as if the count were a new one.
#[tokio::test]
async fn any_message_has_the_waiter_look_again() {
    let server = RedisServer::start();
    let client = client(&server).await;
    for message in ["0", "1", "nonsense"] {
        let waiter = waiter(&server, set(&client, 2).await).await;
        server.cli(&["DEL", "x"]);
        server.cli(&["PUBLISH", CHANNEL, message]);
        promptly(&server, waiter).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn message_that_tells_no_zero_lets_nothing_through_while_the_count_stands() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let latch = set(&client, 2).await;
    let waiter = waiter(&server, latch.clone()).await;
    for message in ["1", "", "00", "nonsense"] {
        let looks = server.calls_of("get");
        server.cli(&["PUBLISH", CHANNEL, message]);
        eventually(|| server.calls_of("get") > looks).await;
    }
    assert!(!waiter.is_finished());
    latch.delete().await.unwrap();
    promptly(&server, waiter).await.unwrap().unwrap();
}

#[tokio::test]
async fn zero_that_nobody_announced_is_seen_all_the_same() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let waiter = waiter(&server, set(&client, 2).await).await;
    server.cli(&["DEL", "x"]);
    soon(waiter).await.unwrap().unwrap();
}

#[tokio::test]
async fn waiter_whose_subscription_was_cut_is_let_through_all_the_same() {
    let server = RedisServer::start();
    let client = client(&server).await;
    for _ in 0..5 {
        let latch = set(&client, 1).await;
        let waiter = waiter(&server, latch.clone()).await;
        server.cli(&["CLIENT", "KILL", "TYPE", "pubsub"]);
        // Announced without a listener.
        server.cli(&["DEL", "x"]);
        promptly(&server, waiter).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn wait_for_gives_up_when_its_time_is_over() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let latch = set(&client, 1).await;
    for limit in [ms(0), ms(50)] {
        assert!(!soon(latch.wait_for(limit)).await.unwrap());
    }
    eventually(|| listeners(&server) == 0).await;
    let longest = latch.clone();
    let waiter = tokio::spawn(async move { longest.wait_for(std::time::Duration::MAX).await });
    eventually(|| listeners(&server) == 1).await;
    latch.count_down().await.unwrap();
    assert!(promptly(&server, waiter).await.unwrap().unwrap());
}

#[tokio::test]
async fn twenty_waiters_on_as_many_runtimes_are_let_through_at_once() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let latch = set(&client, 1).await;
    let threads: Vec<_> = (0..20)
        .map(|_| {
            let latch = latch.clone();
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.unwrap().block_on(soon(latch.wait()))
            })
        })
        .collect();
    // Each has looked before and after it listened: a look asks for two keys.
    eventually(|| client.subscriptions() == 1 && server.calls_of("get") >= 80).await;
    latch.count_down().await.unwrap();
    let all = async { eventually(|| threads.iter().all(|thread| thread.is_finished())).await };
    promptly(&server, all).await;
    threads.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
}

#[tokio::test]
async fn user_who_may_not_listen_looks_again_and_again() {
    let server = RedisServer::start();
    server.cli(&["ACL", "SETUSER", "app", "reset", "on", ">pw", "~*", "+@all", "resetchannels"]);
    let settings = patient(&server).url(&server.url_with("app", "pw"));
    let latch = set(&settings.connect().await.unwrap(), 1).await;
    let wait = tokio::spawn({
        let latch = latch.clone();
        async move { latch.wait().await }
    });
    let looks = server.calls_of("get");
    eventually(|| server.calls_of("get") > looks + 5).await;
    assert!(!wait.is_finished());
    latch.count_down().await.unwrap();
    promptly(&server, wait).await.unwrap().unwrap();
}

#[tokio::test]
async fn outage_ends_a_wait_unless_it_is_to_be_outlasted() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let latch = set(&client, 1).await;
    let patient = latch.clone().on_outage(OnOutage::Wait);
    let hasty = waiter(&server, latch.clone()).await;
    let patient = tokio::spawn(async move { patient.wait().await });
    server.kill();
    let error = soon(hasty).await.unwrap().unwrap_err();
    assert!(matches!(error, InspectError::Node { .. }), "{error:?}");
    assert!(!patient.is_finished());
    // It comes back without the latch.
    server.restart_empty();
    soon(patient).await.unwrap().unwrap();
}

#[tokio::test]
async fn shutdown_ends_a_wait() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let latch = set(&client, 1).await.on_outage(OnOutage::Wait);
    let waiter = waiter(&server, latch).await;
    client.shutdown(HANG).await.unwrap();
    let error = soon(waiter).await.unwrap().unwrap_err();
    let is_closed = matches!(error, InspectError::Node { source: NodeError::Closed, .. });
    assert!(is_closed, "{error:?}");
    assert!(server.exists("x"));
}
