//! What a round that was not won leaves on the servers, and by which id the next one asks.

use std::{pin::pin, time::Duration};

use futures::{FutureExt, join};
use tokio::task::yield_now;

use crate::{
    Client, Lease, Quarantine,
    acquire::{acquisition::Acquisition, target::Target},
    claim::Wanted,
    embedded::Server,
    voting::Voter,
    wait::{Cause, Contender, Round},
};

fn client(server: &Server) -> Client {
    let client = server.client_builder().quarantine(Quarantine::Durable);
    client.build().expect("it needs no server yet")
}

/// A waiter for it.
fn waiter(member: &Voter, lease: Duration) -> Acquisition {
    let term = Lease::Fixed(lease).term(lease, lease).expect("it is allowed");
    Acquisition::new(Target::one(member.clone()), Wanted { term, waits: true }, true, true)
}

/// The tasks of the server and of the connection do all that they can, and no time goes by.
async fn others_work() {
    for _ in 0..100 {
        yield_now().await;
    }
}

fn exists(server: &Server, key: &str) -> bool {
    let (mut direct, mut said) = (server.direct().expect("it is up"), Vec::new());
    direct.send(format!("EXISTS {key}\r\n").as_bytes());
    direct.receive(&mut said);
    said == b":1\r\n"
}

const LEASE: Duration = Duration::from_secs(10);

/// The answer comes in time, and is looked at when most of the lease is over.
#[tokio::test(start_paused = true)]
async fn round_that_is_granted_too_late_is_taken_back_before_it_ends() {
    let server = Server::start_here();
    let client = client(&server);
    let lock = client.lock("x");
    let guard = lock.acquire().await.expect("it is free");
    guard.release().await.expect("it was held");
    let mut waiter = waiter(lock.voter(), LEASE);
    let round = {
        let mut round = pin!(waiter.round(Cause::Arrival));
        assert!(round.as_mut().now_or_never().is_none());
        others_work().await;
        assert!(exists(&server, "x"), "it was granted");
        tokio::time::advance(LEASE - LEASE / 10).await;
        round.await
    };
    assert!(matches!(round, Round::Late(_) | Round::Outage(_)), "{round:?}");
    assert!(!exists(&server, "x"));
}

#[tokio::test(start_paused = true)]
async fn place_in_a_queue_is_left_before_a_waiter_goes() {
    let server = Server::start_here();
    let client = client(&server);
    let fair = client.fair_lock("x");
    let _held = fair.acquire().await.expect("it is free");
    let mut waiter = waiter(fair.voter(), LEASE);
    let round = waiter.round(Cause::Arrival).await;
    assert!(matches!(round, Round::Refused(_)), "{round:?}");
    assert_eq!(fair.waiting().await.expect("it is up").len(), 1);
    waiter.give_back().await;
    assert_eq!(fair.waiting().await.expect("it is up").len(), 0);
}

/// An acquire that was left on a broken socket may be executed at any time.
#[tokio::test(start_paused = true)]
async fn id_is_asked_with_again_after_a_refusal_unless_something_of_it_may_come_late() {
    for breaks in [false, true] {
        let server = Server::start_here();
        let (client, another) = (client(&server), client(&server));
        let _held = another.lock("x").acquire().await.expect("it is free");
        let lock = client.lock("x");
        assert!(lock.is_locked().await.expect("it is up"));
        let mut waiter = waiter(lock.voter(), LEASE);
        let first = waiter.next_holder();
        if breaks {
            server.freeze();
        }
        let breaking = async {
            others_work().await;
            if breaks {
                server.restart();
            }
        };
        let (round, ()) = join!(waiter.round(Cause::Arrival), breaking);
        assert!(matches!(round, Round::Refused(_)), "{round:?}");
        assert_eq!(waiter.next_holder() == first, !breaks);
    }
}
