//! Acquires on real servers.

use std::{
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use futures::{FutureExt, future::join_all};
use testkit::RedisServer;

use super::{connect, gate::Gate};
use crate::{
    clock::{BootClock, Clock, Instant},
    error::NodeError,
    node::test_server::TestServer,
    reach::test_settings::within,
    socket::{
        AcquireAnswer, AcquireSource, CallTimeouts, Connection, Priority, SendReason,
        tests::asking::{TAKE, Wish},
    },
    wire::{Acquire, Outcome},
};

fn patience() -> CallTimeouts {
    let since = BootClock.now();
    CallTimeouts { since, for_the_server: Duration::from_secs(30), unsent_until: None }
}

async fn ask(
    connection: &Connection,
    wish: Arc<dyn AcquireSource>,
) -> Result<Option<AcquireAnswer>, NodeError> {
    connection.acquire(wish, Priority::default(), patience()).await
}

fn outcome(asked: Result<Option<AcquireAnswer>, NodeError>) -> Result<Outcome, NodeError> {
    asked.unwrap().unwrap().outcome
}

#[tokio::test]
async fn a_crowd_of_tasks_is_granted_in_few_calls_and_everybody_is_told_its_own_outcome() {
    let server = RedisServer::start();
    let node = server.node();
    let connection = connect(&node).await;
    let all = (0..1_000).map(|number| ask(&connection, Wish::of(&format!("{number}"), number)));
    let values = within(join_all(all)).await.into_iter().map(|asked| outcome(asked).unwrap().value);
    assert_eq!(values.collect::<Vec<_>>(), (0..1_000).collect::<Vec<_>>());
    assert_eq!(server.run("GET calls"), "32");
    assert_eq!(server.run(&format!("SCRIPT EXISTS {}", TAKE.text().sha)), "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn acquires_of_many_threads_are_executed_in_the_order_of_their_notes() {
    #[derive(Debug)]
    struct Noting(Arc<Wish>, i64);
    impl AcquireSource for Noting {
        fn acquire(&self) -> &Acquire {
            self.0.acquire()
        }
        fn valid(&self) -> Duration {
            self.0.valid()
        }
        fn wants(&self, _now: Instant, _not_after: i64, reason: SendReason) -> bool {
            if reason == SendReason::First {
                NOTED.lock().unwrap().push(self.1.to_string());
            }
            true
        }
        fn was_not_sent(&self, _not_after: i64) {}
        fn keeps_order(&self) -> bool {
            false
        }
    }
    static NOTED: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let server = RedisServer::start();
    let node = server.node();
    let connection = connect(&node).await;
    outcome(ask(&connection, Wish::of("the script is known now", -1)).await).unwrap();
    server.run("DEL list");
    let tasks = (0..3_000).map(|number| {
        let connection = connection.clone();
        let noting = Arc::new(Noting(Wish::of(&format!("{number}"), number), number));
        tokio::spawn(async move { outcome(ask(&connection, noting).await).unwrap() })
    });
    for task in within(join_all(tasks)).await {
        task.unwrap();
    }
    let list = server.run("LRANGE list 0 -1");
    let executed: Vec<_> = list.lines().map(str::to_owned).collect();
    assert_eq!((executed.len(), executed), (3_000, NOTED.lock().unwrap().clone()));
}

#[tokio::test]
async fn one_key_without_rights_fails_none_of_the_31_beside_it() {
    let server = RedisServer::start();
    server.run("ACL SETUSER alice on >wonder ~good:* ~list ~calls &* +@all");
    let node = server.node_of_alice();
    let connection = connect(&node).await;
    let name = |number| if number == 7 { "bad".to_owned() } else { format!("good:{number}") };
    let all = (0..32).map(|number| ask(&connection, Wish::of(&name(number), number)));
    let outcomes: Vec<_> = within(join_all(all)).await.into_iter().map(outcome).collect();
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 31);
    assert!(matches!(outcomes[7], Err(NodeError::Permission { .. })), "{:?}", outcomes[7]);
}

#[tokio::test]
async fn an_error_of_one_lock_stands_in_the_place_of_its_code() {
    let server = RedisServer::start();
    let node = server.node();
    let connection = connect(&node).await;
    let all = ["x", "wrong", "y"].map(|name| ask(&connection, Wish::of(name, 5)));
    let [x, wrong, y] = within(join_all(all)).await.try_into().unwrap();
    assert_eq!((outcome(x).unwrap().value, outcome(y).unwrap().value), (5, 5));
    assert!(matches!(outcome(wrong), Err(NodeError::OutOfMemory)));
    assert_eq!(server.run("GET calls"), "1");
}

#[tokio::test]
async fn an_acquirer_is_told_what_has_not_left() {
    let server = RedisServer::start();
    let (node, gate) = Gate::before(&server);
    let connection = connect(&node).await;
    gate.allow(0);
    let wish = Wish::of("x", 1);
    let mut asked = ask(&connection, wish.clone()).boxed();
    assert!((&mut asked).now_or_never().is_none());
    gate.written().await;
    gate.cut();
    let asked = within(asked).await;
    assert!(matches!(asked, Err(NodeError::Unreachable { .. })), "{asked:?}");
    assert_eq!((wish.turns().len(), wish.was_not_sent().len()), (1, 1));
    let asked = ask(&connection, wish.clone()).await;
    assert!(matches!(&asked, Err(error) if !error.is_unknown()), "{asked:?}");
    assert_eq!((wish.turns().len(), wish.was_not_sent().len()), (1, 1));
}

#[tokio::test]
async fn what_is_not_wanted_when_its_turn_has_come_is_not_sent() {
    let server = RedisServer::start();
    let node = server.node();
    let connection = connect(&node).await;
    let wish = Wish::of("x", 1);
    wish.is_wanted.store(false, Ordering::SeqCst);
    assert!(matches!(ask(&connection, wish).await, Ok(None)));
    assert_eq!(server.run("EXISTS calls"), "0");
}
