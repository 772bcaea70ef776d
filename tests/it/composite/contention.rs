//! Many want the same: all get it, one at a time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt, future::join_all, poll};
use palisade::{Client, Lock, LockGuard, Masters, MultiLock};
use testkit::{Cluster, Fault, FaultProxy};

use crate::{
    fleet::{Composite, Fleet, HANG, Rule, client, eventually, masters, stranger, within},
    support::{Look, channel, fixed, promptly},
};

/// What must not be entered twice.
#[derive(Debug, Default)]
struct Section {
    occupied: AtomicBool,
    entered: AtomicU32,
}

impl Section {
    async fn pass(&self, guard: LockGuard) {
        assert!(!self.occupied.swap(true, Ordering::SeqCst), "two holders at once");
        tokio::task::yield_now().await;
        guard.ensure_valid().unwrap();
        self.entered.fetch_add(1, Ordering::SeqCst);
        self.occupied.store(false, Ordering::SeqCst);
        guard.release().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_processes_get_the_lock_time_and_again_one_at_a_time() {
    const TIMES: u32 = 10;
    for (n, rule) in [(3, Rule::Majority), (2, Rule::Majority), (5, Rule::Majority), (3, Rule::All)]
    {
        let fleet = Fleet::start(n).await;
        let mut processes = Vec::new();
        for _ in 0..8 {
            processes.push(fleet.another_process().await);
        }
        let section = Arc::new(Section::default());
        let contenders = processes.iter().map(|process| {
            let lock = rule.lock(process, "x");
            let section = section.clone();
            tokio::spawn(async move {
                for _ in 0..TIMES {
                    section.pass(lock.acquire().await.unwrap()).await;
                }
            })
        });
        let all = within(HANG, "all get it", join_all(contenders)).await;
        all.into_iter().for_each(|contender| contender.unwrap());
        assert_eq!(section.entered.load(Ordering::SeqCst), 8 * TIMES);
        fleet.end(&processes).await;
    }
}

#[tokio::test]
async fn one_of_eight_that_try_at_once_or_none_is_granted() {
    let fleet = Fleet::start(3).await;
    let mut processes = Vec::new();
    for _ in 0..8 {
        processes.push(fleet.another_process().await);
    }
    for rule in Rule::BOTH {
        for round in 0..20 {
            let name = format!("{rule:?}:{round}");
            let tries = processes
                .iter()
                .map(async |process| rule.lock(process, &name).try_acquire().await.unwrap());
            let granted: Vec<_> = join_all(tries).await.into_iter().flatten().collect();
            assert!(granted.len() <= 1, "{granted:?}");
        }
    }
    fleet.end(&processes).await;
}

/// A release reaches the servers one after the other: the waiter that the first announcement
/// wakes finds the other keys still there, and must hear of them too.
#[tokio::test]
async fn waiter_gets_a_lock_whose_release_arrives_late_on_other_members() {
    let fleet = Fleet::start(3).await;
    let proxies = [1, 2].map(|i| FaultProxy::before(&fleet.servers[i]));
    let [second, third] = [&proxies[0], &proxies[1]].map(|proxy| client(&proxy.url()));
    let slow = masters([client(&fleet.servers[0].url()), second, third]).await;
    for proxy in &proxies {
        proxy.set(Fault::Delay(Duration::from_millis(50)));
    }
    for rule in Rule::BOTH {
        let guard = rule.lock(&slow, "x").acquire().await.unwrap();
        let waiter = tokio::spawn(waits(rule.lock(&fleet.masters, "x")));
        eventually("it waits", || fleet.masters.clients().iter().all(|c| c.subscriptions() > 0))
            .await;
        guard.release().await.unwrap();
        // Well before it would look without being woken.
        let next = promptly(&fleet.servers[0], waiter).await.unwrap();
        next.release().await.unwrap();
    }
    slow.shutdown(HANG).await.unwrap();
    fleet.end(&[]).await;
}

/// Redisson's is a thousand times as long after each round that was lost.
#[tokio::test]
async fn lease_of_a_multi_lock_is_the_same_in_every_round() {
    let fleet = Fleet::start(3).await;
    let other = fleet.another_process().await;
    let held = other.multi_lock("x").acquire().await.unwrap();
    let lock = fleet.masters.multi_lock("x").with_lease(fixed(300_000));
    let waiter = tokio::spawn(async move { lock.acquire().await });
    let asked = || fleet.servers.iter().map(|server| server.calls_of("evalsha")).sum::<u64>();
    for _ in 0..3 {
        let before = asked();
        // Told until it has looked: it listens nowhere for a moment between two rounds.
        eventually("a round", || {
            fleet
                .servers
                .iter()
                .for_each(|server| drop(server.cli(&["PUBLISH", &channel("x"), "0"])));
            asked() > before
        })
        .await;
    }
    held.release().await.unwrap();
    let guard = within(HANG, "the lock", waiter).await.unwrap().unwrap();
    for server in &fleet.servers {
        let ttl = server.pttl("x");
        assert!((1..=300_000).contains(&ttl), "{ttl}");
    }
    guard.release().await.unwrap();
    fleet.end(&[other]).await;
}

async fn waits(lock: Composite) -> LockGuard {
    lock.acquire().await.unwrap()
}

#[tokio::test]
async fn waiters_of_one_process_stand_in_line_whatever_the_order_of_members() {
    let fleet = Fleet::start(3).await;
    let holder = fleet.another_process().await;
    let reversed = fleet.masters.clients().iter().rev().cloned();
    let reversed = Masters::new(reversed).unwrap();
    for rule in Rule::BOTH {
        let guard = rule.lock(&holder, "x").acquire().await.unwrap();
        let turns = Arc::new(AtomicU32::new(0));
        let take_turn = async |lock: Composite| {
            let guard = lock.acquire().await.unwrap();
            let turn = turns.fetch_add(1, Ordering::SeqCst);
            guard.release().await.unwrap();
            turn
        };
        let mut first = take_turn(rule.lock(&fleet.masters, "x")).boxed_local();
        let subscribed = || fleet.masters.clients().iter().all(|client| client.subscriptions() > 0);
        while !subscribed() {
            assert!(poll!(&mut first).is_pending());
            tokio::task::yield_now().await;
        }
        let mut second = take_turn(rule.lock(&reversed, "x")).boxed_local();
        assert!(poll!(&mut second).is_pending());
        let mut third = take_turn(rule.lock(&fleet.masters, "x")).boxed_local();
        assert!(poll!(&mut third).is_pending());
        guard.release().await.unwrap();
        // Polled in the opposite order.
        let order = async { futures::join!(third, second, first) };
        assert_eq!(within(HANG, "all turns", order).await, (2, 1, 0));
    }
    fleet.end(&[holder]).await;
}

/// Three members in pairs and all together, in different orders, while a single lock on one of them
/// is busy. All contenders go on until each has had its turns, so none waits for ever for what
/// another one keeps or takes again and again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overlapping_multi_locks_all_make_progress_under_traffic_on_one_member() {
    let servers = Cluster::start(3);
    let crowd = Arc::new(Crowd::default());
    let mut contenders = Vec::new();
    for (who, members) in [vec![0, 1, 2], vec![1, 2], vec![2, 0]].into_iter().enumerate() {
        let process = process(&servers).await;
        let lock = MultiLock::new(members.iter().map(|i| process[*i].lock("x"))).unwrap();
        contenders.push(tokio::spawn(crowd.clone().contend(who, members, Wanted::Several(lock))));
    }
    let single = process(&servers).await[1].lock("x");
    contenders.push(tokio::spawn(crowd.clone().contend(3, vec![1], Wanted::One(single))));
    let all = within(HANG, "everybody has had turns", join_all(contenders)).await;
    all.into_iter().for_each(|contender| contender.unwrap());
    println!("turns of {{0,1,2}}, {{1,2}}, {{2,0}} and the single lock on 1: {:?}", crowd.turns);
}

/// Which contender wants what.
#[derive(Debug)]
enum Wanted {
    One(Lock),
    Several(MultiLock),
}

impl Wanted {
    async fn acquire(&self) -> LockGuard {
        match self {
            Self::One(lock) => lock.acquire().await.unwrap(),
            Self::Several(lock) => lock.acquire().await.unwrap(),
        }
    }
}

/// Which contender holds what, and how often each of them did.
#[derive(Debug, Default)]
struct Crowd {
    sections: [Section; 3],
    turns: [AtomicU32; 4],
}

impl Crowd {
    /// Acquires `lock` again and again, until every contender has had enough turns.
    async fn contend(self: Arc<Self>, who: usize, members: Vec<usize>, lock: Wanted) {
        while self.turns.iter().any(|turns| turns.load(Ordering::Relaxed) < 20) {
            let guard = lock.acquire().await;
            enter(&self.sections, &members);
            tokio::task::yield_now().await;
            leave(&self.sections, &members);
            guard.release().await.unwrap();
            self.turns[who].fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Clients that stand in no line with those of other calls.
async fn process(servers: &Cluster) -> Vec<Client> {
    join_all(servers.iter().map(async |server| stranger(server).connect().await.unwrap())).await
}

fn enter(sections: &[Section; 3], members: &[usize]) {
    for i in members {
        assert!(!sections[*i].occupied.swap(true, Ordering::SeqCst), "two holders of {i}");
    }
}

fn leave(sections: &[Section; 3], members: &[usize]) {
    for i in members {
        sections[*i].occupied.store(false, Ordering::SeqCst);
    }
}
