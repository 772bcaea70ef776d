//! Masters that have replicas, behind sentinels and in a cluster.

use testkit::{RedisServer, Sentinels, SlotCluster};

use crate::support::tool::{palisade, run};

const OUTAGE: i32 = 69;
/// Distinct from the code of an outage.
const NOT_YET: i32 = 73;

/// A new deployment is blessed, and a lock of it held through the death of its master.
fn outlives_its_master(url: String, lose_master: impl FnOnce()) {
    let urls = [url];
    let young = run(&urls, "-n", "exit 3").finish();
    assert_eq!(young.code(), NOT_YET, "{young:?}");
    let blessed = palisade(&["bless", "--new", "-s", &urls[0]]).finish();
    assert_eq!(blessed.code(), 0, "{blessed:?}");
    // With a limit, as a server that is late by chance is asked once more.
    let holder = run(&urls, "-w 50", "echo $PALISADE_HOLDER; read line; exit 0").start();
    let id = holder.line();
    let inspect = || palisade(&["inspect", "-s", &urls[0], "name"]).finish();
    let held = inspect();
    assert!(held.output.iter().any(|line| line.contains(&id)), "{held:?}");
    assert!(held.output.iter().any(|line| line.contains("cut off")), "{held:?}");
    let lagging = ["inspect", "-s", &urls[0], "--failover-lag", "2s", "name"];
    let guarded = palisade(&lagging).finish();
    assert!(!guarded.output.iter().any(|line| line.contains("cut off")), "{guarded:?}");
    lose_master();
    let held_still = inspect();
    assert!(held_still.output.iter().any(|line| line.contains(&id)), "{held_still:?}");
    // The new master may have forgotten what others hold.
    let other = run(&urls, "-n", "exit 3").finish();
    assert_eq!(other.code(), NOT_YET, "{other:?}");
    assert_eq!(holder.finish().code(), 0);
}

#[test]
fn lock_behind_sentinels_outlives_its_master() {
    let (master, replica) = (RedisServer::start(), RedisServer::start());
    replica.follow(&master);
    let sentinels = Sentinels::over(master.addr(), 1, 3);
    let url = format!("redis+sentinel://{}/{}", sentinels.hosts().join(","), Sentinels::SERVICE);
    outlives_its_master(url, || {
        master.kill();
        sentinels.replace(master.port());
    });
}

#[test]
fn lock_of_a_cluster_outlives_its_master() {
    let cluster = SlotCluster::replicated(3).patient();
    outlives_its_master(format!("redis+cluster://{}", cluster.hosts().join(",")), || {
        let master = cluster.owner_of(cluster.slot_of("name"));
        cluster.kill(master);
        cluster.replace(master);
    });
}

#[test]
fn lock_counts_once_replicas_have_it() {
    let (master, replica) = (RedisServer::start(), RedisServer::start());
    replica.follow(&master);
    let urls = [master.url()];
    let replicated = |command: &str| {
        let mut words = vec!["run", "-s", &urls[0], "-n", "--replicas", "1", "name"];
        words.extend(["--", "sh", "-c", command]);
        palisade(&words).finish()
    };
    assert_eq!(replicated("exit 3").code(), 3);
    replica.freeze();
    let refused = replicated("exit 3");
    assert_eq!(refused.code(), OUTAGE, "{refused:?}");
    assert!(format!("{refused:?}").contains("0 of the 1 replicas"), "{refused:?}");
    let too_many = palisade(&["inspect", "-s", &urls[0], "--replicas", "1001", "name"]).finish();
    assert_eq!(too_many.code(), 64, "{too_many:?}");
}
