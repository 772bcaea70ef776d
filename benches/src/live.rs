//! How much memory a lock takes while it is held, and while it is waited for.

use std::time::Duration;

use futures::{StreamExt, stream};
use palisade::LockGuard;
use testkit::RedisServer;
use tokio::{task::JoinSet, time::sleep};

use crate::{
    block::Pair,
    floor::Floor,
    line::{Better, Line, Sides},
    locks::{Hold, Single, names},
    meter,
    rows::Setting,
};

/// Bytes of live heap; only under an allocator that counts.
pub(crate) async fn measure(_: &Setting) -> Vec<Line> {
    let held = held().await;
    let mut lines = vec![
        Line::new("bytes a held lock", Better::Less, "wanted", &Sides::once(900.0, held)).aim(1.0),
    ];
    for (figure, names_of) in
        [("bytes a waiter, one name", 1), ("bytes a waiter, a name each", COUNT)]
    {
        let sides = Sides::once(held, waiting(names_of).await);
        lines.push(Line::new(figure, Better::Less, "a held lock", &sides));
    }
    lines
}

/// The guards too.
async fn held() -> f64 {
    let server = RedisServer::start();
    let locks = Single::connect(&server.url(), &names("held", COUNT)).await;
    warm_up(&locks).await;
    let before = meter::heap();
    let mut guards: Vec<LockGuard> = Vec::with_capacity(COUNT);
    let mut acquired = stream::iter(&locks).map(Single::hold).buffer_unordered(64);
    while let Some(guard) = acquired.next().await {
        guards.push(guard);
    }
    drop(acquired);
    settle().await;
    each(before)
}

/// The tasks that wait too; so many names are held by another client.
async fn waiting(names_of: usize) -> f64 {
    let server = RedisServer::start();
    let names = names("wanted", names_of);
    let mut others = Floor::connect(&server.url(), &names).await;
    stream::iter(&mut others).for_each_concurrent(64, Floor::acquire).await;
    let locks = Single::connect(&server.url(), &names).await;
    let free = Single::connect(&server.url(), &["free".into()]).await;
    warm_up(&free).await;
    let before = meter::heap();
    let mut waiters = JoinSet::new();
    for lock in locks.iter().cycle().take(COUNT) {
        let lock = lock.lock();
        waiters.spawn(async move { lock.acquire().await });
    }
    settle().await;
    each(before)
}

/// Connections and buffers are not what is counted.
async fn warm_up(locks: &[Single]) {
    for lock in locks.iter().take(64) {
        lock.clone().pair().await;
    }
}

async fn settle() {
    sleep(Duration::from_secs(4)).await;
}

fn each(before: meter::Heap) -> f64 {
    (meter::heap() - before).live as f64 / COUNT as f64
}

const COUNT: usize = 10_000;
