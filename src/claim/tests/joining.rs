//! Grants that come to a hold that is over, and nobody has noticed.

use std::{sync::Arc, time::Duration};

use super::{client, run, term};
use crate::{
    Lease,
    by_member::{ByMember, MemberId},
    claim::{Claim, Wanted, ask, record::ClaimPhase},
    error::Vote,
};

/// Held on two members of three, and looked after by nobody: the first confirms it for ten seconds, the
/// second for thirty.
fn held() -> Arc<Claim> {
    let members = [(); 3].map(|()| client().lock("x").voter().clone());
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

#[tokio::test(start_paused = true)]
async fn grant_does_not_revive_what_is_over() {
    for (after, votes) in [(Duration::ZERO, 3), (Duration::from_secs(10), 0)] {
        let claim = held();
        tokio::time::advance(after).await;
        let (_, vote) = ask(claim.clone(), MemberId::nth(2)).await;
        assert!(matches!(vote, Vote::Granted), "{vote:?}");
        assert_eq!(claim.votes(), votes, "{after:?}");
    }
}
