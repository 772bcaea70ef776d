//! An owner that asks for what it keeps from itself by another lock is told so, and does not wait.

use palisade::{
    AcquireError, AnyLock, Client, Masters, MultiLock, Owner, RedLock, embedded::Server,
    error::ConfigError,
};

use crate::support::soon;

async fn is_told<L: AnyLock>(lock: &L, owner: &Owner, held: &str) {
    let expected = |error: AcquireError| match error {
        AcquireError::Config(ConfigError::HeldByAnother { name, .. }) => {
            assert!(name.contains(held), "{name}");
        }
        error => panic!("{error}"),
    };
    expected(soon(lock.acquire_as(owner)).await.map(drop).unwrap_err());
    expected(lock.try_acquire_as(owner).await.map(drop).unwrap_err());
}

fn both(client: &Client) -> MultiLock {
    MultiLock::new(["o1", "o2"].map(|name| client.lock(name))).unwrap()
}

#[tokio::test(start_paused = true)]
async fn owner_that_asks_for_several_locks_of_which_it_holds_one_is_told() {
    let client = Server::start_here().client().unwrap();
    let (owner, other) = (Owner::new(), Owner::new());
    let held = client.lock("o1").acquire_as(&owner).await.unwrap();
    is_told(&both(&client), &owner, "o1").await;
    // Another one is refused, and may wait.
    assert!(both(&client).try_acquire_as(&other).await.unwrap().is_none());
    held.release().await.unwrap();
    drop(soon(both(&client).acquire_as(&owner)).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn owner_that_asks_for_one_or_some_of_the_locks_that_it_holds_is_told() {
    let client = Server::start_here().client().unwrap();
    let owner = Owner::new();
    let held = both(&client).acquire_as(&owner).await.unwrap();
    is_told(&client.lock("o2"), &owner, "o1").await;
    let overlapping = MultiLock::new(["o2", "o3"].map(|name| client.lock(name))).unwrap();
    is_told(&overlapping, &owner, "o1").await;
    // The same again is a re-entry.
    both(&client).acquire_as(&owner).await.unwrap().release().await.unwrap();
    held.release().await.unwrap();
    drop(soon(client.lock("o2").acquire_as(&owner)).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn owner_that_reads_may_read_by_another_lock_and_is_told_if_it_asks_to_write() {
    let client = Server::start_here().client().unwrap();
    let owner = Owner::new();
    let [one, two] = ["r1", "r2"].map(|name| client.rw_lock(name));
    let held = one.read().acquire_as(&owner).await.unwrap();
    let readers = MultiLock::new([one.read(), two.read()]).unwrap();
    soon(readers.acquire_as(&owner)).await.unwrap().release().await.unwrap();
    is_told(&MultiLock::new([one.write(), two.write()]).unwrap(), &owner, "r1").await;
    held.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn majority_is_asked_for_where_its_owner_keeps_a_minority_from_itself() {
    let servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
    let clients: Vec<Client> = servers.iter().map(|server| server.client().unwrap()).collect();
    let majority = Masters::new(clients.iter().cloned()).unwrap().red_lock("x");
    let owner = Owner::new();
    let first = clients[0].lock("x").acquire_as(&owner).await.unwrap();
    let guard = soon(majority.acquire_as(&owner)).await.unwrap();
    guard.release().await.unwrap();
    let second = clients[1].lock("x").acquire_as(&owner).await.unwrap();
    is_told::<RedLock>(&majority, &owner, "x").await;
    drop((first, second));
}
