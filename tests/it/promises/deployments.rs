//! What a deployment could make different, on real servers: one by itself, one behind sentinels, one whose replica is
//! waited for, and a cluster.
//!
//! A row is a promise, a column a deployment, and each cell tries all kinds at once, each under a name of its own.
//! What is decided in the process alone (leases, owners, limits) cannot differ here, and is in the other table only.

use std::time::Duration;

use futures::future::{join, join_all};
use palisade::{AcquireError, Client, ClientBuilder, LockGuard, Masters, ReleaseError};
use testkit::{RedisServer, SlotCluster};

use super::kinds::{Held, Kind, Subject};
use crate::{
    deployment::{Replicated, cluster},
    support::{HANG, LONG_LEASE, eventually, ms, patient, polled, soon},
};

/// Those of one client. `Masters` are several deployments, and each of these is one.
const KINDS: [Kind; 11] = [
    Kind::Lock,
    Kind::Namespaced,
    Kind::Striped,
    Kind::Fenced,
    Kind::Fair,
    Kind::Write,
    Kind::Read,
    Kind::Semaphore,
    Kind::Expirable,
    Kind::Latch,
    Kind::Stripes,
];

/// With a server that is there, and that all kinds ask at once: no machine is so busy.
const PATIENCE: Duration = Duration::from_secs(20);

/// Two clients of one deployment.
struct Field {
    here: Masters,
    there: Masters,
}

/// One kind there, as each of the two knows it.
struct Cell {
    kind: Kind,
    ours: Box<dyn Subject>,
    theirs: Box<dyn Subject>,
}

impl Field {
    async fn of(settings: ClientBuilder) -> Self {
        let [here, there] = [settings.clone(), settings].map(|settings| async move {
            let client: Client = soon(settings.connect()).await.unwrap();
            Masters::new([client]).unwrap()
        });
        Self { here: here.await, there: there.await }
    }

    /// All kinds, ready to be acquired.
    async fn cells(&self) -> Vec<Cell> {
        let cells = KINDS.map(|kind| async move {
            soon(kind.prepare(&self.here.clients()[0])).await;
            Cell { kind, ours: kind.of(&self.here), theirs: kind.of(&self.there) }
        });
        join_all(cells).await
    }
}

impl Cell {
    /// Readers hold it together.
    fn excludes(&self) -> bool {
        self.kind != Kind::Read
    }
}

async fn held_one_is_refused_and_its_release_lets_the_next_in(field: &Field) {
    let cells = field.cells().await;
    join_all(cells.iter().map(|cell| async move {
        let held = soon(cell.ours.acquire()).await.unwrap();
        if cell.excludes() {
            assert!(soon(cell.theirs.try_acquire()).await.unwrap().is_none(), "{:?}", cell.kind);
        }
        let ((), next) = soon(join(held.release(), cell.theirs.acquire())).await;
        soon(next.unwrap().release()).await;
    }))
    .await;
}

async fn many_wait_and_all_are_served(field: &Field) {
    let cells = field.cells().await;
    join_all(cells.iter().map(|cell| async move {
        let held = soon(cell.ours.acquire()).await.unwrap();
        let waits = (0..6).map(|number| async move {
            let lock = if number & 1 == 0 { &cell.theirs } else { &cell.ours };
            soon(soon(lock.acquire()).await.unwrap().release()).await;
        });
        join(join_all(waits), held.release()).await;
    }))
    .await;
}

async fn dropped_acquire_keeps_no_one_out(field: &Field) {
    let cells = field.cells().await;
    let cells = cells.iter().filter(|cell| cell.kind != Kind::Latch);
    join_all(cells.map(|cell| async move {
        for polls in 1..4 {
            polled(cell.ours.acquire(), polls).await;
            soon(soon(cell.theirs.acquire()).await.unwrap().release()).await;
        }
    }))
    .await;
}

/// Of one server. Readers keep to the longest lease of Redisson's, too.
fn alone(server: &RedisServer) -> ClientBuilder {
    patient(server).redisson_watchdog(LONG_LEASE)
}

/// A test for each promise on each deployment.
macro_rules! on_deployments {
    ($($promise:ident: $alone:ident, $watched:ident, $replicated:ident, $clustered:ident;)*) => { $(
        #[tokio::test]
        async fn $alone() {
            let server = RedisServer::start();
            $promise(&Field::of(alone(&server)).await).await;
        }

        #[tokio::test]
        async fn $watched() {
            let redis = Replicated::start().await;
            $promise(&Field::of(redis.settings().node_timeout(PATIENCE)).await).await;
        }

        #[tokio::test]
        async fn $replicated() {
            let (master, replica) = (RedisServer::start(), RedisServer::start());
            replica.follow(&master);
            eventually(|| master.command(&["WAIT", "1", "10"]).int() == 1).await;
            $promise(&Field::of(alone(&master).replicas(1)).await).await;
        }

        #[tokio::test]
        async fn $clustered() {
            let cluster = SlotCluster::start(3);
            $promise(&Field::of(cluster::settings(&cluster).node_timeout(PATIENCE)).await).await;
        }
    )* };
}

on_deployments! {
    held_one_is_refused_and_its_release_lets_the_next_in:
        next_gets_in_on_one_server,
        next_gets_in_behind_sentinels,
        next_gets_in_beside_a_replica,
        next_gets_in_in_a_cluster;
    many_wait_and_all_are_served:
        all_are_served_on_one_server,
        all_are_served_behind_sentinels,
        all_are_served_beside_a_replica,
        all_are_served_in_a_cluster;
    dropped_acquire_keeps_no_one_out:
        dropped_acquire_leaves_one_server_free,
        dropped_acquire_leaves_what_sentinels_watch_free,
        dropped_acquire_leaves_a_replicated_one_free,
        dropped_acquire_leaves_a_cluster_free;
}

/// A hold is renewed on the replica, its release is heard there, and what waits for the votes there gets in.
///
/// Nothing holds a latch. A permit without a lease comes back by its release alone, and that may be lost here.
#[tokio::test]
async fn planned_failover_ends_no_hold_that_has_a_lease() {
    let redis = Replicated::start().await;
    let field = Field::of(redis.settings()).await;
    let cells = field.cells().await;
    let cells = cells.iter().filter(|cell| !matches!(cell.kind, Kind::Latch | Kind::Semaphore));
    let cells: Vec<_> = cells.collect();
    let holds = join_all(cells.iter().map(|cell| soon(cell.ours.acquire()))).await;
    redis.replicated().await;
    redis.sentinels.fail_over();
    join_all(cells.iter().zip(holds).map(|(cell, hold)| async move {
        released_sometime(hold.unwrap().into_guard(), cell.kind).await;
        // The votes count once the longest lease is over. What is not confirmed ends with its lease.
        let granted = tokio::time::timeout(3 * HANG, granted_where_it_stays(&*cell.theirs)).await;
        granted.unwrap_or_else(|_| panic!("{:?} is not granted", cell.kind));
    }))
    .await;
}

/// While a client still asks the old master, its release is not confirmed, and goes on in the background.
async fn released_sometime(guard: LockGuard, kind: Kind) {
    assert!(guard.is_held(), "{kind:?}");
    if let Err(error) = soon(guard.release()).await {
        assert!(matches!(error, ReleaseError::Unconfirmed { .. }), "{kind:?}: {error:?}");
    }
}

/// What the old master granted in its last moment may be lacking on the new one, which then tells of the loss.
async fn granted_where_it_stays(lock: &dyn Subject) {
    loop {
        let guard = granted_sometime(lock).await.into_guard();
        match soon(guard.release()).await {
            Ok(_) => return,
            Err(ReleaseError::Lost(_) | ReleaseError::Unconfirmed { .. }) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// Once its client has found the new master, and the votes there count.
async fn granted_sometime(lock: &dyn Subject) -> Held {
    loop {
        match lock.acquire().await {
            Ok(held) => return held,
            Err(AcquireError::Unavailable { .. } | AcquireError::Quarantined { .. }) => {
                tokio::time::sleep(ms(50)).await;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}
