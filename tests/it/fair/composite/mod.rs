//! Fair locks as members of a `MultiLock`: on one master and on several, in paused time.

mod outages;
mod progress;

use std::time::Duration;

use futures::future::join_all;
use palisade::{
    Client, LockGuard, Member, MultiLock, OnOutage, Quarantine,
    embedded::Server,
    error::ConfigError,
    waiting::{Backoff, WaitStrategy},
};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

use crate::{
    outside::ask,
    support::{fixed, ms},
};

/// Servers, and two names that all processes take in this order, each on a server of its own or both on one.
struct Scene {
    servers: Vec<Server>,
}

const NAMES: [&str; 2] = ["a", "b"];

impl Scene {
    fn on_one() -> Self {
        Self { servers: vec![Server::start_here()] }
    }

    fn on_two() -> Self {
        let mut servers = vec![Server::start_here(), Server::start_here()];
        servers.sort_by_key(Server::run_id);
        Self { servers }
    }

    fn server(&self, i: usize) -> &Server {
        &self.servers[i % self.servers.len()]
    }

    /// The clients of another process.
    async fn process(&self) -> [Client; 2] {
        let client = |i| self.server(i).client_builder().quarantine(Quarantine::Durable).build();
        let clients = [0, 1].map(|i| client(i).unwrap());
        for client in &clients {
            // From now on it is known which run this is, and so the order.
            client.lock("x").is_locked().await.unwrap();
        }
        clients
    }

    /// The waiters for a lock, the next one first.
    async fn queue(&self, i: usize) -> Vec<String> {
        let key = format!("redisson_lock_queue:{{{}}}", NAMES[i]);
        ask(self.server(i), &["LRANGE", &key, "0", "-1"]).await
    }

    async fn queues(&self) -> [usize; 2] {
        [self.queue(0).await.len(), self.queue(1).await.len()]
    }

    /// The holder of a lock.
    async fn holder(&self, i: usize) -> Option<String> {
        let fields: Vec<String> = ask(self.server(i), &["HKEYS", NAMES[i]]).await;
        fields.into_iter().next()
    }

    async fn fair(&self, i: usize) -> LockGuard {
        self.process().await[i].fair_lock(NAMES[i]).acquire().await.unwrap()
    }

    /// A waiter for one lock, that has it for so long.
    async fn single(&self, i: usize, section: Duration) -> JoinHandle<Instant> {
        let lock = self.process().await[i].fair_lock(NAMES[i]).on_outage(OnOutage::Wait);
        spawned(async move { hold(lock.acquire().await.unwrap(), section).await }).await
    }

    /// A waiter for both.
    async fn both(&self) -> JoinHandle<LockGuard> {
        let lock = whole(&self.process().await);
        spawned(async move { lock.acquire().await.unwrap() }).await
    }

    async fn nothing_is_left(&self) {
        let began = Instant::now();
        for server in &self.servers {
            loop {
                let keys: Vec<String> = ask(server, &["KEYS", "*"]).await;
                // The mark of a server is there to stay, and what a process told ends later.
                if keys.iter().all(|key| key == "palisade:marker" || key.contains("_process:")) {
                    break;
                }
                assert!(began.elapsed() < Duration::from_secs(5), "{keys:?}");
                sleep(ms(10)).await;
            }
        }
    }
}

fn whole([a, b]: &[Client; 2]) -> MultiLock<palisade::FairLock> {
    MultiLock::new([a.fair_lock(NAMES[0]), b.fair_lock(NAMES[1])]).unwrap()
}

/// Begins, and has been refused where it is by the time this returns.
async fn spawned<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    let task = tokio::spawn(work);
    sleep(ms(200)).await;
    task
}

/// When it was granted.
async fn hold(guard: LockGuard, section: Duration) -> Instant {
    let granted = Instant::now();
    sleep(section).await;
    guard.release().await.unwrap();
    granted
}

#[tokio::test(start_paused = true)]
async fn whole_of_any_mixture_is_held_together() {
    let server = Server::start_here();
    let client = server.client().unwrap();
    let mixed = || -> MultiLock<Member> {
        let members: [Member; 5] = [
            client.lock("a").into(),
            client.fair_lock("b").into(),
            client.rw_lock("c").read().into(),
            client.rw_lock("d").write().into(),
            client.fenced_lock("e").into(),
        ];
        MultiLock::new(members).unwrap()
    };
    let guard: LockGuard = mixed().acquire().await.unwrap();
    assert!(client.fair_lock("b").try_acquire().await.unwrap().is_none());
    assert!(mixed().try_acquire().await.unwrap().is_none());
    assert!(mixed().try_acquire_for(ms(100)).await.unwrap().is_none());
    let waiter = mixed();
    let waiter = spawned(async move { waiter.acquire().await.unwrap() }).await;
    assert_eq!(client.fair_lock("b").waiting().await.unwrap().len(), 1);
    guard.release().await.unwrap();
    let began = Instant::now();
    let again = waiter.await.unwrap();
    assert!(began.elapsed() < ms(100), "{:?}", began.elapsed());
    let inner = again.reenter().unwrap();
    again.release().await.unwrap();
    inner.release().await.unwrap();
    let left: Vec<String> = ask(&server, &["KEYS", "*"]).await;
    assert!(left.iter().all(|key| key.contains("token")), "{left:?}");
}

#[tokio::test(start_paused = true)]
async fn whole_is_granted_in_its_turn_between_others() {
    for scene in [Scene::on_one(), Scene::on_two()] {
        let held = scene.fair(0).await;
        let before = scene.single(0, ms(300)).await;
        let both = scene.both().await;
        let behind = scene.single(0, ms(300)).await;
        assert_eq!(scene.queues().await, [3, 0]);
        let place = scene.queue(0).await[1].clone();
        held.release().await.unwrap();
        let granted = before.await.unwrap();
        let guard = both.await.unwrap();
        let took = granted.elapsed();
        assert!((300..400).contains(&took.as_millis()), "told at once: {took:?}");
        assert_eq!(guard.holder_id(), place);
        assert!(!behind.is_finished());
        guard.release().await.unwrap();
        behind.await.unwrap();
        scene.nothing_is_left().await;
    }
}

#[tokio::test(start_paused = true)]
async fn wholes_of_one_process_stand_each_by_itself_between_others() {
    let scene = Scene::on_two();
    let (held, lock) = (scene.fair(0).await, whole(&scene.process().await));
    let mut order = Vec::new();
    for _ in 0..2 {
        let lock = lock.clone();
        order.push(spawned(async move { hold(lock.acquire().await.unwrap(), ms(10)).await }).await);
        order.push(scene.single(0, ms(10)).await);
    }
    assert_eq!(scene.queues().await, [4, 0]);
    held.release().await.unwrap();
    let granted = join_all(order).await.into_iter().map(Result::unwrap);
    assert!(granted.is_sorted(), "in the order in which they came");
    scene.nothing_is_left().await;
}

#[tokio::test(start_paused = true)]
async fn whole_stands_in_one_queue_only_and_goes_on_to_the_next() {
    for scene in [Scene::on_one(), Scene::on_two()] {
        let held = [scene.fair(0).await, scene.fair(1).await];
        let both = scene.both().await;
        assert_eq!(scene.queues().await, [1, 0]);
        let [first, second] = held;
        first.release().await.unwrap();
        sleep(ms(50)).await;
        assert!(scene.holder(0).await.is_some(), "it was granted that");
        assert_eq!(scene.queues().await, [0, 0], "it asks without queueing");
        let behind = scene.single(0, ms(10)).await;
        let began = Instant::now();
        behind.await.unwrap();
        let kept = began.elapsed();
        assert!((1_700..2_300).contains(&kept.as_millis()), "{kept:?}");
        sleep(ms(100)).await;
        assert_eq!(scene.queues().await, [0, 1], "it waits where it was refused");
        let place = scene.queue(1).await;
        second.release().await.unwrap();
        let began = Instant::now();
        let guard = both.await.unwrap();
        assert!(began.elapsed() < ms(100), "{:?}", began.elapsed());
        assert_eq!([guard.holder_id()], place[..]);
        guard.release().await.unwrap();
        scene.nothing_is_left().await;
    }
}

#[tokio::test(start_paused = true)]
async fn member_that_comes_free_within_two_seconds_is_waited_for_with_what_was_granted() {
    for is_fair in [false, true] {
        let scene = Scene::on_two();
        let [a, b] = scene.process().await;
        let members = || -> [Member; 2] {
            let second = if is_fair { b.fair_lock("b").into() } else { b.lock("b").into() };
            [a.fair_lock("a").into(), second]
        };
        let first = scene.fair(0).await;
        let [_, others] = scene.process().await;
        let second = if is_fair {
            others.fair_lock("b").acquire().await.unwrap()
        } else {
            others.lock("b").acquire().await.unwrap()
        };
        let lock = MultiLock::new(members()).unwrap();
        let both = spawned(async move { lock.acquire().await.unwrap() }).await;
        first.release().await.unwrap();
        sleep(ms(1_500)).await;
        let holder = scene.holder(0).await;
        second.release().await.unwrap();
        let began = Instant::now();
        let guard = both.await.unwrap();
        assert!(began.elapsed() < ms(150), "{:?}", began.elapsed());
        assert_eq!(Some(guard.holder_id()), holder.as_deref());
        guard.release().await.unwrap();
        scene.nothing_is_left().await;
    }
}

/// What was kept before is almost over when it is granted its turn.
#[tokio::test(start_paused = true)]
async fn turn_is_kept_for_two_seconds_whatever_was_kept_before() {
    let scene = Scene::on_one();
    let ([client, _], [other, _]) = (scene.process().await, scene.process().await);
    let (second, third) = (scene.fair(1).await, other.lock("c").acquire().await.unwrap());
    let members: [Member; 3] =
        [client.lock("a").into(), client.fair_lock("b").into(), client.lock("c").into()];
    let lock = MultiLock::new(members).unwrap();
    let all = spawned(async move { lock.acquire().await.unwrap() }).await;
    let place = scene.queue(1).await;
    sleep(ms(1_600)).await;
    assert_eq!(scene.holder(0).await.as_deref(), Some(&*place[0]));
    second.release().await.unwrap();
    sleep(ms(1_500)).await;
    third.release().await.unwrap();
    let guard = all.await.unwrap();
    assert_eq!(guard.holder_id(), place[0]);
    guard.release().await.unwrap();
    scene.nothing_is_left().await;
}

#[tokio::test(start_paused = true)]
async fn place_outlasts_what_others_granted() {
    for scene in [Scene::on_one(), Scene::on_two()] {
        let held = scene.fair(1).await;
        let [a, b] = scene.process().await;
        let members: [Member; 2] = [a.lock("a").into(), b.fair_lock("b").into()];
        let lock = MultiLock::new(members).unwrap();
        let both = spawned(async move { lock.acquire().await.unwrap() }).await;
        let place = scene.queue(1).await;
        let behind = scene.single(1, ms(10)).await;
        assert_eq!(scene.holder(0).await.as_deref(), Some(&*place[0]), "kept for a while");
        sleep(ms(2_500)).await;
        assert_eq!(scene.holder(0).await, None, "and then let go");
        for _ in 0..30 {
            sleep(ms(1_000)).await;
            let queue = scene.queue(1).await;
            assert_eq!((queue.len(), &queue[0]), (2, &place[0]));
        }
        held.release().await.unwrap();
        let guard = both.await.unwrap();
        assert_eq!(guard.holder_id(), place[0]);
        guard.release().await.unwrap();
        behind.await.unwrap();
        scene.nothing_is_left().await;
    }
}

/// The nearer one refuses first: two processes that are near to different ones would stand in different queues.
#[tokio::test(start_paused = true)]
async fn whole_stands_in_the_first_queue_however_far_that_is() {
    let scene = Scene::on_two();
    let _held = [scene.fair(0).await, scene.fair(1).await];
    scene.server(0).set_delay(ms(20));
    let _both = scene.both().await;
    assert_eq!(scene.queues().await, [1, 0]);
}

#[tokio::test(start_paused = true)]
async fn whole_that_lost_its_turn_queues_again_at_once_where_it_is_refused() {
    let scene = Scene::on_one();
    let ([client, _], [other, _]) = (scene.process().await, scene.process().await);
    let (first, second) = (other.lock("a").acquire().await.unwrap(), scene.fair(1).await);
    let members: [Member; 2] = [client.lock("a").into(), client.fair_lock("b").into()];
    let lock = MultiLock::new(members).unwrap();
    let both = spawned(async move { lock.acquire().await.unwrap() }).await;
    assert_eq!(scene.queue(1).await.len(), 1);
    second.release().await.unwrap();
    sleep(ms(3_000)).await;
    let second = scene.fair(1).await;
    first.release().await.unwrap();
    sleep(ms(100)).await;
    assert_eq!(scene.queue(1).await.len(), 1);
    second.release().await.unwrap();
    both.await.unwrap().release().await.unwrap();
    scene.nothing_is_left().await;
}

#[tokio::test(start_paused = true)]
async fn whole_that_gives_up_leaves_the_queue_and_what_it_was_granted() {
    let scene = Scene::on_two();
    let held = [scene.fair(0).await, scene.fair(1).await];
    let lock = whole(&scene.process().await);
    assert!(lock.try_acquire().await.unwrap().is_none());
    assert_eq!(scene.queues().await, [0, 0]);
    assert!(lock.try_acquire_for(ms(500)).await.unwrap().is_none());
    sleep(ms(50)).await;
    assert_eq!(scene.queues().await, [0, 0]);
    let waits = scene.both().await;
    let [first, second] = held;
    first.release().await.unwrap();
    sleep(ms(100)).await;
    assert!(scene.holder(0).await.is_some());
    waits.abort();
    sleep(ms(50)).await;
    assert_eq!(scene.holder(0).await, None);
    second.release().await.unwrap();
    scene.nothing_is_left().await;
}

#[tokio::test(start_paused = true)]
async fn whole_that_polls_comes_in_its_turn() {
    let scene = Scene::on_two();
    let held = scene.fair(0).await;
    let strategy = WaitStrategy::Poll(Backoff::new(ms(10), Duration::from_secs(60)).unwrap());
    let lock = whole(&scene.process().await).wait_strategy(strategy);
    let both = spawned(async move { lock.acquire().await.unwrap() }).await;
    let place = scene.queue(0).await;
    let behind = scene.single(0, ms(10)).await;
    sleep(Duration::from_secs(5)).await;
    held.release().await.unwrap();
    let guard = both.await.unwrap();
    assert_eq!([guard.holder_id()], place[..]);
    guard.release().await.unwrap();
    behind.await.unwrap();
    scene.nothing_is_left().await;
}

#[tokio::test(start_paused = true)]
async fn whole_of_a_single_fair_lock_is_that_lock() {
    let scene = Scene::on_one();
    let held = scene.fair(0).await;
    let lock = MultiLock::new([scene.process().await[0].fair_lock("a")]).unwrap();
    let only = spawned(async move { lock.acquire().await.unwrap() }).await;
    let behind = scene.single(0, ms(10)).await;
    let place = scene.queue(0).await[0].clone();
    held.release().await.unwrap();
    let guard = only.await.unwrap();
    assert_eq!(guard.holder_id(), place);
    guard.release().await.unwrap();
    behind.await.unwrap();
    scene.nothing_is_left().await;
}

#[tokio::test(start_paused = true)]
async fn members_are_checked_before_anything_is_sent() {
    let server = Server::start_here();
    let client = server.client().unwrap();
    let before = server.commands_processed();
    let twice: [Member; 2] = [client.lock("a").into(), client.fair_lock("a").into()];
    let error = MultiLock::new(twice).unwrap_err();
    assert!(matches!(error, ConfigError::DuplicateMember { .. }), "{error}");
    let own = [client.fair_lock("a").with_lease(fixed(5_000)), client.fair_lock("b")];
    let error = MultiLock::new(own).unwrap_err();
    assert!(matches!(error, ConfigError::MemberLease { .. }), "{error}");
    assert_eq!(server.commands_processed(), before);
}
