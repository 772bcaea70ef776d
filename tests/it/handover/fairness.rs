//! Others get their turns, however many wait in one process.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use palisade::{Client, settings::LocalHandover};
use testkit::RedisServer;
use tokio::{io::AsyncWriteExt, net::TcpStream, task::JoinSet};

use crate::support::{client, ms, patient, soon};

/// Tasks of one process that take the lock from each other without a break.
struct Crowd {
    tasks: JoinSet<()>,
    is_over: Arc<AtomicBool>,
    sections: Arc<AtomicU32>,
}

impl Crowd {
    fn of(client: &Client, size: usize) -> Self {
        let (is_over, sections) = (Arc::<AtomicBool>::default(), Arc::<AtomicU32>::default());
        let mut tasks = JoinSet::new();
        for _ in 0..size {
            let (lock, is_over, sections) = (client.lock("x"), is_over.clone(), sections.clone());
            tasks.spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    let guard = lock.acquire().await.unwrap();
                    sections.fetch_add(1, Ordering::Relaxed);
                    guard.release().await.unwrap();
                }
            });
        }
        Self { tasks, is_over, sections }
    }

    /// Until it is in full swing.
    async fn runs(&self) {
        let begun = self.sections.load(Ordering::Relaxed);
        soon(async {
            while self.sections.load(Ordering::Relaxed) < begun + 100 {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    async fn ends(mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        while let Some(ended) = soon(self.tasks.join_next()).await {
            ended.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiter_of_another_process_gets_in_again_and_again() {
    let server = RedisServer::start();
    let crowd = Crowd::of(&client(&server).await, 16);
    crowd.runs().await;
    let other = client(&server).await;
    for _ in 0..20 {
        let guard = soon(other.lock("x").acquire()).await.unwrap();
        crowd.runs_on_after(guard).await;
    }
    crowd.ends().await;
}

impl Crowd {
    async fn runs_on_after(&self, guard: palisade::LockGuard) {
        guard.release().await.unwrap();
        self.runs().await;
    }
}

/// It cannot be counted among the listeners.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_tries_now_and_then_gets_in() {
    let server = RedisServer::start();
    let crowd = Crowd::of(&client(&server).await, 16);
    crowd.runs().await;
    let other = client(&server).await;
    let tries = async {
        loop {
            if let Some(guard) = other.lock("x").try_acquire().await.unwrap() {
                return guard;
            }
            tokio::time::sleep(ms(10)).await;
        }
    };
    soon(tries).await.release().await.unwrap();
    crowd.ends().await;
}

/// One that listens and never asks is found out, and slows no other down.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_who_only_listens_is_not_waited_for() {
    let server = RedisServer::start();
    let busy = client(&server).await;
    let crowd = Crowd::of(&busy, 16);
    crowd.runs().await;
    let mut onlooker = TcpStream::connect(server.addr()).await.unwrap();
    onlooker.write_all(b"SUBSCRIBE redisson_lock__channel:{x}\r\n").await.unwrap();
    let sections = || crowd.sections.load(Ordering::Relaxed);
    let (before, begun) = (server.calls_of("publish"), sections());
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (releases, sections) = (server.calls_of("publish") - before, sections() - begun);
    // At the limit of 50 ms there are 40 in two seconds; a slice is one millisecond.
    assert!(releases < 400, "{releases} releases for {sections} sections");
    crowd.ends().await;
}

#[tokio::test]
async fn bounds_of_the_limit_are_told_before_anything_is_sent() {
    let server = RedisServer::start();
    for limit in [Duration::ZERO, Duration::from_secs(11), Duration::MAX] {
        let refused = patient(&server).local_handover(LocalHandover::UpTo(limit)).build();
        let told = refused.unwrap_err().to_string();
        assert!(told.contains("local_handover"), "{told}");
    }
}
