//! Holds that outlive their master.

use palisade::{AnyGuard, Client, Lease, LostCause, MultiLock, RedLock, settings::Failover};
use testkit::RedisServer;

use super::sentinel::{LEASE, Replicated, is_quarantined};
use crate::support::{Look, eventually, patient, soon, watchdog};

impl Replicated {
    /// The replica hears nothing any more; what is granted from now on it does not have.
    async fn cut_off(&self) {
        let nobody = self.replica.port().to_string();
        self.replica.cli(&["REPLICAOF", "127.0.0.1", &nobody]);
        eventually(|| self.master.cli(&["INFO", "replication"]).contains("connected_slaves:0"))
            .await;
    }

    /// The master dies, and the replica takes its place.
    fn fail(&self) {
        self.master.kill();
        self.sentinels.replace(self.master.port());
    }
}

// proves: no-forgetful-vote
#[tokio::test]
async fn hold_that_was_not_replicated_is_written_again() {
    let redis = Replicated::start().await;
    let (client, other) = (redis.client().await, redis.client().await);
    redis.cut_off().await;
    let guard = soon(client.fenced_lock("x").acquire()).await.unwrap();
    redis.fail();
    eventually(|| redis.replica.exists("x")).await;
    assert_eq!(redis.replica.hash("x").keys().collect::<Vec<_>>(), [guard.holder_id()]);
    let written = guard.deadline();
    eventually(|| guard.deadline() > written).await;
    assert!(guard.ensure_valid().is_ok());
    let refused = soon(other.fenced_lock("x").try_acquire()).await.unwrap_err();
    assert!(is_quarantined(&refused), "{refused:?}");
    let token = guard.fencing_token();
    guard.release().await.unwrap();
    assert!(!redis.replica.exists("x"));
    let next = soon(other.fenced_lock("x").acquire()).await.unwrap();
    assert!(next.fencing_token() > token);
    next.release().await.unwrap();
}

#[tokio::test]
async fn fixed_lease_is_written_again_for_what_is_left_of_it() {
    let redis = Replicated::start().await;
    let client = redis.client().await;
    redis.cut_off().await;
    let lock = client.lock("x").with_lease(Lease::Fixed(LEASE));
    let guard = soon(lock.acquire()).await.unwrap();
    let deadline = guard.deadline();
    redis.fail();
    eventually(|| redis.replica.exists("x")).await;
    let left = || i64::try_from(guard.remaining().as_millis()).unwrap();
    let (at_most, ttl, at_least) = (left(), redis.replica.pttl("x"), left());
    // Longer than the deadline is away by how far clocks drift over the whole lease: 152 ms.
    assert!((at_least + 100..at_most + 500).contains(&ttl), "{ttl} of {at_least} to {at_most}");
    assert_eq!(guard.deadline(), deadline);
    assert_eq!(soon(guard.lost()).await, LostCause::Expired);
}

#[tokio::test]
async fn composites_outlive_it_too() {
    let (redis, second, third) =
        (Replicated::start().await, RedisServer::start(), RedisServer::start());
    let clients = [
        redis.client().await,
        patient(&second).connect().await.unwrap(),
        patient(&third).connect().await.unwrap(),
    ];
    redis.cut_off().await;
    let lease = watchdog(15_000);
    let members = |name| clients.iter().map(move |client| client.lock(name));
    let all = MultiLock::new(members("all")).unwrap().with_lease(lease);
    let most = RedLock::new(members("most")).unwrap().with_lease(lease);
    let (all, most) = (soon(all.acquire()).await.unwrap(), soon(most.acquire()).await.unwrap());
    redis.fail();
    eventually(|| redis.replica.exists("all") && redis.replica.exists("most")).await;
    let (written, written_most) = (all.deadline(), most.deadline());
    eventually(|| all.deadline() > written && most.deadline() > written_most).await;
    assert_eq!((all.votes(), most.votes()), (3, 3));
    all.release().await.unwrap();
    most.release().await.unwrap();
    eventually(|| !redis.replica.exists("all") && !redis.replica.exists("most")).await;
}

#[tokio::test]
async fn hold_in_whose_place_another_stands_is_lost() {
    let redis = Replicated::start().await;
    let client = redis.client().await;
    redis.cut_off().await;
    let guard = soon(client.lock("x").acquire()).await.unwrap();
    redis.replica.cli(&["CONFIG", "SET", "replica-read-only", "no"]);
    redis.replica.cli(&["HSET", "x", "another", "1"]);
    redis.fail();
    assert_eq!(soon(guard.lost()).await, LostCause::Taken);
    drop(guard);
    assert_eq!(redis.replica.hash("x").len(), 1);
}

#[tokio::test]
async fn hold_that_was_not_replicated_is_lost_where_the_promoted_is_trusted() {
    let redis = Replicated::start().await;
    let client: Client = redis.settings().failover(Failover::Trust).connect().await.unwrap();
    redis.cut_off().await;
    let guard = soon(client.lock("x").acquire()).await.unwrap();
    redis.fail();
    assert_eq!(soon(guard.lost()).await, LostCause::Gone);
    assert!(!redis.replica.exists("x"));
}

#[tokio::test]
async fn lock_that_is_forced_open_on_the_promoted_master_stays_open() {
    let redis = Replicated::start().await;
    let client = redis.client().await;
    let guard = soon(client.lock("x").acquire()).await.unwrap();
    redis.fail();
    let before = guard.deadline();
    eventually(|| guard.deadline() > before).await;
    redis.replica.cli(&["DEL", "x"]);
    assert_eq!(soon(guard.lost()).await, LostCause::Gone);
    assert!(!redis.replica.exists("x"));
}
