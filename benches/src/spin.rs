//! One thing again and again, for `perf record` and `valgrind --tool=callgrind`.

use clap::ValueEnum;
use futures::future::join_all;
use testkit::Cluster;

use crate::{
    block::Pair,
    floor::{Floor, Nodes, Quorum, kinds::ByHand},
    kinds::{Kind, OfKind},
    locks::{Red, Single, names},
};

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Spinner {
    /// One node by hand.
    Floor1,
    /// A `Lock`.
    Lock,
    /// Three nodes by hand, until two have answered.
    Floor3,
    /// A `RedLock` of three.
    Red3,
    /// Five nodes by hand, until three have answered.
    Floor5,
    /// A `RedLock` of five.
    Red5,
    /// A semaphore by hand.
    FloorSemaphore,
    /// A `Semaphore`.
    Semaphore,
    /// A write lock by hand.
    FloorWriting,
    /// The writing side of an `RwLock`.
    Writing,
}

/// So many pairs, of all tasks together.
pub(crate) async fn spin(what: Spinner, tasks: usize, pairs: usize) {
    use Spinner::{
        Floor1, Floor3, Floor5, FloorSemaphore, FloorWriting, Lock, Red3, Red5, Semaphore, Writing,
    };
    let servers = Cluster::start(match what {
        Floor3 | Red3 => 3,
        Floor5 | Red5 => 5,
        _ => 1,
    });
    let (urls, url) = (servers.urls(), servers[0].url());
    let names = names("spin", tasks);
    match what {
        Floor1 => repeat(Floor::connect(&url, &names).await, pairs).await,
        Lock => repeat(Single::connect(&url, &names).await, pairs).await,
        Floor3 | Floor5 => {
            let nodes = Nodes::connect(&urls, &names).await;
            repeat(nodes.into_iter().map(Quorum).collect(), pairs).await;
        }
        Red3 | Red5 => repeat(Red::connect(&urls, &names).await, pairs).await,
        FloorSemaphore => repeat(ByHand::connect(Kind::Semaphore, &url, &names).await, pairs).await,
        Semaphore => repeat(OfKind::connect(Kind::Semaphore, &url, &names).await, pairs).await,
        FloorWriting => repeat(ByHand::connect(Kind::Writing, &url, &names).await, pairs).await,
        Writing => repeat(OfKind::connect(Kind::Writing, &url, &names).await, pairs).await,
    }
}

async fn repeat(tasks: Vec<impl Pair>, pairs: usize) {
    let each = pairs / tasks.len();
    let spun = tasks.into_iter().map(|mut what| {
        tokio::spawn(async move {
            for _ in 0..each {
                what.pair().await;
            }
        })
    });
    for task in join_all(spun).await {
        task.expect("a pair does not panic");
    }
}
