//! Heals on real masters, where the order of bytes on sockets matters.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::future::join_all;
use palisade::{Client, Lease, LockGuard, Masters, OnOutage, Quarantine, embedded::Server};
use testkit::{Cluster, Fault, FaultProxy, Way};

use crate::fleet::{
    HANG, WAITED_OUT, client, drained, eventually, holder_on, masters, stranger, within,
};

/// Renewed every three seconds; what stands still for less than twice that does no harm.
const LEASE: Duration = Duration::from_secs(9);

/// Three masters, the third behind a proxy.
struct Troubled {
    servers: Cluster,
    proxy: FaultProxy,
    masters: Masters,
}

impl Troubled {
    async fn start() -> Self {
        let servers = Cluster::start(3);
        let proxy = FaultProxy::before(&servers[2]);
        let urls = [servers[0].url(), servers[1].url(), proxy.url()];
        let masters = masters(urls.iter().map(|url| client(url))).await;
        Self { servers, proxy, masters }
    }

    /// A guard that has just lost its third vote: a heal is a period away.
    async fn short_of_the_third(&self, name: &str) -> LockGuard {
        let lock = self.masters.red_lock(name).with_lease(Lease::WatchdogOf(LEASE));
        let guard = lock.on_outage(OnOutage::Wait).acquire().await.unwrap();
        eventually("all vouch", || guard.votes() == 3).await;
        self.servers[2].cli(&["DEL", name]);
        eventually("the loss", || guard.votes() == 2).await;
        guard
    }

    fn third_is_ours(&self, guard: &LockGuard) -> bool {
        holder_on(&self.servers[2], "x").as_deref() == Some(guard.holder_id())
    }

    async fn end(self) {
        drained(&self.masters).await;
        for server in &self.servers {
            assert_eq!(server.keys(), [""; 0], "left on {}", server.addr());
        }
    }
}

/// How the guard goes.
async fn go(guard: LockGuard, dropped: bool) {
    if dropped {
        drop(guard);
    } else {
        within(HANG, "the release", guard.release()).await.unwrap();
    }
}

#[tokio::test]
async fn member_that_forgot_is_won_back_within_two_periods() {
    let troubled = Troubled::start().await;
    let guard = troubled.short_of_the_third("x").await;
    assert_eq!(guard.margin(), 0);
    eventually("it is won back", || guard.votes() == 3).await;
    assert!(troubled.third_is_ours(&guard));
    assert_eq!(guard.margin(), 1);
    guard.release().await.unwrap();
    troubled.end().await;
}

/// The server has executed the heal, and the answer does not come: before, while and after the
/// guard goes.
async fn heal_against_release_with_the_answer_on_its_way(fault: Fault) {
    let both = [false, true].map(async |dropped| {
        let troubled = Troubled::start().await;
        let guard = troubled.short_of_the_third("x").await;
        troubled.proxy.set(fault);
        eventually("the heal is executed", || troubled.third_is_ours(&guard)).await;
        go(guard, dropped).await;
        troubled.proxy.heal();
        troubled.end().await;
    });
    join_all(both).await;
}

#[tokio::test]
async fn heal_against_release_with_the_answer_held_back_leaves_nothing() {
    heal_against_release_with_the_answer_on_its_way(Fault::Stall(Way::Replies)).await;
}

#[tokio::test]
async fn heal_against_release_with_the_answer_lost_leaves_nothing() {
    heal_against_release_with_the_answer_on_its_way(Fault::Blackhole(Way::Replies)).await;
}

#[tokio::test]
async fn heal_against_release_with_a_reset_for_an_answer_leaves_nothing() {
    heal_against_release_with_the_answer_on_its_way(Fault::Reset(Way::Replies)).await;
}

#[tokio::test]
async fn heal_against_release_with_a_late_answer_leaves_nothing() {
    let late = Fault::Delay(Duration::from_millis(100));
    heal_against_release_with_the_answer_on_its_way(late).await;
}

/// The heals have been sent, or are about to be, and have not arrived when the guards go.
#[tokio::test]
async fn heal_against_release_with_the_request_on_its_way_leaves_nothing() {
    let requests = Way::Requests;
    let faults = [Fault::Stall(requests), Fault::Blackhole(requests), Fault::Half(requests)];
    let all = faults.map(async |fault| {
        let troubled = Troubled::start().await;
        let names: Vec<_> = (0..16).map(|i| format!("x:{i}")).collect();
        let guards = names.iter().map(|name| troubled.short_of_the_third(name));
        let guards = join_all(guards).await;
        troubled.proxy.set(fault);
        // From before the heal until after it was given up.
        let going = guards.into_iter().zip(0..).map(async |(guard, moment)| {
            tokio::time::sleep(LEASE / 30 * moment).await;
            go(guard, moment % 2 == 0).await;
        });
        join_all(going).await;
        troubled.proxy.heal();
        troubled.end().await;
    });
    join_all(all).await;
}

/// The heal waits for its connection while the guard goes.
#[tokio::test]
async fn heal_that_finds_its_connection_after_the_release_sends_nothing() {
    let servers: Vec<Server> = (0..3).map(|_| Server::start().unwrap()).collect();
    let (asked, open) = (Arc::new(AtomicUsize::new(0)), tokio::sync::watch::Sender::new(false));
    let clients = servers.iter().enumerate().map(|(i, server)| {
        let (server, asked, open) = (server.clone(), asked.clone(), open.subscribe());
        let connect = move || {
            let (server, asked, mut open) = (server.clone(), asked.clone(), open.clone());
            async move {
                if i == 2 {
                    asked.fetch_add(1, Ordering::SeqCst);
                    let _sender_lives = open.wait_for(|open| *open).await;
                }
                server.connect().await
            }
        };
        let builder = Client::builder().connector(&format!("master {i}"), connect);
        builder.node_timeout(HANG).connect_timeout(HANG).build().unwrap()
    });
    let masters = Masters::new(clients).unwrap();
    let lock = masters.red_lock("x").with_lease(Lease::WatchdogOf(LEASE)).on_outage(OnOutage::Wait);
    let guard = lock.acquire().await.unwrap();
    // The first is the acquire's, on this runtime; the second the heal's, on the watchdog's.
    eventually("the heal wants a connection", || asked.load(Ordering::SeqCst) == 2).await;
    guard.release().await.unwrap();
    open.send_replace(true);
    // A renewal on that connection goes out behind the heal, if there is one.
    let other =
        masters.red_lock("y").with_lease(Lease::WatchdogOf(LEASE)).on_outage(OnOutage::Wait);
    let other = other.acquire().await.unwrap();
    eventually("all vouch", || other.votes() == 3).await;
    let third = servers[2].client().unwrap();
    assert!(third.lock("y").force_release().await.unwrap());
    eventually("the renewal is answered", || other.votes() == 2).await;
    assert_eq!(third.lock("x").holder().await.unwrap(), None);
    other.release().await.unwrap();
    drained(&masters).await;
}

/// They forget all, one after the other, and no other is granted the lock. The first run of each is
/// blessed: it is the later ones that have forgotten.
#[tokio::test]
async fn hold_survives_a_rolling_restart_of_all_masters_without_their_data() {
    let servers = Cluster::start(3).blessed();
    let wary = |server| stranger(server).quarantine(Quarantine::Composites);
    // One may be asked, and restarted before it has answered.
    let hasty = |server| wary(server).node_timeout(WAITED_OUT);
    let strangers = masters(servers.iter().map(hasty)).await;
    let masters = masters(servers.iter().map(wary)).await;
    let lock = masters.red_lock("x").on_outage(OnOutage::Wait);
    let guard = within(HANG, "the acquire", lock.acquire()).await.unwrap();
    for i in 0..3 {
        eventually("all vouch", || guard.votes() == 3).await;
        servers.restart_empty(i);
        eventually("it is written again", || holder_on(&servers[i], "x").is_some()).await;
        assert!(guard.is_held());
        let twice = within(HANG, "the answer", strangers.red_lock("x").try_acquire()).await;
        assert!(!matches!(twice, Ok(Some(_))), "granted twice");
    }
    eventually("all vouch", || guard.votes() == 3).await;
    assert!(servers.iter().all(|s| holder_on(s, "x").as_deref() == Some(guard.holder_id())));
    guard.release().await.unwrap();
    drained(&masters).await;
    drained(&strangers).await;
    assert!(servers.iter().all(|server| server.keys().is_empty()));
}
