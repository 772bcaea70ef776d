//! Releases in a Redis Cluster that are announced only to waiters where the slot is.

use std::time::Duration;

use futures::future::join_all;
use palisade::{
    AnyGuard, AnyLock, Client, ClientBuilder, LockGuard, OnOutage,
    acl::{Rights, Use},
    settings::Failover,
};
use testkit::SlotCluster;
use tokio::task::JoinHandle;

use crate::support::{eventually, promptly, soon};

/// Longer than a waiter sleeps that hears nothing.
const LONG: Duration = Duration::from_secs(45);

fn settings(cluster: &SlotCluster) -> ClientBuilder {
    Client::builder()
        .cluster(cluster.hosts())
        .failover(Failover::Trust)
        .watchdog_lease(LONG)
        .redisson_watchdog(LONG)
        .node_timeout(Duration::from_secs(2))
        .connect_timeout(Duration::from_secs(5))
}

async fn client(cluster: &SlotCluster) -> Client {
    soon(settings(cluster).connect()).await.unwrap()
}

fn channel(name: &str) -> String {
    format!("redisson_lock__channel:{{{name}}}")
}

/// How many listen to a channel there.
fn listeners(cluster: &SlotCluster, server: usize, channel: &str) -> i64 {
    cluster[server].command(&["PUBSUB", "SHARDNUMSUB", channel]).array()[1].int()
}

/// All calls of a command that the masters of the beginning were given.
fn calls_of(cluster: &SlotCluster, command: &str) -> u64 {
    (0..3).map(|n| cluster[n].calls_of(command)).sum()
}

/// If it does not, what is connected there says by its name and its last command which of them it was.
#[track_caller]
fn announces_by_shard_only(cluster: &SlotCluster) {
    let clients = || (0..3).map(|n| cluster[n].cli(&["CLIENT", "LIST"])).collect::<String>();
    let plain = ["publish", "subscribe"].map(|command| calls_of(cluster, command));
    assert_eq!(plain, [0, 0], "{}", clients());
}

fn owner(cluster: &SlotCluster, key: &str) -> usize {
    cluster.owner_of(cluster.slot_of(key))
}

/// Another master than the one that has the key's slot.
fn another(cluster: &SlotCluster, key: &str) -> usize {
    (owner(cluster, key) + 1) % 3
}

type Waiter<G> = JoinHandle<Result<G, palisade::AcquireError>>;

/// Waits for a lock of `client`, and listens by now where its slot is.
async fn waiter(cluster: &SlotCluster, client: &Client, name: &str) -> Waiter<LockGuard> {
    let lock = client.lock(name).on_outage(OnOutage::Wait);
    let waiter = tokio::spawn(async move { lock.acquire().await });
    listens(cluster, name).await;
    waiter
}

async fn listens(cluster: &SlotCluster, name: &str) {
    eventually(|| listeners(cluster, owner(cluster, name), &channel(name)) == 1).await;
}

/// A waiter is granted what is released, long before it would look by itself.
async fn passes<G: AnyGuard>(cluster: &SlotCluster, held: G, waiter: Waiter<G>) {
    assert!(!waiter.is_finished());
    soon(held.release()).await.unwrap();
    let server = &cluster[owner(cluster, "x")];
    let next = promptly(server, waiter).await.unwrap().unwrap();
    soon(next.release()).await.unwrap();
}

/// That nothing is listened to any more.
async fn nobody_listens(cluster: &SlotCluster, servers: impl Iterator<Item = usize> + Clone) {
    let channels = |n: usize| cluster[n].command(&["PUBSUB", "SHARDCHANNELS"]).array().len();
    eventually(|| servers.clone().all(|n| channels(n) == 0)).await;
}

#[tokio::test]
async fn release_wakes_a_waiter_by_shard_or_by_all_as_is_said() {
    let cluster = SlotCluster::start(3);
    for (said, is_sharded) in [(None, true), (Some(true), true), (Some(false), false)] {
        let settings = || match said {
            Some(sharded) => settings(&cluster).sharded_pubsub(sharded),
            None => settings(&cluster),
        };
        let (here, there) = (settings().connect(), settings().connect());
        let (here, there) = (soon(here).await.unwrap(), soon(there).await.unwrap());
        let before = ["spublish", "ssubscribe", "publish", "subscribe"];
        let before = before.map(|command| (command, calls_of(&cluster, command)));
        let guard = soon(here.lock("x").acquire()).await.unwrap();
        let lock = there.lock("x");
        let waiter = tokio::spawn(async move { lock.acquire().await });
        let plain = || {
            let on = |n: usize| {
                cluster[n].command(&["PUBSUB", "NUMSUB", &channel("x")]).array()[1].int()
            };
            (0..3).map(on).sum::<i64>()
        };
        let sharded = || listeners(&cluster, owner(&cluster, "x"), &channel("x"));
        eventually(|| (sharded(), plain()) == if is_sharded { (1, 0) } else { (0, 1) }).await;
        passes(&cluster, guard, waiter).await;
        for (command, calls) in before {
            let is_used = command.starts_with('s') && command != "subscribe";
            let grew = calls_of(&cluster, command) > calls;
            assert_eq!(grew, is_used == is_sharded, "{command} {said:?}");
        }
        // The preloaded scripts are those that are used.
        assert_eq!(calls_of(&cluster, "eval"), 0);
        eventually(|| (sharded(), plain()) == (0, 0)).await;
    }
}

/// One is held under a name, and the same waited for under it.
async fn announces<L: AnyLock + 'static>(of: impl Fn(&Client, &str) -> L, is_listened_to: &str)
where
    L::Guard: 'static,
{
    let cluster = SlotCluster::start(3);
    let (here, there) = (client(&cluster).await, client(&cluster).await);
    let guard = soon(of(&here, "x").acquire()).await.unwrap();
    let lock = of(&there, "x");
    let waiter = tokio::spawn(async move { lock.acquire().await });
    let at = &cluster[owner(&cluster, "x")];
    let is_it = |channel: &testkit::Reply| channel.to_string().starts_with(is_listened_to);
    eventually(|| at.command(&["PUBSUB", "SHARDCHANNELS"]).array().iter().any(is_it)).await;
    passes(&cluster, guard, waiter).await;
    announces_by_shard_only(&cluster);
    nobody_listens(&cluster, 0..3).await;
}

#[tokio::test]
async fn fenced_locks_are_announced_by_shard() {
    announces(|client, name| client.fenced_lock(name), "redisson_lock__channel:{x}").await;
}

#[tokio::test]
async fn fair_locks_are_announced_by_shard() {
    announces(|client, name| client.fair_lock(name), "redisson_lock__channel:{x}:").await;
}

#[tokio::test]
async fn writers_are_announced_by_shard() {
    announces(|client, name| client.rw_lock(name).write(), "redisson_rwlock:{x}").await;
}

#[tokio::test]
async fn permits_and_latches_are_announced_by_shard() {
    let cluster = SlotCluster::start(3);
    let (here, there) = (client(&cluster).await, client(&cluster).await);
    let channels = |n: usize| cluster[n].command(&["PUBSUB", "SHARDCHANNELS"]).array().len();
    let at = owner(&cluster, "x");

    let semaphore = here.semaphore("{x}1");
    assert!(soon(semaphore.try_set_permits(1)).await.unwrap());
    let permit = soon(semaphore.acquire()).await.unwrap();
    let wanted = there.semaphore("{x}1");
    let waiter = tokio::spawn(async move { wanted.acquire().await });
    eventually(|| channels(at) == 1).await;
    soon(permit.release()).await.unwrap();
    let permit = promptly(&cluster[at], waiter).await.unwrap().unwrap();
    soon(permit.release()).await.unwrap();
    eventually(|| channels(at) == 0).await;

    let semaphore = here.expirable_semaphore("{x}2");
    assert!(soon(semaphore.try_set_permits(1)).await.unwrap());
    let permit = soon(semaphore.acquire()).await.unwrap();
    let wanted = there.expirable_semaphore("{x}2");
    let waiter = tokio::spawn(async move { wanted.acquire().await });
    eventually(|| channels(at) == 1).await;
    soon(permit.release()).await.unwrap();
    drop(promptly(&cluster[at], waiter).await.unwrap().unwrap());
    eventually(|| channels(at) == 0).await;

    let latch = here.count_down_latch("latch");
    assert!(soon(latch.try_set_count(1)).await.unwrap());
    let waits = there.count_down_latch("latch");
    let waiter = tokio::spawn(async move { waits.wait().await });
    let at = owner(&cluster, "latch");
    eventually(|| channels(at) == 1).await;
    assert!(soon(latch.count_down()).await.unwrap());
    promptly(&cluster[at], waiter).await.unwrap().unwrap();
    announces_by_shard_only(&cluster);
}

// proves: wake-up-is-hint
#[tokio::test]
async fn waiter_listens_where_its_slot_has_moved() {
    let cluster = SlotCluster::start(3);
    let (here, there) = (client(&cluster).await, client(&cluster).await);
    let guard = soon(here.lock("x").acquire()).await.unwrap();
    let waiter = waiter(&cluster, &there, "x").await;
    // The last time back to where it was before.
    for to in [another(&cluster, "x"), (another(&cluster, "x") + 1) % 3, another(&cluster, "x")] {
        cluster.move_slot(cluster.slot_of("x"), to);
        listens(&cluster, "x").await;
        assert!(cluster[to].calls_of("ssubscribe") > 0);
    }
    passes(&cluster, guard, waiter).await;
    nobody_listens(&cluster, 0..3).await;
}

#[tokio::test]
async fn slot_that_moves_takes_no_wake_up_from_those_who_wait_for_others() {
    let cluster = SlotCluster::start(3);
    let (here, there) = (client(&cluster).await, client(&cluster).await);
    let names: Vec<_> = (0..20).map(|n| n.to_string()).collect();
    let mut pairs = Vec::new();
    for name in &names {
        let guard = soon(here.lock(name).acquire()).await.unwrap();
        pairs.push((guard, waiter(&cluster, &there, name).await));
    }
    for name in names.iter().step_by(3) {
        cluster.move_slot(cluster.slot_of(name), another(&cluster, name));
    }
    for name in &names {
        listens(&cluster, name).await;
    }
    join_all(pairs.into_iter().map(|(guard, waiter)| passes(&cluster, guard, waiter))).await;
    nobody_listens(&cluster, 0..3).await;
}

#[tokio::test]
async fn waiter_listens_to_the_next_master_after_a_failover() {
    let cluster = SlotCluster::replicated(3);
    let (here, there) = (client(&cluster).await, client(&cluster).await);
    let guard = soon(here.lock("x").acquire()).await.unwrap();
    let waiter = waiter(&cluster, &there, "x").await;
    let before = owner(&cluster, "x");
    let has_it = |replica: usize| cluster[replica].command(&["DBSIZE"]).int() == 1;
    eventually(|| (3..6).any(has_it)).await;
    cluster.kill(before);
    cluster.wait_until_replaced(before);
    listens(&cluster, "x").await;
    passes(&cluster, guard, waiter).await;
    nobody_listens(&cluster, (0..6).filter(|n| *n != before)).await;
}

/// Listeners listen where it comes from, and nothing is heard where it goes to. Of a plain release they may
/// hear all the same: it is said in two commands, of which the second is executed where it comes from.
#[tokio::test]
async fn waiter_that_is_sent_to_where_its_slot_goes_looks_often() {
    let cluster = SlotCluster::start(3);
    let (here, there) = (client(&cluster).await, client(&cluster).await);
    let (slot, to) = (cluster.slot_of("x"), another(&cluster, "x"));
    let guard = soon(here.lock("x").acquire()).await.unwrap();
    cluster.begin_move(slot, to);
    cluster.move_key("x", to);
    let waiter = waiter(&cluster, &there, "x").await;
    let asked = || cluster[to].calls_of("asking");
    let before = asked();
    promptly(&cluster[to], eventually(|| asked() > before + 2)).await;
    soon(here.lock("x").force_release()).await.unwrap();
    let next = promptly(&cluster[to], waiter).await.unwrap().unwrap();
    drop(guard);
    soon(next.release()).await.unwrap();
    cluster.finish_move(slot, to);
}

#[tokio::test]
async fn least_rights_are_enough_to_be_woken_while_a_slot_moves() {
    let cluster = SlotCluster::start(3);
    allow(&cluster, |_| true);
    let (here, there) = (restricted(&cluster).await, restricted(&cluster).await);
    let guard = soon(here.lock("x").acquire()).await.unwrap();
    let waiter = waiter(&cluster, &there, "x").await;
    cluster.move_slot(cluster.slot_of("x"), another(&cluster, "x"));
    listens(&cluster, "x").await;
    passes(&cluster, guard, waiter).await;
    nobody_listens(&cluster, 0..3).await;
    for n in 0..3 {
        let refused = cluster[n].command(&["ACL", "LOG"]);
        assert!(refused.array().is_empty(), "{refused:?}");
    }
}

/// As with a server that does not know how.
#[tokio::test]
async fn user_who_may_not_ask_whether_servers_shard_announces_to_all() {
    let cluster = SlotCluster::start(3);
    allow(&cluster, |rule| !rule.contains("shardnumsub"));
    let (here, there) = (restricted(&cluster).await, restricted(&cluster).await);
    let guard = soon(here.lock("x").acquire()).await.unwrap();
    let lock = there.lock("x");
    let waiter = tokio::spawn(async move { lock.acquire().await });
    let on = |n: usize| cluster[n].command(&["PUBSUB", "NUMSUB", &channel("x")]).array()[1].int();
    eventually(|| (0..3).map(on).sum::<i64>() == 1).await;
    passes(&cluster, guard, waiter).await;
    assert_eq!((calls_of(&cluster, "spublish"), calls_of(&cluster, "ssubscribe")), (0, 0));
}

/// A user with those of the least rights that it `may` have.
fn allow(cluster: &SlotCluster, may: impl Fn(&str) -> bool) {
    let rules = Rights::new().with_pattern(Use::Lock, "*").in_cluster().rules();
    let rules = || rules.iter().map(String::as_str).filter(|rule| may(rule));
    for n in 0..3 {
        let words: Vec<&str> =
            ["ACL", "SETUSER", "app", "on", ">pw"].into_iter().chain(rules()).collect();
        assert_eq!(cluster[n].cli(&words), "OK");
    }
}

async fn restricted(cluster: &SlotCluster) -> Client {
    soon(settings(cluster).user("app").password("pw").connect()).await.unwrap()
}
