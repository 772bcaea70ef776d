//! Wholes that stand in each other's way: all get in.

use std::time::Duration;

use futures::future::join_all;
use palisade::{Member, MultiLock};
use tokio::time::{Instant, sleep, timeout};

use crate::support::ms;

use super::{Scene, hold, spawned, whole};

/// Five sections of 3 s each are before them in either queue, and may be of another length in one.
#[tokio::test(start_paused = true)]
async fn two_wholes_get_in_behind_queues_of_five() {
    for sections in [[3_000, 3_000], [3_000, 4_000], [4_000, 3_000], [3_000, 300]] {
        for scene in [Scene::on_one(), Scene::on_two()] {
            let mut singles = Vec::new();
            for (i, section) in sections.into_iter().enumerate() {
                singles.push(scene.single(i, ms(section)).await);
                for _ in 0..5 {
                    singles.push(scene.single(i, ms(section)).await);
                }
            }
            let began = Instant::now();
            let wholes = [scene.both().await, scene.both().await];
            let wholes = wholes.map(async |whole| hold(whole.await.unwrap(), ms(3_000)).await);
            let limit = Duration::from_secs(45);
            timeout(limit, join_all(wholes)).await.expect("both get in");
            join_all(singles).await;
            println!("{sections:?}: both were done after {:?}", began.elapsed());
            scene.nothing_is_left().await;
        }
    }
}

/// Each is granted what the other one needs next.
#[tokio::test(start_paused = true)]
async fn wholes_that_stand_in_each_others_way_both_get_in() {
    for scene in [Scene::on_one(), Scene::on_two()] {
        for _ in 0..20 {
            let first = scene.fair(0).await;
            let one = scene.both().await;
            // Where the first is free for a moment another one is refused by the second alone.
            let second = scene.fair(1).await;
            assert_eq!(scene.queues().await, [1, 0]);
            let [a, b] = scene.process().await;
            let other: [Member; 2] = [b.fair_lock("b").into(), a.lock("c").into()];
            let other = MultiLock::new(other).unwrap();
            let other = spawned(async move { other.acquire().await.unwrap() }).await;
            assert_eq!(scene.queues().await, [1, 1]);
            let began = Instant::now();
            let (first, second) = tokio::join!(first.release(), second.release());
            first.and(second).unwrap();
            let holds = [one, other].map(async |whole| hold(whole.await.unwrap(), ms(10)).await);
            join_all(holds).await;
            assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
            scene.nothing_is_left().await;
        }
    }
}

/// Some wait for the first lock and some for the second, and each queue is of those that want both.
#[tokio::test(start_paused = true)]
async fn wholes_in_the_queues_of_each_other_all_get_in() {
    for scene in [Scene::on_one(), Scene::on_two()] {
        let second = scene.fair(1).await;
        let mut wholes = Vec::new();
        for _ in 0..6 {
            wholes.push(scene.both().await);
        }
        // Each lets the first go in vain, and waits for the second from then on.
        while scene.queues().await != [2, 3] {
            sleep(ms(10)).await;
        }
        second.release().await.unwrap();
        let wholes = wholes.into_iter().map(async |whole| hold(whole.await.unwrap(), ms(10)).await);
        let limit = Duration::from_secs(20);
        timeout(limit, join_all(wholes)).await.expect("all get in");
        scene.nothing_is_left().await;
    }
}

#[tokio::test(start_paused = true)]
async fn wholes_that_overlap_all_make_progress() {
    let scene = Scene::on_two();
    let mut contenders = Vec::new();
    for i in 0..6 {
        let [a, b] = scene.process().await;
        contenders.push(tokio::spawn(async move {
            for _ in 0..10 {
                let guard = match i {
                    0 => a.fair_lock("a").acquire().await.unwrap(),
                    1 => b.fair_lock("b").acquire().await.unwrap(),
                    _ => whole(&[a.clone(), b.clone()]).acquire().await.unwrap(),
                };
                hold(guard, ms(20)).await;
            }
        }));
    }
    let all = timeout(Duration::from_secs(120), join_all(contenders)).await;
    all.expect("all get in").into_iter().for_each(Result::unwrap);
    scene.nothing_is_left().await;
}
