//! Many processes that want one lock: those that were woken in vain ask one by one.

use std::{collections::BTreeSet, pin::Pin, time::Instant};

use futures::future::join_all;
use palisade::{AcquireError, Client, LockGuard};
use testkit::{Fault, FaultProxy, RedisServer, Way};

use crate::support::{HANG, Look, client, eventually, ms, patient, polled, promptly, soon};

const TURN: &str = "{x}:palisade_turn";
const LINE: &str = "{x}:palisade_turns";

type Wait = Pin<Box<dyn Future<Output = Result<LockGuard, AcquireError>> + Send>>;

/// A process as far as a server can tell: it shares no line with others.
async fn waiter(server: &RedisServer) -> Wait {
    let client = client(server).await;
    Box::pin(async move { client.lock("x").acquire().await })
}

fn lined_up(server: &RedisServer) -> i64 {
    server.command(&["ZCARD", LINE]).int()
}

fn whose_turn(server: &RedisServer) -> String {
    server.cli(&["GET", TURN]).trim().to_owned()
}

/// The sockets of all clients, by the server's numbers.
fn sockets(server: &RedisServer) -> BTreeSet<String> {
    let list = server.cli(&["CLIENT", "LIST"]);
    list.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// Wakes all listeners, though the lock is held.
fn wake_in_vain(server: &RedisServer) {
    server.command(&["PUBLISH", "redisson_lock__channel:{x}", "0"]);
}

/// Polls `wait` until `condition` holds, and no longer.
async fn polled_until(wait: &mut Wait, condition: impl Fn() -> bool) {
    soon(async {
        while !condition() {
            assert!(!polled(wait.as_mut(), 1).await, "granted");
            tokio::time::sleep(ms(1)).await;
        }
    })
    .await;
}

/// It waits, and listens to releases: it has asked twice.
async fn listening(server: &RedisServer, wait: &mut Wait, listeners: i64) {
    let calls = server.calls_of("evalsha");
    polled_until(wait, || {
        server.subscribers("x") == listeners && server.calls_of("evalsha") >= calls + 2
    })
    .await;
}

/// It is told in vain that the lock is free, and has the turn then.
async fn takes_turn(server: &RedisServer, wait: &mut Wait) {
    listening(server, wait, 1).await;
    let calls = server.calls_of("evalsha");
    wake_in_vain(server);
    // In vain, for the turn, and with it: then it listens to releases again.
    polled_until(wait, || server.calls_of("evalsha") >= calls + 3 && server.subscribers("x") == 1)
        .await;
}

#[tokio::test]
async fn what_a_crowd_asks_grows_with_how_many_they_are_and_not_with_their_square() {
    const MANY: u64 = 60;
    let server = RedisServer::start();
    let held = client(&server).await.lock("x").acquire().await.unwrap();
    let waits = join_all((0..MANY).map(|_| waiter(&server))).await;
    let waits = waits
        .into_iter()
        .map(|wait| tokio::spawn(async move { wait.await.unwrap().release().await.unwrap() }));
    let waits: Vec<_> = waits.collect();
    // All listen by then: they have asked twice.
    eventually(|| server.calls_of("evalsha") > 2 * MANY).await;
    let (calls, began) = (server.calls_of("evalsha"), Instant::now());
    held.release().await.unwrap();
    for ended in soon(join_all(waits)).await {
        ended.unwrap();
    }
    let calls = server.calls_of("evalsha") - calls;
    // Once when all are woken; for the turn; twice for the lock, as it is held, and when it is not; to leave. And
    // those that wait for long look every few seconds.
    let looks = began.elapsed().as_secs() + 1;
    assert!(calls < (8 + looks) * MANY, "{calls} calls, {looks} looks");
    eventually(|| server.size() == 0).await;
}

#[tokio::test]
async fn turn_passes_from_one_to_the_next_that_is_there() {
    let server = RedisServer::start();
    let held = client(&server).await.lock("x").acquire().await.unwrap();
    let mut waits = join_all((0..3).map(|_| waiter(&server))).await;
    for (wait, listeners) in waits.iter_mut().zip(1..) {
        listening(&server, wait, listeners).await;
    }
    let [mut first, mut gone, mut last] = <[Wait; 3]>::try_from(waits).ok().unwrap();
    wake_in_vain(&server);
    polled_until(&mut first, || !whose_turn(&server).is_empty()).await;
    polled_until(&mut gone, || lined_up(&server) == 1).await;
    polled_until(&mut last, || lined_up(&server) == 2).await;
    drop(gone);
    eventually(|| lined_up(&server) == 1).await;
    held.release().await.unwrap();
    let granted = soon(first).await.unwrap();
    polled_until(&mut last, || lined_up(&server) == 0).await;
    granted.release().await.unwrap();
    soon(last).await.unwrap().release().await.unwrap();
    eventually(|| server.size() == 0).await;
}

/// A turn lasts for four seconds: the next one in line does not wait for its end.
#[tokio::test]
async fn turn_of_a_future_that_is_not_polled_keeps_the_next_one_from_nothing() {
    let server = RedisServer::start();
    let held = client(&server).await.lock("x").acquire().await.unwrap();
    let (mut parked, mut next) = (waiter(&server).await, waiter(&server).await);
    listening(&server, &mut parked, 1).await;
    listening(&server, &mut next, 2).await;
    wake_in_vain(&server);
    polled_until(&mut parked, || !whose_turn(&server).is_empty()).await;
    // With the turn it listens to releases again, as the second one.
    polled_until(&mut parked, || server.subscribers("x") == 2).await;
    polled_until(&mut next, || lined_up(&server) == 1 && server.subscribers("x") == 2).await;
    // It is not the end of the turn that lets the next one in.
    server.command(&["PEXPIRE", TURN, "60000"]);
    held.release().await.unwrap();
    promptly(&server, next).await.unwrap().release().await.unwrap();
    drop(parked);
    eventually(|| server.size() == 0).await;
}

/// The first in line finds out that a turn is not used: those behind it learn so, too.
#[tokio::test]
async fn turn_that_is_not_used_keeps_those_behind_the_first_from_nothing() {
    let server = RedisServer::start();
    let held = client(&server).await.lock("x").acquire().await.unwrap();
    let mut parked = waiter(&server).await;
    takes_turn(&server, &mut parked).await;
    let mut line = Vec::new();
    for place in 1..=3 {
        let wait = waiter(&server).await;
        line.push(tokio::spawn(async move { wait.await.unwrap().release().await.unwrap() }));
        eventually(|| {
            wake_in_vain(&server);
            lined_up(&server) == place
        })
        .await;
    }
    // The first one listens to releases, too.
    eventually(|| server.subscribers("x") == 2).await;
    // It is not the end of the turn that lets them in.
    server.command(&["PEXPIRE", TURN, "60000"]);
    held.release().await.unwrap();
    for served in promptly(&server, join_all(line)).await {
        served.unwrap();
    }
    drop(parked);
    eventually(|| server.size() == 0).await;
}

/// It is told when it has become the first, and listens to releases from then on.
#[tokio::test]
async fn turn_that_is_not_used_any_more_keeps_the_next_one_from_nothing() {
    let server = RedisServer::start();
    let held = client(&server).await.lock("x").acquire().await.unwrap();
    let mut waits = join_all((0..4).map(|_| waiter(&server))).await;
    takes_turn(&server, &mut waits[0]).await;
    for (wait, place) in waits.iter_mut().skip(1).zip(1..) {
        polled_until(wait, || {
            wake_in_vain(&server);
            lined_up(&server) == place
        })
        .await;
    }
    let [first, gone, parked, last] = <[Wait; 4]>::try_from(waits).ok().unwrap();
    let last = tokio::spawn(last);
    drop(gone);
    eventually(|| lined_up(&server) == 2).await;
    let subscribed = server.calls_of("subscribe");
    held.release().await.unwrap();
    let granted = soon(first).await.unwrap();
    // The one that is not polled has the turn by now. The last one stands behind it, and listens.
    eventually(|| lined_up(&server) == 1 && server.calls_of("subscribe") > subscribed).await;
    // It is not the end of the turn that lets it in.
    server.command(&["PEXPIRE", TURN, "60000"]);
    granted.release().await.unwrap();
    promptly(&server, last).await.unwrap().unwrap().release().await.unwrap();
    drop(parked);
    eventually(|| server.size() == 0).await;
}

/// A turn lasts for four seconds: what says that it is over is lost with its socket, and said again.
#[tokio::test]
async fn turn_is_passed_on_though_the_socket_breaks_under_what_says_so() {
    let server = RedisServer::start();
    let held = client(&server).await.lock("x").acquire().await.unwrap();
    let proxy = FaultProxy::before(&server);
    let behind = patient(&server).url(&proxy.url()).connect().await.unwrap();
    let mut gone: Wait = Box::pin(async move { behind.lock("x").acquire().await });
    let mut next = waiter(&server).await;
    listening(&server, &mut gone, 1).await;
    listening(&server, &mut next, 2).await;
    wake_in_vain(&server);
    polled_until(&mut gone, || !whose_turn(&server).is_empty()).await;
    polled_until(&mut next, || lined_up(&server) == 1).await;
    // It is not the end of the turn that lets the next one in.
    let lengthen = || server.command(&["PEXPIRE", TURN, "60000"]);
    lengthen();
    let (turn, left) = (whose_turn(&server), server.calls_of("evalsha"));
    proxy.set(Fault::Reset(Way::Requests));
    let before = sockets(&server);
    drop(gone);
    // That of its calls, and that on which it listens: it says to both that it leaves.
    eventually(|| before.difference(&sockets(&server)).count() >= 2).await;
    assert_eq!((whose_turn(&server), server.calls_of("evalsha")), (turn.clone(), left));
    proxy.heal();
    polled_until(&mut next, || {
        lengthen();
        whose_turn(&server) != turn
    })
    .await;
    held.release().await.unwrap();
    soon(next).await.unwrap().release().await.unwrap();
    eventually(|| server.size() == 0).await;
}

/// A wait that is not polled knows nothing of a shutdown, and cannot give up what it has.
#[tokio::test]
async fn shutdown_gives_up_turn_and_place_of_futures_that_are_not_polled() {
    let server = RedisServer::start();
    let held = client(&server).await.lock("x").acquire().await.unwrap();
    let mut clients = Vec::new();
    let mut parked = Vec::new();
    for listeners in 1..=2 {
        let client = client(&server).await;
        let lock = client.lock("x");
        let mut wait: Wait = Box::pin(async move { lock.acquire().await });
        listening(&server, &mut wait, listeners).await;
        clients.push(client);
        parked.push(wait);
    }
    wake_in_vain(&server);
    polled_until(&mut parked[0], || !whose_turn(&server).is_empty()).await;
    polled_until(&mut parked[1], || lined_up(&server) == 1).await;
    // It is not the end of the turn that takes it away.
    server.command(&["PEXPIRE", TURN, "60000"]);
    clients[1].shutdown(HANG).await.unwrap();
    assert_eq!(lined_up(&server), 0);
    assert!(!whose_turn(&server).is_empty());
    clients[0].shutdown(HANG).await.unwrap();
    assert_eq!(whose_turn(&server), "");
    for wait in parked {
        assert!(matches!(soon(wait).await, Err(AcquireError::Shutdown)));
    }
    held.release().await.unwrap();
    assert_eq!(server.size(), 0);
}

#[tokio::test]
async fn turn_is_given_up_once_the_right_to_say_so_is_back() {
    let server = RedisServer::start();
    server.cli(&["ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all"]);
    let held = client(&server).await.lock("x").acquire().await.unwrap();
    let app = patient(&server).url(&server.url_with("app", "pw")).connect().await.unwrap();
    let mut wait: Wait = Box::pin(async move { app.lock("x").acquire().await });
    listening(&server, &mut wait, 1).await;
    wake_in_vain(&server);
    polled_until(&mut wait, || !whose_turn(&server).is_empty()).await;
    // It is not the end of the turn that takes it away.
    server.command(&["PEXPIRE", TURN, "600000"]);
    server.cli(&["ACL", "SETUSER", "app", "resetkeys", "~x"]);
    let refused = || server.cli(&["ACL", "LOG"]).contains(TURN);
    drop(wait);
    eventually(refused).await;
    assert!(!whose_turn(&server).is_empty());
    server.cli(&["ACL", "SETUSER", "app", "~*"]);
    eventually(|| whose_turn(&server).is_empty()).await;
    held.release().await.unwrap();
}

#[tokio::test]
async fn who_may_not_stand_in_line_waits_as_if_there_were_none() {
    for missing in [
        &["-zadd"][..],
        &["resetchannels", "&redisson_lock__channel:*"],
        &["resetkeys", "~x", "~palisade*"],
    ] {
        let server = RedisServer::start();
        let mut rule = vec!["ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all"];
        rule.extend(missing);
        server.cli(&rule);
        let app = patient(&server).url(&server.url_with("app", "pw"));
        let held = client(&server).await.lock("x").acquire().await.unwrap();
        let clients = join_all((0..3).map(|_| app.clone().connect())).await;
        let waits = clients.into_iter().map(|client: Result<Client, _>| {
            let client = client.unwrap();
            tokio::spawn(async move { client.lock("x").acquire().await.unwrap() })
        });
        let mut waits: Vec<_> = waits.collect();
        for _ in 0..3 {
            eventually(|| server.subscribers("x") == 3).await;
            wake_in_vain(&server);
        }
        held.release().await.unwrap();
        while !waits.is_empty() {
            let (granted, _, rest) = soon(futures::future::select_all(waits)).await;
            granted.unwrap().release().await.unwrap();
            waits = rest;
        }
        eventually(|| server.size() == 0).await;
    }
}
