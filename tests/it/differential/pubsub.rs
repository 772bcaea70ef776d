//! Publish and subscribe: which connection gets what, in which form and order.

use super::pair::{Both, Pair, Servers};
use super::wire::{Body, Reply, request};

/// A subscriber and a publisher, both new.
async fn subscriber_and_publisher(servers: &Servers, hello: &str) -> (Pair, Pair) {
    let (mut subscriber, mut publisher) = (servers.connect().await, servers.connect().await);
    for pair in [&mut subscriber, &mut publisher] {
        pair.call(request(hello)).await;
    }
    (subscriber, publisher)
}

/// Sends one request and expects so many replies, the same from both.
async fn same(pair: &mut Pair, text: &str, count: usize) -> Vec<Reply> {
    pair.send(&[request(text)]).await;
    let replies = pair.receive(count).await;
    replies.into_iter().map(|both| equal(text, both)).collect()
}

fn equal(text: &str, both: Both) -> Reply {
    assert_eq!(both.embedded, both.real, "{text}");
    both.real
}

#[tokio::test]
async fn messages_reach_channels_and_patterns_alike() {
    let servers = Servers::start();
    for hello in ["HELLO 2", "HELLO 3"] {
        let (mut subscriber, mut publisher) = subscriber_and_publisher(&servers, hello).await;
        same(&mut subscriber, "SUBSCRIBE news weather news", 3).await;
        same(&mut subscriber, "PSUBSCRIBE n* w?ather", 2).await;
        let heard = same(&mut publisher, "PUBLISH news hello", 1).await;
        assert_eq!(heard[0].text(), "2", "the channel and the pattern");
        same(&mut publisher, "PUBLISH nothing hello", 1).await;
        same(&mut publisher, "PUBLISH quiet hello", 1).await;
        // One message by channel, two by pattern.
        let heard = subscriber.receive(3).await;
        heard.into_iter().for_each(|both| {
            equal("messages", both);
        });
        same(&mut publisher, "PUBSUB NUMSUB news weather quiet", 1).await;
        same(&mut publisher, "PUBSUB NUMPAT", 1).await;
        same(&mut publisher, "PUBSUB CHANNELS w*", 1).await;
        same(&mut subscriber, "UNSUBSCRIBE news other", 2).await;
        same(&mut subscriber, "PUNSUBSCRIBE n*", 1).await;
        same(&mut publisher, "PUBLISH news hello", 1).await;
        same(&mut subscriber, "UNSUBSCRIBE", 1).await;
        same(&mut subscriber, "UNSUBSCRIBE", 1).await;
        same(&mut subscriber, "PUNSUBSCRIBE", 1).await;
        same(&mut subscriber, "PUNSUBSCRIBE", 1).await;
        same(&mut subscriber, "PING", 1).await;
    }
}

#[tokio::test]
async fn sharded_channels_are_apart() {
    let servers = Servers::start();
    for hello in ["HELLO 2", "HELLO 3"] {
        let (mut subscriber, mut publisher) = subscriber_and_publisher(&servers, hello).await;
        same(&mut subscriber, "SSUBSCRIBE news", 1).await;
        same(&mut subscriber, "SUBSCRIBE news", 1).await;
        same(&mut publisher, "SPUBLISH news sharded", 1).await;
        same(&mut publisher, "PUBLISH news plain", 1).await;
        for both in subscriber.receive(2).await {
            equal("messages", both);
        }
        same(&mut publisher, "PUBSUB SHARDNUMSUB news other", 1).await;
        same(&mut publisher, "PUBSUB SHARDCHANNELS", 1).await;
        same(&mut subscriber, "SUNSUBSCRIBE", 1).await;
        same(&mut subscriber, "SUNSUBSCRIBE other", 1).await;
        same(&mut subscriber, "UNSUBSCRIBE", 1).await;
    }
}

#[tokio::test]
async fn old_protocol_subscriber_can_do_little_else() {
    let servers = Servers::start();
    let (mut subscriber, _) = subscriber_and_publisher(&servers, "HELLO 2").await;
    same(&mut subscriber, "SUBSCRIBE news", 1).await;
    for text in ["GET a", "PING", "PING x", "PUBLISH news x", "client id", "NOSUCH", "HELLO 3"] {
        same(&mut subscriber, text, 1).await;
    }
    same(&mut subscriber, "RESET", 1).await;
    same(&mut subscriber, "GET a", 1).await;
}

#[tokio::test]
async fn new_protocol_subscriber_hears_itself() {
    let servers = Servers::start();
    let (mut subscriber, _) = subscriber_and_publisher(&servers, "HELLO 3").await;
    same(&mut subscriber, "SUBSCRIBE news", 1).await;
    same(&mut subscriber, "PUBLISH news me", 2).await;
    same(&mut subscriber, "GET a", 1).await;
    subscriber
        .send(&[[
            "EVAL",
            "redis.call('publish', 'news', 'x') return redis.call('publish', 'news', 'y')",
            "0",
        ]
        .map(|word| word.as_bytes().to_vec())
        .to_vec()])
        .await;
    for both in subscriber.receive(3).await {
        equal("published by a script", both);
    }
}

#[tokio::test]
async fn messages_of_a_script_and_a_transaction_keep_their_order() {
    let servers = Servers::start();
    let (mut subscriber, mut publisher) = subscriber_and_publisher(&servers, "HELLO 3").await;
    same(&mut subscriber, "SUBSCRIBE news", 1).await;
    let script = b"for i = 1, 5 do redis.call('publish', 'news', i) end return 'done'".to_vec();
    publisher.call(vec![b"EVAL".to_vec(), script, b"0".to_vec()]).await;
    for text in ["MULTI", "PUBLISH news six", "PUBLISH news seven", "EXEC"] {
        same(&mut publisher, text, 1).await;
    }
    let heard: Vec<_> = subscriber.receive(7).await;
    let heard: Vec<_> = heard.into_iter().map(|both| equal("messages", both)).collect();
    let payloads: Vec<_> = heard.iter().map(|reply| reply.items()[2].text()).collect();
    assert_eq!(payloads, ["1", "2", "3", "4", "5", "six", "seven"]);
    assert!(heard.iter().all(|reply| reply.kind == b'>'));
}

#[tokio::test]
async fn leaving_ends_subscriptions() {
    let servers = Servers::start();
    let (mut subscriber, mut publisher) = subscriber_and_publisher(&servers, "HELLO 3").await;
    same(&mut subscriber, "SUBSCRIBE news", 1).await;
    same(&mut subscriber, "QUIT", 1).await;
    // Both have closed the connection, so both have forgotten it.
    assert!(subscriber.real.receive().await.is_err());
    assert!(subscriber.embedded.receive().await.is_err());
    let reply = &same(&mut publisher, "PUBLISH news x", 1).await[0];
    assert_eq!(reply.body, Body::Line(b"0".to_vec()));
}
