//! What is believed of a member, and what is not.

mod fencing;
mod joining;
mod member_state;
#[cfg(shuttle)]
mod orders;
mod renewing;
mod rewriting;

use std::time::Duration;

use crate::{
    Client, Lease, clock::Instant, embedded::Server, kind::FencingToken, lease::Term,
    socket::Connection, standing::RunId,
};

fn s(seconds: u64) -> Instant {
    Instant::from_origin(Duration::from_secs(seconds))
}

fn term(lease: Lease) -> Term {
    lease.term(Duration::from_secs(30), Duration::from_secs(60)).expect("an allowed lease")
}

fn token(number: i64) -> FencingToken {
    FencingToken::of(number).expect("not zero")
}

fn run(letter: char) -> Option<RunId> {
    RunId::new(&letter.to_string().repeat(40))
}

fn client() -> Client {
    Server::start_here().client().expect("it needs no server yet")
}

/// A socket, as what was asked has gone out on.
async fn connection() -> Connection {
    let services = client().lock("x").voter().services.clone();
    let limit = services.now() + Duration::from_secs(60);
    services.node.connection("x", limit).await.expect("it is up")
}
