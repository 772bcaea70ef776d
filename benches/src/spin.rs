//! One thing again and again, for `perf record` and `valgrind --tool=callgrind`.

use clap::ValueEnum;
use testkit::Cluster;

use crate::{
    compare::Pair,
    floor::{Floor, Parallel},
    locks::{Red, Single},
};

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Spinner {
    /// One node by hand.
    Floor1,
    /// A `Lock`.
    Lock,
    /// Three nodes by hand.
    Floor3,
    /// A `RedLock` of three.
    Red3,
    /// Five nodes by hand.
    Floor5,
    /// A `RedLock` of five.
    Red5,
}

pub(crate) async fn spin(what: Spinner, pairs: usize) {
    let servers = Cluster::start(match what {
        Spinner::Floor1 | Spinner::Lock => 1,
        Spinner::Floor3 | Spinner::Red3 => 3,
        Spinner::Floor5 | Spinner::Red5 => 5,
    });
    let name = [String::from("spin")];
    match what {
        Spinner::Floor1 => repeat(Floor::connect(&servers[0], name).await.remove(0), pairs).await,
        Spinner::Lock => repeat(Single::connect(&servers[0], name).await.remove(0), pairs).await,
        Spinner::Floor3 | Spinner::Floor5 => repeat(Parallel::connect(&servers).await, pairs).await,
        Spinner::Red3 | Spinner::Red5 => repeat(Red::connect(&servers).await, pairs).await,
    }
}

async fn repeat(mut what: impl Pair, pairs: usize) {
    let spun = tokio::spawn(async move {
        for _ in 0..pairs {
            what.pair().await;
        }
    });
    spun.await.expect("a pair does not panic");
}
