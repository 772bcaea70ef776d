//! All that want something while slots move.

use std::{sync::Arc, time::Duration};

use palisade::{Client, error::BlessError};
use testkit::SlotCluster;
use tokio::task::JoinSet;

use crate::{
    course::Course,
    moves::{GOES, Moves},
    passing::{Place, count_down},
    wanted::Kind,
    within,
};

/// Of each kind, for each way to publish. With [`LATCHES`], 100.
const LOCKS: [(Kind, usize); 6] = [
    (Kind::Plain, 22),
    (Kind::Fenced, 16),
    (Kind::Fair, 16),
    (Kind::Rw, 16),
    (Kind::Permit, 10),
    (Kind::Leased, 10),
];
/// The same of latches.
pub(crate) const LATCHES: usize = 10;

/// For each way to publish two clients, which want the same, so that each is told by the other.
pub(crate) struct Crowd {
    course: Arc<Course>,
    clients: Vec<Client>,
    pub(crate) places: Vec<Arc<Place>>,
    users: JoinSet<()>,
    latches: JoinSet<u64>,
}

impl Crowd {
    /// All have begun when it is there.
    pub(crate) async fn gather(moves: &Moves, course: &Arc<Course>) -> Self {
        let (clients, places, users, latches) = Default::default();
        let mut crowd = Self { course: course.clone(), clients, places, users, latches };
        for is_sharded in [true, false] {
            let cluster = &moves.cluster;
            let pair =
                [connect(cluster, 0, is_sharded).await, connect(cluster, 1, is_sharded).await];
            crowd.pass_on(&pair, moves, is_sharded);
            crowd.keep(&pair, moves, is_sharded);
            for name in moves.latches.iter().skip(usize::from(is_sharded)).step_by(2) {
                crowd.latches.spawn(count_down(name.clone(), pair.clone(), course.clone()));
            }
            crowd.clients.extend(pair);
        }
        within(crowd.has_begun()).await;
        crowd
    }

    fn pass_on(&mut self, pair: &[Client; 2], moves: &Moves, is_sharded: bool) {
        for (kind, count) in LOCKS {
            let tags = if kind.is_counted() { &moves.safe } else { &moves.tags };
            for n in 0..count {
                let tag = &tags[n % tags.len()];
                self.contend(pair, format!("{{{tag}}} {kind:?} {n} {is_sharded}"), kind, false);
            }
        }
    }

    /// In the slot that is half moved: what is kept until it is moved, and what needs one key, and is passed
    /// on all the time. A writer that keeps it may lose it, and is not there.
    fn keep(&mut self, pair: &[Client; 2], moves: &Moves, is_sharded: bool) {
        let tag = &moves.stuck;
        for whither in [GOES, "stays"] {
            for kind in Kind::ALL {
                self.contend(
                    pair,
                    format!("{{{tag}}} {kind:?} {whither} {is_sharded}"),
                    kind,
                    true,
                );
            }
            let name = format!("{{{tag}}} {PASSED_ON} {whither} {is_sharded}");
            self.contend(pair, name, Kind::Plain, false);
        }
    }

    fn contend(&mut self, pair: &[Client; 2], name: String, kind: Kind, is_kept: bool) {
        let place = Place::new(name, kind, is_kept, &self.course);
        for (client, is_first) in pair.iter().zip([true, false]) {
            self.users.spawn(place.clone().contend(client.clone(), is_first));
        }
        self.places.push(place);
    }

    async fn has_begun(&self) {
        while !self.places.iter().all(|place| place.grants() > 0) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// How often those were granted that are passed on in the slot that is half moved.
    pub(crate) fn passed_on(&self) -> Vec<u64> {
        let passed_on = self.places.iter().filter(|place| place.name.contains(PASSED_ON));
        passed_on.map(|place| place.grants()).collect()
    }

    /// Waits until nothing is wanted any more. How often each was granted, and each latch passed.
    pub(crate) async fn leave(mut self) -> Vec<(String, u64)> {
        while let Some(user) = within(self.users.join_next()).await {
            user.unwrap();
        }
        let rounds = within(self.latches.join_all()).await;
        for client in self.clients {
            within(client.shutdown(Duration::from_secs(60))).await.unwrap();
        }
        let places = self.places.iter().map(|place| (place.name.clone(), place.grants()));
        places.chain(rounds.into_iter().map(|rounds| ("a latch".to_owned(), rounds))).collect()
    }
}

/// A client that does not stand in one line with another, which names the cluster differently.
async fn connect(cluster: &SlotCluster, first: usize, is_sharded: bool) -> Client {
    let mut hosts = cluster.hosts();
    hosts.rotate_left(first);
    let settings = Client::builder()
        .cluster(hosts)
        .sharded_pubsub(is_sharded)
        .fleet_max_lease(LEASE)
        .watchdog_lease(LEASE)
        .clock_skew(Duration::from_millis(200))
        .node_timeout(Duration::from_secs(2))
        .connect_timeout(Duration::from_secs(5));
    let client = within(settings.connect()).await.unwrap();
    match client.bless().await {
        Ok(()) | Err(BlessError::Old { .. } | BlessError::BlessedBefore { .. }) => client,
        Err(other) => panic!("{other}"),
    }
}

/// What has to be renewed while a slot is half moved, and outlives a machine that stands still for a while.
pub(crate) const LEASE: Duration = Duration::from_secs(20);
/// In the names of locks of the slot that is half moved that are not kept.
const PASSED_ON: &str = "passed on";
