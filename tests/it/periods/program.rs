//! Three replicas of a program, each with a timer of its own.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::future::join_all;
use palisade::{any::BoxLock, once::Cadence};
use testkit::RedisServer;

use super::{done, ran, stranger};
use crate::{fleet::Fleet, support::ms};

/// How often each period was worked for.
type Begun = Arc<Mutex<BTreeMap<u32, u32>>>;

/// So far apart are the timers of two replicas.
const APART: Duration = ms(120);
/// So long the work takes: each of them finds the lock free.
const WORK: Duration = ms(50);
const PERIODS: u32 = 3;

/// Fires for each period, late by its number.
async fn replica(lock: BoxLock, number: u32, begun: Begun) {
    let mut ticks = tokio::time::interval(ms(600));
    tokio::time::sleep(APART * number).await;
    for period in 0..PERIODS {
        ticks.tick().await;
        let work = async |_guard: &_| {
            *begun.lock().unwrap().entry(period).or_default() += 1;
            tokio::time::sleep(WORK).await;
            Ok::<_, std::convert::Infallible>(())
        };
        lock.once_for(&format!("2026-11-26T0{period}"), work).await.unwrap();
    }
}

async fn three_periods_of(locks: Vec<BoxLock>) {
    let begun = Begun::default();
    let numbered = locks.into_iter().zip(0..);
    let replicas = numbered.map(|(lock, number)| replica(lock, number, begun.clone()));
    join_all(replicas).await;
    let begun = begun.lock().unwrap();
    assert!(begun.len() == 3 && begun.values().all(|times| *times == 1), "{begun:?}");
}

#[tokio::test]
async fn three_replicas_and_three_periods_are_three_runs() {
    let server = RedisServer::start();
    let mut locks = Vec::new();
    for _ in 0..3 {
        locks.push(stranger(&server).await.lock("report").boxed());
    }
    three_periods_of(locks).await;
    let fleet = Fleet::start(3).await;
    let mut locks = Vec::new();
    for _ in 0..3 {
        locks.push(fleet.another_process().await.fenced_red_lock("report").boxed());
    }
    three_periods_of(locks).await;
}

/// All at once, and again and again: the first one that gets in does the work.
#[tokio::test]
async fn many_that_ask_at_the_same_time_are_one_run() {
    let server = RedisServer::start();
    let mut locks = Vec::new();
    for _ in 0..8 {
        locks.push(stranger(&server).await.lock("report"));
    }
    for period in 0..5 {
        let begun = Mutex::new(0);
        let work = async |_guard: &_| {
            *begun.lock().unwrap() += 1;
            Ok::<_, std::convert::Infallible>(())
        };
        let id = period.to_string();
        let asked = locks.iter().map(|lock| lock.once_for(&id, work));
        for once in join_all(asked).await {
            once.unwrap();
        }
        assert_eq!(*begun.lock().unwrap(), 1, "{period}");
    }
    ran(locks[0].when_due(&Cadence::once_for("another"), done).await);
}
