//! Members of a `RedLock` that disagree, and one that is late and could decide.

use std::time::Duration;

use palisade::{Masters, embedded::Server};
use tokio::time::{Instant, sleep};

use super::Line;
use crate::{outside::ask, support::soon};

const CHANNEL: &str = "redisson_lock__channel:{x}";

/// Two members that are near, and one that is far; and a lock over all.
fn scene() -> ([Server; 3], Masters) {
    let servers: [Server; 3] = std::array::from_fn(|_| Server::start_here());
    let clients = servers.iter().zip([1, 1, 100]).map(|(server, way)| {
        let line = Line::new();
        line.delay(Duration::from_millis(way), Duration::from_millis(way));
        line.client(server).build().unwrap()
    });
    let masters = Masters::new(clients).unwrap();
    (servers, masters)
}

async fn take_for_another(server: &Server) {
    let _new: i64 = ask(server, &["HSET", "x", "other:1", "1"]).await;
    let _new: i64 = ask(server, &["PEXPIRE", "x", "30000"]).await;
}

/// It is held there, and then given back, before the late one can have decided.
async fn is_held_for_a_moment(server: &Server, since: Instant) {
    let holders = async || ask::<Vec<String>>(server, &["HKEYS", "x"]).await;
    for is_free in [false, true] {
        while holders().await.is_empty() != is_free {
            sleep(Duration::from_millis(1)).await;
            assert!(since.elapsed() < Duration::from_millis(100), "{is_free}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn late_member_does_not_decide_for_a_waiter_that_has_just_come() {
    let ([stuck, free, _late], masters) = scene();
    soon(masters.red_lock("y").acquire()).await.unwrap().release().await.unwrap();
    sleep(Duration::from_secs(1)).await;
    take_for_another(&stuck).await;
    let (lock, came) = (masters.red_lock("x"), Instant::now());
    let wait = tokio::spawn(async move { lock.acquire().await.unwrap() });
    is_held_for_a_moment(&free, came).await;
    soon(wait).await.unwrap().release().await.unwrap();
}

/// What it was granted would keep it from others for as long as the late one takes, and with it the next one from
/// a majority, and so on.
#[tokio::test(start_paused = true)]
async fn late_member_does_not_decide_unless_it_is_needed() {
    let (servers, masters) = scene();
    let lock = masters.red_lock("x");
    let [stuck, free, late] = &servers;
    for server in [stuck, free] {
        take_for_another(server).await;
    }
    let wait = tokio::spawn(async move { lock.acquire().await.unwrap() });
    let asked_late = async || {
        let stats: String = ask(late, &["INFO", "commandstats"]).await;
        stats.contains("evalsha")
    };
    while !asked_late().await {
        sleep(Duration::from_millis(10)).await;
    }
    sleep(Duration::from_secs(1)).await;
    let _gone: i64 = ask(free, &["DEL", "x"]).await;
    let _heard: i64 = ask(free, &["PUBLISH", CHANNEL, "0"]).await;
    let released = Instant::now();
    is_held_for_a_moment(free, released).await;
    // What is held by nothing that lives keeps it from nothing for long.
    let guard = soon(wait).await.unwrap();
    assert!(released.elapsed() < Duration::from_secs(2), "{:?}", released.elapsed());
    guard.release().await.unwrap();
}
