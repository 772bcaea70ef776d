use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use testkit::RedisServer;
use tokio::runtime::Handle;

use super::{Listener, Notifier};
use crate::{
    error::NodeError,
    node::{
        Node,
        test_server::{TestServer, node},
    },
    reach::test_settings::{until, within},
};

const CHANNEL: &str = "redisson_lock__channel:{x}";

fn notifier(node: &Node) -> Notifier {
    Notifier::new(node, Handle::current(), |_channel| {})
}

/// A listener with a confirmed subscription, and with no wake-up left so far.
async fn listening(notifier: &Notifier) -> Listener {
    let listener = notifier.listen(CHANNEL.into());
    within(listener.ready()).await.unwrap();
    drain(&listener);
    listener
}

fn drain(listener: &Listener) {
    use futures::FutureExt;
    let _woken = listener.woken().now_or_never();
}

fn subscribers(server: &RedisServer) -> usize {
    let channel_and_count = server.run(&format!("PUBSUB NUMSUB {CHANNEL}"));
    channel_and_count.lines().last().and_then(|count| count.parse().ok()).unwrap()
}

fn publish(server: &RedisServer) {
    assert_eq!(server.run(&format!("PUBLISH {CHANNEL} 0")), "1", "receivers");
}

async fn subscribers_become(server: &RedisServer, count: usize) {
    within(until(async || (subscribers(server) == count).then_some(()))).await;
}

#[tokio::test]
async fn a_message_wakes_every_listener_of_its_channel_through_one_subscription() {
    let server = RedisServer::start();
    let node = server.node();
    let heard = Arc::new(AtomicUsize::new(0));
    let counter = heard.clone();
    let notifier = Notifier::new(&node, Handle::current(), move |channel| {
        assert_eq!(channel, CHANNEL);
        counter.fetch_add(1, Ordering::Relaxed);
    });
    let (first, second) = (listening(&notifier).await, listening(&notifier).await);
    let other = notifier.listen("other".into());
    within(other.ready()).await.unwrap();
    drain(&other);
    assert_eq!((subscribers(&server), notifier.subscriptions()), (1, 2));
    publish(&server);
    within(first.woken()).await;
    within(second.woken()).await;
    assert_eq!(heard.load(Ordering::Relaxed), 1);
    let quiet = tokio::time::timeout(std::time::Duration::from_millis(20), other.woken()).await;
    assert!(quiet.is_err());
    drop(first);
    publish(&server);
    within(second.woken()).await;
    drop(second);
    subscribers_become(&server, 0).await;
    assert_eq!(notifier.subscriptions(), 1);
}

#[tokio::test]
async fn a_listener_that_comes_right_after_the_last_has_gone_hears() {
    let server = RedisServer::start();
    let node = server.node();
    let notifier = notifier(&node);
    for _round in 0..200 {
        let listener = listening(&notifier).await;
        publish(&server);
        within(listener.woken()).await;
        drop(listener);
    }
    drop(notifier.listen(CHANNEL.into()));
    subscribers_become(&server, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn listeners_that_come_and_go_everywhere_all_become_ready_and_leave_nothing() {
    let server = RedisServer::start();
    let node = server.node();
    let notifier = notifier(&node);
    let tasks = (0..8).map(|task| {
        let notifier = notifier.clone();
        tokio::spawn(async move {
            for round in 0..300 {
                let listener = notifier.listen(format!("channel:{}", (task + round) % 3).into());
                if round % 3 != 0 {
                    within(listener.ready()).await.unwrap();
                }
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let count = || server.run("PUBSUB CHANNELS channel:*").lines().count();
    within(until(async || (count() == 0).then_some(()))).await;
    assert_eq!(notifier.subscriptions(), 0);
}

#[tokio::test]
async fn a_wrong_password_is_said_so_and_not_repeated() {
    let server = RedisServer::start();
    let node = node(&format!("redis://bob:hunter2@127.0.0.1:{}", server.port()));
    let listener = notifier(&node).listen(CHANNEL.into());
    let error = within(listener.ready()).await.unwrap_err();
    assert!(matches!(error, NodeError::Authentication { .. }), "{error:?}");
    assert!(!format!("{error:?} {listener:?}").contains("hunter2"));
}

#[tokio::test]
async fn a_killed_connection_wakes_and_is_subscribed_again() {
    let server = RedisServer::start();
    let node = server.node();
    let heard = Arc::new(AtomicUsize::new(0));
    let counter = heard.clone();
    let notifier = Notifier::new(&node, Handle::current(), move |_channel| {
        counter.fetch_add(1, Ordering::Relaxed);
    });
    let listener = listening(&notifier).await;
    for round in 1..=5 {
        assert_eq!(server.run("CLIENT KILL TYPE pubsub"), "1");
        within(listener.woken()).await;
        subscribers_become(&server, 1).await;
        publish(&server);
        within(until(async || (heard.load(Ordering::Relaxed) == round).then_some(()))).await;
        within(listener.woken()).await;
        within(listener.ready()).await.unwrap();
    }
}

#[tokio::test]
async fn a_half_open_connection_is_found_and_replaced() {
    let server = RedisServer::start();
    let node = server.node();
    let listener = listening(&notifier(&node)).await;
    server.freeze();
    within(listener.woken()).await;
    server.thaw();
    subscribers_become(&server, 1).await;
}

#[tokio::test]
async fn a_server_that_is_down_is_said_so_and_listened_to_when_it_is_up() {
    let server = RedisServer::start();
    let node = server.node();
    server.kill();
    let notifier = notifier(&node);
    let early = notifier.listen(CHANNEL.into());
    let error = within(early.ready()).await.unwrap_err();
    assert!(matches!(error, NodeError::Unreachable { .. }), "{error:?}");
    let later = notifier.listen(CHANNEL.into());
    within(later.ready()).await.unwrap_err();
    server.restart();
    within(until(async || early.ready().await.ok())).await;
    within(later.ready()).await.unwrap();
    publish(&server);
    within(early.woken()).await;
}

#[tokio::test]
async fn a_server_that_dies_fails_new_listeners_and_wakes_old_ones() {
    let server = RedisServer::start();
    let node = server.node();
    let notifier = notifier(&node);
    let old = listening(&notifier).await;
    server.kill();
    within(old.woken()).await;
    let new = notifier.listen(CHANNEL.into());
    within(new.ready()).await.unwrap_err();
    within(old.ready()).await.unwrap();
    server.restart();
    subscribers_become(&server, 1).await;
}

#[tokio::test]
async fn a_channel_that_is_forbidden_is_refused_until_it_is_allowed() {
    let server = RedisServer::start();
    server.run("ACL SETUSER alice on >wonder ~* resetchannels &open* +@all");
    let node = server.node_of_alice();
    let notifier = notifier(&node);
    let open = notifier.listen("open".into());
    within(open.ready()).await.unwrap();
    let forbidden = notifier.listen(CHANNEL.into());
    let error = within(forbidden.ready()).await.unwrap_err();
    assert!(matches!(error, NodeError::Permission { .. }), "{error:?}");
    server.run("ACL SETUSER alice allchannels");
    let allowed = notifier.listen(CHANNEL.into());
    within(allowed.ready()).await.unwrap();
    within(forbidden.ready()).await.unwrap();
    drop((forbidden, allowed));
    subscribers_become(&server, 0).await;
}

#[tokio::test]
async fn a_refused_channel_is_tried_again_without_being_asked() {
    let server = RedisServer::start();
    server.run("ACL SETUSER alice on >wonder ~* resetchannels +@all");
    let node = server.node_of_alice();
    let listener = notifier(&node).listen(CHANNEL.into());
    within(listener.ready()).await.unwrap_err();
    server.run("ACL SETUSER alice allchannels");
    subscribers_become(&server, 1).await;
}

#[tokio::test]
async fn a_server_without_resp3_is_said_so() {
    let server = RedisServer::builder().without("HELLO").start();
    let node = server.node();
    let listener = notifier(&node).listen(CHANNEL.into());
    let error = within(listener.ready()).await.unwrap_err();
    assert!(error.to_string().contains("RESP3"), "{error}");
}

#[tokio::test]
async fn a_thousand_channels_are_subscribed_again_after_a_gap() {
    let server = RedisServer::start();
    let node = server.node();
    let notifier = notifier(&node);
    let listeners: Vec<_> =
        (0..3_000).map(|number| notifier.listen(format!("channel:{number}").into())).collect();
    for listener in &listeners {
        within(listener.ready()).await.unwrap();
    }
    let count = || server.run("PUBSUB CHANNELS channel:*").lines().count();
    assert_eq!(count(), 3_000);
    server.run("CLIENT KILL TYPE pubsub");
    within(until(async || (count() == 3_000).then_some(()))).await;
    drop(listeners);
    within(until(async || (count() == 0).then_some(()))).await;
}

#[test]
fn listeners_do_not_hang_when_the_notifiers_runtime_has_ended() {
    let server = RedisServer::start();
    let node = server.node();
    let first = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let notifier = Notifier::new(&node, first.handle().clone(), |_channel| {});
    let (standing, pending) = first.block_on(async {
        let standing = listening(&notifier).await;
        (standing, notifier.listen("other".into()))
    });
    drop(first);
    let second = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    second.block_on(async {
        within(standing.woken()).await;
        let _either = within(pending.ready()).await;
        let error = within(notifier.listen("third".into()).ready()).await.unwrap_err();
        assert!(matches!(error, NodeError::NoRuntime), "{error:?}");
        node.close();
        let error = within(notifier.listen("fourth".into()).ready()).await.unwrap_err();
        assert!(matches!(error, NodeError::Closed), "{error:?}");
    });
}
