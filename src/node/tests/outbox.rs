//! What leaves through a link leaves in order, and what did not leave is known.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Wake},
};

use futures::{
    FutureExt,
    future::{BoxFuture, join_all},
};

use testkit::RedisServer;

use super::{connect, gate::Gate};
use crate::{
    error::{NodeError, Phase},
    node::{deployment::Node, test_server::TestServer},
    reach::test_settings::{in_ms, later, until, within},
    socket::Connection,
    wire::{Call, Items, Malformed, Script, ScriptText, Words},
};

const MANY: i64 = 3_000;

/// Appends its number to a list.
#[derive(Debug, Clone, Copy)]
struct Append(i64);

static APPEND: Script = Script::new("append.lua", APPEND_SOURCE, 1, || {
    sha1_smol::Sha1::from(APPEND_SOURCE).digest().to_string()
});

const APPEND_SOURCE: &str = "
    local time = redis.call('TIME')
    redis.call('RPUSH', 'list', ARGV[1])
    return {time[1] * 1000000 + time[2]}
";

impl Call for Append {
    type Reply = ();

    fn script(&self) -> ScriptText<'_> {
        APPEND.text()
    }

    fn write(&self, to: &mut Words) {
        to.count(0).int(self.0);
    }

    fn decode(&self, _items: Items) -> Result<(), Malformed> {
        Ok(())
    }
}

fn list(server: &RedisServer) -> Vec<i64> {
    let list = server.command(&["LRANGE", "list", "0", "-1"]);
    list.array().iter().map(|number| number.to_string().parse().unwrap()).collect()
}

/// Has the server know the script.
async fn prepare(connection: &Connection, server: &RedisServer) {
    connection.call(&Append(0), later()).await.unwrap();
    server.run("DEL list");
}

/// The node is kept, since its connections end with it.
async fn linked() -> (RedisServer, Node, Connection) {
    let server = RedisServer::start();
    let node = server.node();
    let connection = connect(&node).await;
    prepare(&connection, &server).await;
    (server, node, connection)
}

async fn gated() -> (RedisServer, Gate, Node, Connection) {
    let server = RedisServer::start();
    let (node, gate) = Gate::before(&server);
    let connection = connect(&node).await;
    prepare(&connection, &server).await;
    (server, gate, node, connection)
}

/// A call that was polled once, and is polled again only when it is awaited.
fn begun<'a>(
    connection: &'a Connection,
    call: &'a Append,
) -> Pin<Box<dyn Future<Output = Result<(), NodeError>> + Send + 'a>> {
    let mut begun = connection.call(call, later()).map(|answer| answer.map(drop)).boxed();
    assert!((&mut begun).now_or_never().is_none());
    begun
}

#[tokio::test]
async fn thousands_of_calls_keep_their_order_through_a_stall() {
    let (server, _node, connection) = linked().await;
    server.freeze();
    let calls = (0..MANY).map(|number| {
        let connection = &connection;
        async move { connection.call(&Append(number), later()).await }
    });
    let thaw = async {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        server.thaw();
    };
    let (answers, ()) = within(async { futures::join!(join_all(calls), thaw) }).await;
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(list(&server), (0..MANY).collect::<Vec<_>>());
}

/// The rollback of a hold must not pass its acquire, whose task was not polled meanwhile.
#[tokio::test]
async fn what_is_entered_later_never_passes_what_waits() {
    let (server, _node, connection) = linked().await;
    let crowd: Vec<_> = (1..=1_100).map(Append).collect();
    let crowd: Vec<_> = crowd.iter().map(|call| begun(&connection, call)).collect();
    let acquire = begun(&connection, &Append(-1));
    // All answers come, and there is room again.
    within(join_all(crowd)).await;
    within(connection.call(&Append(-2), later())).await.unwrap();
    let order = list(&server);
    within(acquire).await.unwrap();
    assert_eq!(order[1_100..], [-1, -2]);
}

/// One answer can make room for many; a caller that is woken meanwhile comes behind them all the
/// same.
#[tokio::test]
async fn who_enters_while_others_are_handed_over_comes_behind_them() {
    /// Enters a call when it is woken.
    struct Entering(Mutex<Option<BoxFuture<'static, ()>>>);
    impl Wake for Entering {
        fn wake(self: Arc<Self>) {
            let mut call = self.0.lock().unwrap();
            assert!(call.as_mut().is_some_and(|call| call.now_or_never().is_none()));
        }
    }
    let (server, _node, connection) = linked().await;
    let crowd: Vec<_> = (1..=1_000).map(Append).collect();
    let mut crowd: Vec<_> = crowd.iter().map(|call| begun(&connection, call)).collect();
    let (later_one, here) = (Append(-3), connection.clone());
    let entering = async move { here.call(&later_one, later()).map(drop).await }.boxed();
    let entering = Arc::new(Entering(Mutex::new(Some(entering))));
    let mut one = connection.call(&Append(-1), later()).map(drop).boxed();
    let waker = entering.clone().into();
    assert!(one.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let two = begun(&connection, &Append(-2));
    crowd.drain(..10);
    within(crowd.remove(0)).await.unwrap();
    let call = entering.0.lock().unwrap().take().unwrap();
    within(async { futures::join!(one, call) }).await;
    within(two).await.unwrap();
    let order: Vec<_> = list(&server).into_iter().filter(|number| *number < 0).collect();
    assert_eq!(order, [-1, -2, -3]);
}

#[tokio::test]
async fn a_call_that_is_dropped_while_it_waits_is_never_made() {
    let (server, gate, _node, connection) = gated().await;
    // So much is packed before the gate is found shut; what comes behind it waits.
    gate.allow(0);
    let crowd: Vec<_> = (1..=1_100).map(Append).collect();
    let crowd: Vec<_> = crowd.iter().map(|call| begun(&connection, call)).collect();
    gate.written().await;
    let dropped = begun(&connection, &Append(-1));
    drop(dropped);
    let hurried = connection.call(&Append(-2), in_ms(1)).await;
    let sending = NodeError::TimedOut { phase: Phase::Sending };
    assert_eq!(format!("{:?}", hurried.unwrap_err()), format!("{sending:?}"));
    assert!(!sending.is_unknown());
    gate.open();
    within(join_all(crowd)).await;
    within(connection.call(&Append(-3), later())).await.unwrap();
    assert_eq!(list(&server)[1_100..], [-3]);
}

/// Its caller may not be polled for long.
#[tokio::test]
async fn a_call_whose_deadline_is_over_is_not_sent() {
    let (server, gate, _node, connection) = gated().await;
    gate.allow(0);
    let crowd: Vec<_> = (1..=1_100).map(Append).collect();
    let crowd: Vec<_> = crowd.iter().map(|call| begun(&connection, call)).collect();
    gate.written().await;
    let mut late = connection.call(&Append(-1), in_ms(1)).boxed();
    assert!((&mut late).now_or_never().is_none());
    let over = in_ms(2);
    within(until(async || (in_ms(0) > over).then_some(()))).await;
    gate.open();
    within(join_all(crowd)).await;
    assert!(matches!(late.await, Err(NodeError::TimedOut { phase: Phase::Sending })));
    assert_eq!(list(&server).len(), 1_100);
}

#[tokio::test]
async fn what_waits_when_a_connection_ends_fails_at_once_as_unsent() {
    let (_server, gate, node, connection) = gated().await;
    gate.allow(1);
    let calls = (0..1_500).map(|number| {
        let connection = &connection;
        async move { connection.call(&Append(number), later()).await.unwrap_err() }
    });
    let close = async {
        gate.written().await;
        node.close();
    };
    let (errors, ()) = within(async { futures::join!(join_all(calls), close) }).await;
    let unknown: Vec<_> = errors.iter().map(NodeError::is_unknown).collect();
    assert_eq!(unknown, (0..1_500).map(|number| number < 1).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_the_socket_did_not_take_is_unsent_and_what_it_took_in_part_is_not() {
    let server = RedisServer::start();
    for (allowed, expected) in [(0, [false, false]), (1, [true, false]), (100_000, [true, true])] {
        let (node, gate) = Gate::before(&server);
        let connection = connect(&node).await;
        prepare(&connection, &server).await;
        // Whatever is taken is not executed before the cut.
        server.freeze();
        gate.allow(allowed);
        let (one, two) = (begun(&connection, &Append(1)), begun(&connection, &Append(2)));
        gate.written().await;
        gate.cut();
        let errors = [within(one).await.unwrap_err(), within(two).await.unwrap_err()];
        let unknown = errors.each_ref().map(NodeError::is_unknown);
        assert_eq!(unknown, expected, "{allowed} bytes: {errors:?}");
        server.thaw();
    }
}

/// What is still to be written when the socket breaks has not left, and no caller is told that it
/// broke.
#[tokio::test]
async fn a_call_that_never_left_goes_out_on_the_next_socket() {
    let (server, gate, node, connection) = gated().await;
    gate.allow(0);
    let mut call = node.call("list", &Append(1), later()).boxed();
    assert!((&mut call).now_or_never().is_none());
    gate.written().await;
    gate.open();
    gate.cut();
    let (next, _) = within(call).await.unwrap();
    assert_ne!(next.epoch(), connection.epoch());
    assert_eq!(list(&server), [1]);
}

#[tokio::test]
async fn a_call_that_may_have_left_is_not_sent_again_by_the_node() {
    let (server, gate, node, _connection) = gated().await;
    gate.deafen();
    let mut call = node.call("list", &Append(1), later()).boxed();
    let done = until(async || {
        assert!((&mut call).now_or_never().is_none());
        (list(&server) == [1]).then_some(())
    });
    within(done).await;
    gate.cut();
    assert!(within(call).await.unwrap_err().is_unknown());
    assert_eq!(list(&server), [1]);
}

#[tokio::test]
async fn a_call_that_was_dropped_in_doubt_says_nothing_of_others() {
    let (_server, gate, _node, connection) = gated().await;
    gate.allow(1);
    let before = begun(&connection, &Append(1));
    gate.written().await;
    drop(before);
    let after = begun(&connection, &Append(3));
    gate.cut();
    assert!(!within(after).await.unwrap_err().is_unknown());
}

/// Those that were dropped before it are not written, and must not be counted.
#[tokio::test]
async fn a_call_that_was_executed_is_never_called_unsent() {
    let (server, gate, _node, connection) = gated().await;
    for number in 1..=3 {
        drop(begun(&connection, &Append(-number)));
    }
    let executed = begun(&connection, &Append(1));
    gate.deafen();
    within(until(async || (list(&server) == [1]).then_some(()))).await;
    gate.cut();
    assert!(within(executed).await.unwrap_err().is_unknown());
}

#[tokio::test]
async fn a_crowd_whose_callers_are_gone_stops_nobody() {
    let (server, gate, _node, connection) = gated().await;
    gate.allow(0);
    for number in 1..=1_010 {
        drop(begun(&connection, &Append(number)));
    }
    let (one, two) = (begun(&connection, &Append(-1)), begun(&connection, &Append(-2)));
    gate.open();
    within(one).await.unwrap();
    within(two).await.unwrap();
    assert!(connection.is_live());
    assert_eq!(list(&server), [-1, -2]);
}
