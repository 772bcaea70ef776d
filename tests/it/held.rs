//! What a client tells of its holds without a word to a server, in paused time.

use std::time::Duration;

use palisade::{
    Masters,
    embedded::Server,
    inspect::{HeldLock, SortOfLock},
};
use tokio::time::sleep;

use crate::support::ms;

fn names(held: &[HeldLock]) -> Vec<(&str, SortOfLock)> {
    held.iter().map(|one| (one.name.as_str(), one.sort)).collect()
}

#[tokio::test(start_paused = true)]
async fn each_kind_is_told_as_what_it_is_for_as_long_as_it_is_held() {
    let client = Server::start_here().client_builder().namespace("shop:").build().unwrap();
    client.semaphore("s").set_permits(3).await.unwrap();
    client.expirable_semaphore("e").set_permits(3).await.unwrap();
    let (plain, fenced) = (client.lock("plain"), client.fenced_lock("fenced"));
    let plain = plain.acquire().await.unwrap();
    sleep(Duration::from_secs(100)).await;
    let fenced = fenced.acquire().await.unwrap();
    let others = (
        client.fair_lock("fair").acquire().await.unwrap(),
        client.rw_lock("rw").read().acquire().await.unwrap(),
        client.semaphore("s").acquire().await.unwrap(),
        client.expirable_semaphore("e").acquire().await.unwrap(),
    );
    let mut held = client.held();
    held.sort_by(|one, other| one.name.as_str().cmp(other.name.as_str()));
    let told = [
        ("e", SortOfLock::Permits),
        ("fair", SortOfLock::Fair),
        ("fenced", SortOfLock::Fenced),
        ("plain", SortOfLock::Lock),
        ("rw", SortOfLock::ReadWrite),
        ("s", SortOfLock::Semaphore),
    ];
    assert_eq!(names(&held), told);
    assert!(held.iter().all(|one| (one.votes, one.servers) == (1, 1)), "{held:?}");
    let [fenced_told, plain_told] = [&held[2], &held[3]];
    assert_eq!(&*plain_told.holder, plain.holder_id());
    assert!(plain_told.held_for >= Duration::from_secs(100), "{plain_told:?}");
    assert!(fenced_told.held_for < Duration::from_secs(1), "{fenced_told:?}");
    assert!(
        plain_told.left > Duration::from_secs(15) && plain_told.left <= Duration::from_secs(30)
    );
    assert_eq!(client.stats().held, 6);
    drop(others);
    fenced.release().await.unwrap();
    plain.release().await.unwrap();
    sleep(ms(100)).await;
    assert_eq!(client.held(), []);
    let stats = client.stats();
    assert_eq!((stats.held, stats.acquiring, stats.releasing), (0, 0, 0));
    assert!(stats.is_connected);
}

#[tokio::test(start_paused = true)]
async fn lock_over_a_majority_is_told_once_with_its_votes() {
    let servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
    let masters = Masters::new(servers.iter().map(|server| server.client().unwrap())).unwrap();
    let guard = masters.red_lock("x").acquire().await.unwrap();
    sleep(Duration::from_secs(1)).await;
    let held = masters.held();
    assert_eq!(held.len(), 1, "{held:?}");
    assert_eq!((held[0].votes, held[0].servers), (3, 3));
    servers[2].kill_and_forget();
    sleep(Duration::from_secs(60)).await;
    let held = masters.clients()[0].held();
    assert_eq!((held.len(), held[0].votes, held[0].servers), (1, 2, 3), "{held:?}");
    assert!(!masters.clients()[2].stats().is_connected);
    servers[1].kill_and_forget();
    guard.lost().await;
    assert_eq!(masters.held(), []);
}

#[tokio::test(start_paused = true)]
async fn what_is_waited_for_is_counted_and_is_not_held() {
    let server = Server::start_here();
    let (client, other) = (server.client().unwrap(), server.client().unwrap());
    let guard = client.lock("x").acquire().await.unwrap();
    let waiter = other.clone();
    let waits = tokio::spawn(async move { waiter.lock("x").acquire().await.unwrap() });
    sleep(ms(500)).await;
    let stats = other.stats();
    assert_eq!((stats.held, stats.acquiring, stats.subscriptions), (0, 1, 1), "{stats:?}");
    assert_eq!((other.held(), client.stats().held), (vec![], 1));
    guard.release().await.unwrap();
    let _guard = waits.await.unwrap();
    let stats = other.stats();
    assert_eq!((client.stats().held, stats.held, stats.acquiring), (0, 1, 0), "{stats:?}");
}
