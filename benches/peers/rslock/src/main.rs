//! rslock's side: `rslock-peer <runtime> <tasks> <url>…`, then a block for each line of stdin.

use std::{env, time::Duration};

use palisade_benches::{Flavour, Pair, serve};
use rslock::LockManager;

fn main() {
    let args: Vec<_> = env::args().skip(1).collect();
    let [runtime, tasks, _lock, urls @ ..] = &args[..] else {
        panic!("<runtime> <tasks> lock <url>…")
    };
    let flavour = match runtime.as_str() {
        "current-thread" => Flavour::CurrentThread,
        _ => Flavour::MultiThread,
    };
    let locks = LockManager::new(urls.to_vec());
    let tasks: usize = tasks.parse().expect("how many tasks");
    let of_task = |i| Peer { locks: locks.clone(), name: format!("rslock:{i}") };
    flavour.runtime().block_on(serve((0..tasks).map(of_task).collect()));
}

#[derive(Clone)]
struct Peer {
    locks: LockManager,
    name: String,
}

impl Pair for Peer {
    async fn pair(&mut self) {
        let lock =
            self.locks.lock(self.name.as_bytes(), LEASE).await.expect("nobody else wants it");
        self.locks.unlock(&lock).await;
    }
}

/// As long as palisade's.
const LEASE: Duration = Duration::from_secs(30);
