//! Servers that are away while a whole is waited for, and processes that die.

use std::time::Duration;

use palisade::OnOutage;
use testkit::{Actor, RedisServer};
use tokio::time::{sleep, timeout};

use crate::support::{Look, eventually, ms, soon};

use super::{Scene, spawned, whole};

#[tokio::test(start_paused = true)]
async fn place_is_kept_while_a_server_is_down() {
    for down in [0, 1] {
        let scene = Scene::on_two();
        let held = scene.fair(0).await;
        let lock = whole(&scene.process().await).on_outage(OnOutage::Wait);
        let both = spawned(async move { lock.acquire().await.unwrap() }).await;
        let behind = scene.single(0, ms(10)).await;
        let queue = scene.queue(0).await;
        scene.server(down).kill();
        sleep(Duration::from_secs(20)).await;
        scene.server(down).restart();
        sleep(Duration::from_secs(5)).await;
        assert_eq!(scene.queue(0).await, queue, "{down}");
        held.release().await.unwrap();
        let guard = both.await.unwrap();
        assert_eq!(guard.holder_id(), queue[0], "{down}");
        guard.release().await.unwrap();
        behind.await.unwrap();
        scene.nothing_is_left().await;
    }
}

/// What it was asked may be executed late: there another id asks from then on, and nowhere else.
#[tokio::test(start_paused = true)]
async fn member_that_stands_still_costs_no_place() {
    let scene = Scene::on_two();
    let held = scene.fair(0).await;
    let lock = whole(&scene.process().await).on_outage(OnOutage::Wait);
    let both = spawned(async move { lock.acquire().await.unwrap() }).await;
    let place = scene.queue(0).await;
    scene.server(1).freeze();
    sleep(Duration::from_secs(20)).await;
    scene.server(1).thaw();
    sleep(Duration::from_secs(5)).await;
    assert_eq!(scene.queues().await, [1, 0]);
    assert_eq!(scene.queue(0).await, place);
    held.release().await.unwrap();
    both.await.unwrap().release().await.unwrap();
    scene.nothing_is_left().await;
}

/// The waiter is not polled, and asks nothing: its place is kept for it.
#[tokio::test(start_paused = true)]
async fn place_is_kept_for_an_hour_although_who_waits_stands_still() {
    let scene = Scene::on_two();
    let held = scene.fair(1).await;
    let lock = whole(&scene.process().await);
    let mut parked = Box::pin(lock.acquire());
    assert!(timeout(ms(500), &mut parked).await.is_err());
    let place = scene.queue(1).await;
    let _behind = scene.single(1, ms(10)).await;
    for _ in 0..30 {
        sleep(Duration::from_secs(120)).await;
        let queue = scene.queue(1).await;
        assert_eq!((queue.len(), &queue[0]), (2, &place[0]));
    }
    held.release().await.unwrap();
    let guard = parked.await.unwrap();
    assert_eq!(guard.holder_id(), place[0]);
    guard.release().await.unwrap();
}

/// The same as a single fair lock's: it has no listener, so its turn is over after three seconds.
#[tokio::test]
async fn dead_process_that_waited_for_a_whole_is_passed_over() {
    let server = RedisServer::start();
    let client = crate::support::client(&server).await;
    let held = client.fair_lock("x").acquire().await.unwrap();
    let mut dead = Actor::spawn(env!("CARGO_BIN_EXE_actor"), &[server.url()]);
    dead.send("fair-whole x y 3000").unwrap();
    eventually(|| crate::fair::queue(&server).len() == 1).await;
    let place = crate::fair::queue(&server)[0].clone();
    eventually(|| crate::fair::listens(&server, &place)).await;
    let (id, waiter) = crate::fair::waiter(&server).await;
    dead.kill();
    eventually(|| !crate::fair::listens(&server, &place)).await;
    let began = std::time::Instant::now();
    held.release().await.unwrap();
    let guard = soon(waiter).await.unwrap();
    assert_eq!(guard.holder_id(), id);
    assert!(began.elapsed().as_secs() >= 3, "{:?}", began.elapsed());
    guard.release().await.unwrap();
    eventually(|| server.size() == 0).await;
}
