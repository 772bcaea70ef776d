//! Wake-ups and attempts that must not be missed.

use std::time::Duration;

use palisade::{AcquireError, Client, Lease, MultiLock, embedded::Server, error::NodeError};
use testkit::RedisServer;
use tokio::time::Instant;

use crate::{
    outside::ask,
    support::{ms, patient, promptly},
};

#[tokio::test(start_paused = true)]
async fn waiters_that_name_the_members_in_another_order_hear_of_the_right_ones() {
    let server = Server::start_here();
    let client = server.client().unwrap();
    let (x, y) = (client.lock("x"), client.lock("y"));
    let forth = MultiLock::new([x.clone(), y.clone()]).unwrap();
    let back = MultiLock::new([y.clone(), x.clone()]).unwrap();
    let holder = y.acquire().await.unwrap();
    let first = tokio::spawn(async move { forth.acquire().await.unwrap() });
    tokio::time::sleep(ms(20)).await;
    let second = tokio::spawn(async move { (back.acquire().await.unwrap(), Instant::now()) });
    tokio::time::sleep(ms(20)).await;
    // Now the second is at the head, and refused by `y` alone.
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    tokio::time::sleep(ms(100)).await;
    let before = server.commands_processed();
    tokio::time::sleep(ms(1400)).await;
    let asked = server.commands_processed() - before;
    assert!(asked < 40, "{asked} commands while there was nothing to be had");
    let released = Instant::now();
    holder.release().await.unwrap();
    let (_guard, woken) = second.await.unwrap();
    assert!(woken - released < ms(300), "{:?}", woken - released);
}

#[tokio::test]
async fn those_who_may_not_listen_are_served_one_after_the_other_all_the_same() {
    let server = RedisServer::start();
    server.cli(&["ACL", "SETUSER", "deaf", "on", ">secret", "~*", "resetchannels", "+@all"]);
    let url = server.url_with("deaf", "secret");
    let client = patient(&server).url(&url).connect().await.unwrap();
    let works = (0..5).map(async |_| {
        let guard = client.lock("x").acquire().await.unwrap();
        tokio::time::sleep(ms(10)).await;
        guard.release().await.unwrap();
    });
    promptly(&server, futures::future::join_all(works)).await;
}

#[tokio::test]
async fn a_user_who_may_set_a_field_but_nothing_else_leaves_no_key() {
    let server = RedisServer::start();
    for missing in
        [["-pttl"].as_slice(), &["-pexpire"], &["-pexpire", "-del"], &["-pexpire", "-hdel"]]
    {
        let mut rule =
            vec!["ACL", "SETUSER", "half", "reset", "on", ">secret", "~*", "&*", "+@all"];
        rule.extend(missing);
        server.cli(&rule);
        let client =
            patient(&server).url(&server.url_with("half", "secret")).connect().await.unwrap();
        let refused = client.lock("x").try_acquire().await;
        let Err(AcquireError::Denied { ballot, .. }) = refused else { panic!("{refused:?}") };
        let causes: Vec<_> = ballot.failures().map(|(_, cause)| cause.clone()).collect();
        assert!(matches!(*causes, [NodeError::Permission { .. }]), "{causes:?}");
        assert_eq!(server.keys(), Vec::<String>::new(), "{missing:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_short_lease_is_granted_although_the_servers_clock_was_stepped_a_little() {
    let server = Server::start_here();
    let client = server.client().unwrap();
    let lock = client.lock("x").with_lease(Lease::Fixed(ms(200)));
    lock.acquire().await.unwrap().release().await.unwrap();
    tokio::time::sleep(Duration::from_secs(50)).await;
    // From now on every sample is slower than the best.
    server.set_delay(ms(5));
    server.jump_clock(400);
    lock.acquire().await.unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_attempt_is_not_refused_by_what_the_one_before_it_is_giving_back() {
    let servers: Vec<Server> = (0..2).map(|_| Server::start_here()).collect();
    let clients: Vec<Client> = servers.iter().map(|server| server.client().unwrap()).collect();
    let both = MultiLock::new(clients.iter().map(|client| client.lock("x"))).unwrap();
    both.acquire().await.unwrap().release().await.unwrap();
    let _other = servers[0].client().unwrap().lock("x").acquire().await.unwrap();
    servers[1].set_delay(ms(50));
    assert!(both.try_acquire().await.unwrap().is_none());
    // Not a flush, which would take the server's vote away.
    assert_eq!(ask::<i64>(&servers[0], &["DEL", "x"]).await, 1);
    assert!(both.try_acquire().await.unwrap().is_some(), "refused by its own earlier attempt");
}
