//! Both languages in one Redis Cluster, where Redisson announces releases by sharded pub/sub.

use testkit::{RedisServer, SlotCluster};

use crate::peers::{HANG, LONG_MS, Peer, Side, eventually};

#[test]
fn hand_overs_in_a_cluster_are_announced_by_shard_and_lose_none() {
    for (kind, channel) in [
        ("lock", "redisson_lock__channel:{x}"),
        ("fair", "redisson_lock__channel:{x}:*"),
        ("write", "redisson_rwlock:{x}"),
    ] {
        let cluster = SlotCluster::start(3);
        let [mut java, mut rust] = [Side::Java, Side::Rust].map(|side| start(side, &cluster));
        assert_eq!(java.ask(&acquire(kind)), "granted");
        for turn in 0..20 {
            let (holder, waiter) = match turn % 2 {
                0 => (&mut java, &mut rust),
                _ => (&mut rust, &mut java),
            };
            waiter.tell(&acquire(kind));
            eventually(|| listeners(&cluster, channel) > 0);
            holder.tell(&format!("release {kind} x a"));
            assert_eq!(waiter.answer_promptly(owner(&cluster)), "granted", "turn {turn} of {kind}");
            assert_eq!(holder.answer(HANG), "released");
            eventually(|| listeners(&cluster, channel) == 0);
        }
        let calls = |command: &str| (0..3).map(|n| cluster[n].calls_of(command)).sum::<u64>();
        assert!(calls("spublish") >= 20);
        assert_eq!((calls("publish"), calls("subscribe")), (0, 0));
    }
}

#[test]
fn release_of_redisson_wakes_palisade_where_the_slot_has_moved() {
    let cluster = SlotCluster::start(3);
    let [mut java, mut rust] = [Side::Java, Side::Rust].map(|side| start(side, &cluster));
    assert_eq!(java.ask(&acquire("lock")), "granted");
    rust.tell(&acquire("lock"));
    eventually(|| listeners(&cluster, "redisson_lock__channel:{x}") == 1);
    let slot = cluster.slot_of("x");
    cluster.move_slot(slot, (cluster.owner_of(slot) + 1) % 3);
    eventually(|| listeners(&cluster, "redisson_lock__channel:{x}") == 1);
    release_as_soon_as_it_can(&mut java);
    assert_eq!(rust.answer_promptly(owner(&cluster)), "granted");
}

/// While Redisson takes a slot from one of its servers to another, none has it: it fails, having sent
/// nothing.
fn release_as_soon_as_it_can(java: &mut Peer) {
    const NOBODY_SERVES_IT: [&str; 2] = ["hasn't been discovered yet", "\"entry\" is null"];
    eventually(|| {
        let answer = java.ask("release lock x a");
        let failed = NOBODY_SERVES_IT.iter().any(|reason| answer.contains(reason));
        assert!(failed || answer == "released", "{answer}");
        !failed
    });
}

fn start(side: Side, cluster: &SlotCluster) -> Peer {
    side.start_at(&[format!("redis+cluster://{}", cluster.hosts().join(","))], LONG_MS)
}

/// The server of the slot of the lock `x`.
fn owner(cluster: &SlotCluster) -> &RedisServer {
    &cluster[cluster.owner_of(cluster.slot_of("x"))]
}

/// How many channels like this have a listener there.
fn listeners(cluster: &SlotCluster, channel: &str) -> usize {
    owner(cluster).command(&["PUBSUB", "SHARDCHANNELS", channel]).array().len()
}

fn acquire(kind: &str) -> String {
    format!("acquire {kind} x a -1 {LONG_MS}")
}
