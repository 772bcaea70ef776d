//! What subscribers are told, by which target, and how often.

use std::time::Duration;

use palisade::{Client, embedded::Server, logging};

use crate::{
    names::Events,
    support::{fixed, ms},
};

fn client(server: &Server) -> Client {
    server.client_builder().build().unwrap()
}

/// The messages of a target that were kept, with what they name.
fn told(target: &str, field: &str) -> Vec<(String, Option<String>)> {
    let events = Events::kept().into_iter().filter(|(of, _)| of == target);
    events
        .map(|(_, fields)| {
            let message = fields.get("message").unwrap_or_default().to_owned();
            (message, fields.get(field).map(str::to_owned))
        })
        .collect()
}

/// It is asked again several times a second, by more than one connection.
#[tokio::test(start_paused = true)]
async fn server_that_cannot_be_reached_is_told_once_and_once_that_it_can_again() {
    let server = Server::start_here();
    let lock = client(&server).lock("x").with_lease(fixed(60_000));
    let guard = lock.acquire().await.unwrap();
    Events::keep();
    for _outage in 0..2 {
        server.kill();
        tokio::time::sleep(Duration::from_secs(20)).await;
        server.restart();
        tokio::time::sleep(Duration::from_secs(20)).await;
    }
    let told = told(logging::NODE, "cause").into_iter();
    let told: Vec<_> = told.filter(|(message, _)| message.starts_with("a server can")).collect();
    let messages: Vec<_> = told.iter().map(|(message, _)| message.as_str()).collect();
    let (down, up) = ("a server cannot be reached", "a server can be reached again");
    assert_eq!(messages, [down, up, down, up]);
    assert!(told[0].1.is_some() && told[2].1.is_some(), "{told:?}");
    drop(guard);
}

#[tokio::test(start_paused = true)]
async fn each_acquire_and_each_end_is_told_to_those_that_listen_to_debug() {
    let server = Server::start_here();
    let (one, other) = (client(&server).lock("x"), client(&server).lock("x"));
    let of_locks = || told(logging::LOCK, "holder");
    Events::keep();
    let guard = one.acquire().await.unwrap();
    let holder = Some(guard.holder_id().to_owned());
    assert_eq!(of_locks(), [("a lock was granted".to_owned(), holder.clone())]);

    Events::keep();
    assert!(other.try_acquire().await.unwrap().is_none());
    assert_eq!(of_locks(), [("a lock was refused: another holds it".to_owned(), None)]);

    Events::keep();
    tokio::time::sleep(ms(1_500)).await;
    guard.release().await.unwrap();
    let kept = Events::kept();
    let over: Vec<_> = kept.iter().filter(|(target, _)| target == logging::LOCK).collect();
    let [(_, over)] = &*over else { panic!("{kept:#?}") };
    assert_eq!(over.get("message"), Some("a turn with a lock is over"));
    assert_eq!(over.get("holder"), holder.as_deref());
    assert_eq!((over.get("held"), over.get("passed_on")), (Some("1.5s"), Some("false")));

    Events::keep();
    server.kill();
    one.try_acquire().await.unwrap_err();
    let messages = of_locks();
    assert_eq!(messages, [("a lock was not acquired".to_owned(), None)]);
}
