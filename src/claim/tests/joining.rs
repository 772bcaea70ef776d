//! Grants that come to a hold that is over unnoticed.

use std::{sync::Arc, time::Duration};

use testkit::RedisServer;

use super::{client, run, term};
use crate::{
    Client, Lease, Quarantine,
    by_member::{ByMember, MemberId},
    claim::{Claim, Wanted, ask, record::ClaimPhase},
    error::Vote,
    reach::test_settings::{until, within},
};

/// Held on two members of three, and not looked after: the first confirms it for ten seconds, the
/// second for thirty.
fn held(clients: [Client; 3]) -> Arc<Claim> {
    let members = clients.map(|client| client.lock("x").voter().clone());
    let members = Arc::new(ByMember::new(members).expect("three"));
    let wanted = Wanted { term: term(Lease::Watchdog), waits: true };
    let claim = Claim::new(&members, 2, wanted);
    let (now, mut state) = (claim.now(), claim.state());
    for (member, ms) in [(0, 10_000), (1, 30_000)] {
        let known = &mut state.members[MemberId::nth(member)];
        known.granted(1, 1, run('a'));
        known.confirmed(wanted.term, now, ms, None);
    }
    state.phase = ClaimPhase::Held;
    drop(state);
    claim
}

// proves: lost-not-healed
#[tokio::test(start_paused = true)]
async fn grant_does_not_revive_what_is_over() {
    for (after, votes) in [(Duration::ZERO, 3), (Duration::from_secs(10), 0)] {
        let claim = held([(); 3].map(|()| client()));
        tokio::time::advance(after).await;
        let (_, vote) = ask(claim.clone(), MemberId::nth(2)).await;
        assert!(matches!(vote, Vote::Granted), "{vote:?}");
        assert_eq!(claim.votes(), votes, "{after:?}");
    }
}

/// It is over while the replica is waited for.
#[tokio::test]
async fn grant_that_replicas_have_does_not_revive_what_is_over() {
    let (master, replica) = (RedisServer::start(), RedisServer::start());
    replica.follow(&master);
    let at = |url: &str| Client::builder().url(url).quarantine(Quarantine::Durable);
    let third = at(&master.url()).node_timeout(LONG).replicas(1).replicas_timeout(LONG).build();
    let third = third.expect("it needs no server yet");
    let guard = within(third.lock("y").acquire()).await.expect("it is free");
    for (is_over, votes) in [(false, 3), (true, 0)] {
        // The others are not asked.
        let others = [1, 2].map(|port| at(&format!("redis://127.0.0.1:{port}")).build());
        let [first, second] = others.map(|client| client.expect("it needs no server yet"));
        let claim = held([first, second, third.clone()]);
        replica.freeze();
        let asked = tokio::spawn(ask(claim.clone(), MemberId::nth(2)));
        let is_answered = || {
            let state = claim.state();
            let third = &state.members[MemberId::nth(2)];
            !third.is_clean() && third.is_settled()
        };
        within(until(async || is_answered().then_some(()))).await;
        if is_over {
            // Another process of the first server has promised nothing.
            claim.state().members[MemberId::FIRST].granted(1, 2, run('b'));
        }
        replica.thaw();
        let (_, vote) = within(asked).await.expect("it does not panic");
        assert!(matches!(vote, Vote::Granted), "{vote:?}");
        assert_eq!(claim.votes(), votes);
        claim.abandon();
        within(until(async || (!master.keys().contains(&"x".into())).then_some(()))).await;
    }
    within(guard.release()).await.expect("it was held");
}

/// A tenth of the lease is less.
const LONG: Duration = Duration::from_secs(30);
