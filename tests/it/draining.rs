//! Clients that come to their end without stopping work half way, in paused time.

use std::time::Duration;

use palisade::{
    AcquireError, Client, LostCause, Masters, Owner,
    embedded::Server,
    waiting::{Backoff, WaitStrategy},
};
use tokio::time::{Instant, sleep};

use crate::support::ms;

const LIMIT: Duration = Duration::from_secs(20);

fn drains(said: Result<impl Sized, AcquireError>) -> bool {
    matches!(said, Err(AcquireError::Draining))
}

async fn draining(client: &Client) -> tokio::task::JoinHandle<usize> {
    let client = client.clone();
    let task = tokio::spawn(async move { client.drain(LIMIT).await });
    sleep(ms(100)).await;
    task
}

#[tokio::test(start_paused = true)]
async fn what_is_held_comes_to_its_end_and_nothing_new_is_acquired() {
    let client = Server::start_here().client().unwrap();
    let guard = client.lock("x").acquire().await.unwrap();
    let began = Instant::now();
    let task = draining(&client).await;
    assert!(drains(client.lock("y").acquire().await));
    assert!(drains(client.lock("y").try_acquire().await));
    assert!(drains(client.lock("y").try_acquire_for(ms(100)).await));
    assert!(drains(client.semaphore("s").try_acquire().await));
    // Its lease is renewed as ever, and it is entered again.
    sleep(Duration::from_secs(15)).await;
    guard.ensure_valid().unwrap();
    guard.reenter().unwrap().release().await.unwrap();
    guard.release().await.unwrap();
    assert_eq!(task.await.unwrap(), 0);
    assert!(began.elapsed() < Duration::from_secs(17), "{:?}", began.elapsed());
    assert!(drains(client.lock("y").acquire().await), "for good");
    client.shutdown(ms(1_000)).await.unwrap();
    assert!(matches!(client.lock("y").acquire().await, Err(AcquireError::Shutdown)));
}

#[tokio::test(start_paused = true)]
async fn what_is_left_at_the_limit_is_lost_and_counted() {
    let server = Server::start_here();
    let (client, other) = (server.client().unwrap(), server.client().unwrap());
    let one = client.lock("x").acquire().await.unwrap();
    let _two = client.lock("y").acquire().await.unwrap();
    let began = Instant::now();
    assert_eq!(client.drain(Duration::from_secs(3)).await, 2);
    assert_eq!(began.elapsed().as_secs(), 3);
    assert_eq!(one.lost().await, LostCause::Shutdown);
    client.shutdown(ms(1_000)).await.unwrap();
    assert!(other.lock("x").try_acquire().await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_are_told_at_once_however_they_wait() {
    let server = Server::start_here();
    let (client, other) = (server.client().unwrap(), server.client().unwrap());
    let _held = other.lock("x").acquire().await.unwrap();
    let slowly = Backoff::new(Duration::from_secs(60), Duration::from_secs(60)).unwrap();
    let polls = client.lock("x").wait_strategy(WaitStrategy::Poll(slowly));
    let waiters = [client.lock("x"), client.lock("x"), polls]
        .map(|lock| tokio::spawn(async move { drains(lock.acquire().await) }));
    sleep(ms(500)).await;
    let began = Instant::now();
    assert_eq!(client.drain(LIMIT).await, 0);
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    for waiter in waiters {
        assert!(waiter.await.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn owner_that_holds_something_acquires_more_until_it_lets_go() {
    let client = Server::start_here().client().unwrap();
    client.semaphore("s").try_set_permits(1).await.unwrap();
    let owner = Owner::new();
    let outer = client.lock("x").acquire_as(&owner).await.unwrap();
    let task = draining(&client).await;
    let inner = client.lock("y").acquire_as(&owner).await.unwrap();
    let again = client.lock("x").acquire_as(&owner).await.unwrap();
    let permit = owner.clone().scope(client.semaphore("s").acquire()).await.unwrap();
    assert!(drains(client.semaphore("s").acquire().await), "outside of its scope");
    assert!(drains(client.lock("z").acquire_as(&Owner::new()).await), "it holds nothing");
    permit.release().await.unwrap();
    for guard in [again, inner, outer] {
        guard.release().await.unwrap();
    }
    assert!(drains(client.lock("z").acquire_as(&owner).await), "it holds nothing any more");
    assert_eq!(task.await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn waiter_is_told_when_its_owner_lets_go() {
    let server = Server::start_here();
    let (client, other) = (server.client().unwrap(), server.client().unwrap());
    let _held = other.lock("y").acquire().await.unwrap();
    let owner = Owner::new();
    let guard = client.lock("x").acquire_as(&owner).await.unwrap();
    let (lock, same) = (client.lock("y"), owner.clone());
    let waiter = tokio::spawn(async move { drains(lock.acquire_as(&same).await) });
    let task = draining(&client).await;
    sleep(Duration::from_secs(2)).await;
    assert!(!waiter.is_finished(), "its owner holds something");
    guard.release().await.unwrap();
    let began = Instant::now();
    assert!(waiter.await.unwrap());
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(task.await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn hold_on_several_masters_is_counted_once() {
    let servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
    let masters = Masters::new(servers.iter().map(|server| server.client().unwrap())).unwrap();
    let _red = masters.red_lock("x").acquire().await.unwrap();
    let _multi = masters.multi_lock("y").acquire().await.unwrap();
    assert_eq!(masters.drain(ms(500)).await, 2);
    assert!(drains(masters.red_lock("z").acquire().await));
}
