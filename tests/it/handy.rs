//! What programs need around a lock, in paused time.

use std::{rc::Rc, time::Duration};

use palisade::{
    AcquireError, AnyGuard, AnyLock, Client, LockGuard, Masters, MultiLock, Owner,
    any::BoxLock,
    embedded::Server,
    error::{ConnectError, WithError},
};
use testkit::RedisServer;
use tokio::time::{Instant, sleep};

use crate::support::{fixed, ms, soon};

fn fleet() -> (Vec<Server>, Masters) {
    let servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
    let masters = Masters::new(servers.iter().map(|server| server.client().unwrap())).unwrap();
    (servers, masters)
}

#[tokio::test(start_paused = true)]
async fn work_is_done_if_the_lock_is_held_in_time_and_not_begun_otherwise() {
    let server = Server::start_here();
    let (lock, other) = (server.client().unwrap().lock("x"), server.client().unwrap().lock("x"));
    let work = async |guard: &LockGuard| guard.is_held();
    let never = async |_: &LockGuard| panic!("it is not held");
    assert_eq!(lock.with_for(ms(100), work).await.unwrap(), Some(true));
    assert_eq!(lock.try_with(work).await.unwrap(), Some(true));
    let held = other.acquire().await.unwrap();
    let began = Instant::now();
    assert!(lock.try_with(never).await.unwrap().is_none());
    assert!(lock.with_for(ms(300), never).await.unwrap().is_none());
    assert!(began.elapsed() >= ms(300));
    held.release().await.unwrap();
    assert!(other.try_acquire().await.unwrap().is_some(), "it was given back");
}

#[tokio::test(start_paused = true)]
async fn work_under_a_limit_is_stopped_by_a_loss() {
    let server = Server::start_here();
    let lock = server.client().unwrap().lock("x").with_lease(fixed(1_000));
    let error = lock.with_for(ms(100), async |_: &LockGuard| sleep(ms(5_000)).await).await;
    assert!(matches!(error, Err(WithError::Lost(_))), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn guard_tells_how_long_it_was_waited_for_and_held() {
    let server = Server::start_here();
    let lock = server.client().unwrap().lock("x");
    let first = lock.acquire().await.unwrap();
    assert!(first.waited() < ms(100) && first.held_for() < ms(100));
    let waiter = tokio::spawn(async move { lock.acquire().await.unwrap() });
    sleep(Duration::from_secs(4)).await;
    assert_eq!(first.held_for().as_secs(), 4);
    first.release().await.unwrap();
    let second = waiter.await.unwrap();
    assert!((ms(4_000)..ms(4_100)).contains(&second.waited()), "{:?}", second.waited());
    assert!(second.held_for() < ms(100));
}

#[tokio::test(start_paused = true)]
async fn deadline_is_slept_for_wherever_renewals_move_it() {
    let server = Server::start_here();
    let client = server.client().unwrap();
    let guard = client.lock("x").with_lease(fixed(3_000)).acquire().await.unwrap();
    let began = Instant::now();
    guard.sleep_until_deadline().await;
    assert!((ms(2_900)..=ms(3_000)).contains(&began.elapsed()), "{:?}", began.elapsed());
    let renewed = client.lock("y").acquire().await.unwrap();
    let slept = tokio::time::timeout(ms(100_000), renewed.sleep_until_deadline()).await;
    assert!(slept.is_err(), "it is renewed");
}

#[tokio::test(start_paused = true)]
async fn token_of_a_loss_is_not_cancelled_by_a_release() {
    let server = Server::start_here();
    let client = server.client().unwrap();
    let guard = client.lock("x").acquire().await.unwrap();
    let (over, lost) = (guard.cancellation_token(), guard.loss_token());
    guard.release().await.unwrap();
    sleep(ms(100)).await;
    assert!(over.is_cancelled() && !lost.is_cancelled());
    let guard = client.lock("x").with_lease(fixed(1_000)).acquire().await.unwrap();
    let lost = guard.loss_token();
    lost.cancelled().await;
    assert!(!guard.is_held() && guard.loss_token().is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn owner_waits_no_longer_than_its_limit() {
    let server = Server::start_here();
    let (client, owner) = (server.client().unwrap(), Owner::new());
    let lock = client.lock("x");
    let mine = lock.try_acquire_for_as(&owner, ms(100)).await.unwrap().unwrap();
    let again = lock.try_acquire_for_as(&owner, ms(100)).await.unwrap().unwrap();
    assert_eq!(mine.holder_id(), again.holder_id());
    assert!(lock.try_acquire_for_as(&Owner::new(), ms(100)).await.unwrap().is_none());
}

async fn excludes(boxed: &BoxLock, other: &impl AnyLock) {
    let guard = boxed.acquire().await.unwrap();
    assert!(guard.is_held());
    assert!(other.try_acquire().await.unwrap().is_none(), "{boxed:?}");
    guard.release().await.unwrap();
    assert!(other.try_acquire().await.unwrap().is_some(), "{boxed:?}");
}

#[tokio::test(start_paused = true)]
async fn boxed_lock_is_the_lock_with_its_settings() {
    let (_servers, masters) = fleet();
    let client = &masters.clients()[0];
    excludes(&client.lock("a").boxed(), &client.lock("a")).await;
    excludes(&client.fair_lock("b").into(), &client.fair_lock("b")).await;
    excludes(&client.fenced_lock("c").boxed(), &client.fenced_lock("c")).await;
    excludes(&client.rw_lock("d").write().into(), &client.rw_lock("d").read()).await;
    excludes(&client.rw_lock("e").read().boxed(), &client.rw_lock("e").write()).await;
    excludes(&masters.red_lock("f").boxed(), &masters.red_lock("f")).await;
    excludes(&masters.rw_lock("g").write().boxed(), &masters.rw_lock("g").read()).await;
    let several = || MultiLock::new([client.lock("h"), client.lock("i")]).unwrap();
    excludes(&several().into(), &several()).await;
    let fenced: BoxLock = client.fenced_lock("c").with_lease(fixed(1_000)).boxed().boxed();
    let guard = fenced.acquire().await.unwrap();
    assert!(guard.fencing_token().is_some() && guard.remaining() <= ms(1_000));
    assert_eq!(fenced.name(), "c");
}

/// Work that is bound to its thread, beside work that is not.
#[tokio::test(start_paused = true)]
async fn local_work_is_run_by_any_guard() {
    async fn local(guard: &impl AnyGuard) -> usize {
        let here = Rc::new(5);
        let work = async {
            sleep(ms(10)).await;
            *here
        };
        guard.run_local(work).await.unwrap()
    }
    fn assert_send<T: Send>(work: T) -> T {
        work
    }
    let client = Server::start_here().client().unwrap();
    let guard = client.fenced_lock("x").acquire().await.unwrap();
    assert_eq!(local(&guard).await, 5);
    assert_eq!(assert_send(AnyGuard::run(&guard, async { 6 })).await.unwrap(), 6);
}

#[tokio::test]
async fn masters_are_an_error_if_none_answers_and_not_if_some_do() {
    let server = RedisServer::start();
    let dead = ["redis://127.0.0.1:1", "redis://127.0.0.1:2"].map(str::to_owned);
    let error = soon(Masters::connect(&dead)).await.unwrap_err();
    let ConnectError::Masters { ballot, .. } = &error else { panic!("{error:?}") };
    assert_eq!((ballot.into_iter().count(), error.is_transient()), (2, true));
    let some = [server.url(), dead[0].clone(), dead[1].clone()];
    let masters = soon(Masters::connect(&some)).await.unwrap();
    let refused = soon(masters.red_lock("x").try_acquire()).await;
    assert!(matches!(refused, Err(AcquireError::Unavailable { .. })), "{refused:?}");
    assert_eq!(Masters::connect_lazy(&dead).unwrap().clients().len(), 2);
    assert!(Client::connect_lazy(String::from("redis://127.0.0.1:1")).is_ok());
}
