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
    /// A read lock by hand.
    FloorReading,
    /// The reading side of an `RwLock`.
    Reading,
    /// A write lock by hand.
    FloorWriting,
    /// The writing side of an `RwLock`.
    Writing,
    /// A fair lock by hand.
    FloorFair,
    /// A `FairLock`.
    Fair,
    /// A semaphore with leases by hand.
    FloorExpirable,
    /// An `ExpirableSemaphore`.
    Expirable,
}

impl Spinner {
    /// If it is one of the other kinds: which, and whether it is by hand.
    const fn of_kind(self) -> Option<(Kind, bool)> {
        Some(match self {
            Self::FloorSemaphore => (Kind::Semaphore, true),
            Self::Semaphore => (Kind::Semaphore, false),
            Self::FloorReading => (Kind::Reading, true),
            Self::Reading => (Kind::Reading, false),
            Self::FloorWriting => (Kind::Writing, true),
            Self::Writing => (Kind::Writing, false),
            Self::FloorFair => (Kind::Fair, true),
            Self::Fair => (Kind::Fair, false),
            Self::FloorExpirable => (Kind::Expirable, true),
            Self::Expirable => (Kind::Expirable, false),
            _ => return None,
        })
    }
}

/// So many pairs, of all tasks together.
pub(crate) async fn spin(what: Spinner, tasks: usize, pairs: usize) {
    use Spinner::{Floor1, Floor3, Floor5, Lock, Red3, Red5};
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
        other => match other.of_kind() {
            Some((kind, true)) => repeat(ByHand::connect(kind, &url, &names).await, pairs).await,
            Some((kind, false)) => repeat(OfKind::connect(kind, &url, &names).await, pairs).await,
            None => unreachable!("all others are kinds"),
        },
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
