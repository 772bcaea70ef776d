//! What a lost round of a `MultiLock` keeps.

use std::{future::Ready, sync::Arc, time::Duration};

use super::{attempt::Attempt, in_order::InOrder, tally::Rule, votes::Votes};
use crate::{
    Lease, Quarantine,
    by_member::{ByMember, MemberId},
    claim::{Claim, InFlight, Wanted, ask},
    embedded::Server,
    error::Vote,
    random::Random,
};

/// The first member grants, the second refuses, the third grants and is asked to take that back.
/// Whether what the first granted is kept, and stands there, after all that.
async fn is_kept_if_the_third(freezes: bool) -> [bool; 2] {
    let mut servers = [(); 3].map(|()| Server::start_here());
    // The order in which all processes take them.
    servers.sort_by_key(Server::run_id);
    let clients = servers.each_ref().map(|server| {
        let client = server.client_builder().quarantine(Quarantine::Durable);
        client.build().expect("it needs no server yet")
    });
    let _refuses = clients[1].lock("x").acquire().await.expect("it is free");
    let members = clients.iter().map(|client| client.lock("x").voter().clone());
    let members = Arc::new(ByMember::new(members).expect("three"));
    let term = Lease::Watchdog.term(Duration::from_secs(30), Duration::from_secs(60));
    let term = term.expect("the default");
    let claim = Claim::new(&members, 3, Wanted { term, permits: 1, waits: true });
    let mut votes = Votes::new(Rule::All, members.map(|_| Vote::Pending));
    for id in members.ids() {
        let (member, vote) = ask(claim.clone(), id).await;
        votes.record(member, vote);
    }
    assert_eq!(votes.granted(), [0, 2].map(MemberId::nth));
    if freezes {
        servers[2].freeze();
    }
    let (mut in_order, asked) = (InOrder::default(), InFlight::<Ready<(MemberId, Vote)>>::none());
    let refusals = in_order.lost(Attempt::new(claim), asked, votes, &Random::seeded(1)).await;
    assert_eq!(refusals.by.len(), 1);
    [in_order.kept().is_some(), clients[0].lock("x").is_locked().await.expect("it is up")]
}

#[tokio::test(start_paused = true)]
async fn first_member_is_kept_once_nothing_is_left_behind_it() {
    assert_eq!(is_kept_if_the_third(false).await, [true, true]);
}

/// The claim would ask the frozen member again, and its release may come behind that: it would
/// delete a key that is relied upon.
#[tokio::test(start_paused = true)]
async fn nothing_is_kept_while_a_release_behind_it_is_not_final() {
    assert_eq!(is_kept_if_the_third(true).await, [false, false]);
}
