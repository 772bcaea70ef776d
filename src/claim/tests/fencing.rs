//! Tokens that members tell.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use super::{client, run, term, token};
use crate::{
    Lease,
    by_member::{ByMember, MemberId},
    claim::{Claim, LossListener, Wanted},
    error::LostCause,
    guard::Proof,
    kind::FencingToken,
};

/// A claim on one member that granted with the token 5, in the run `a`.
fn granted() -> Arc<Claim> {
    let members = Arc::new(ByMember::one(client().lock("x").voter().clone()));
    let wanted = Wanted { term: term(Lease::Watchdog), waits: true };
    let claim = Claim::new(&members, 1, wanted);
    let mut state = claim.state();
    state.members[MemberId::FIRST].granted(1, 1, run('a'));
    state.members[MemberId::FIRST].wrote(token(5));
    drop(state);
    claim
}

#[tokio::test]
async fn token_that_was_raised_counts_for_the_run_that_granted_only() {
    for (raised_in, told) in [(run('b'), 5), (None, 5), (run('a'), 9)] {
        let claim = granted();
        claim.promoted(MemberId::FIRST, token(9), raised_in);
        let tokens = claim.told_tokens();
        let counts = tokens.first().map(|told| told.token);
        assert_eq!(counts, Some(token(told)), "raised in {raised_in:?}");
    }
}

/// A server may have been replaced since it wrote the next one's: then it is not written any more.
#[tokio::test(start_paused = true)]
async fn hold_is_handed_on_only_with_a_token_that_is_written() {
    let guard = client().fenced_lock("x").acquire().await.expect("it is free");
    let turn = guard.guard().turn().clone();
    let claim = turn.claim();
    let next = claim.token().and_then(FencingToken::next);
    claim.end_turn();
    assert!(!claim.hand_to(next, Arc::<crate::guard::Turn>::downgrade(&turn)));
    let run_id = claim.members().first().services.node.run_id();
    claim.promoted(MemberId::FIRST, next.expect("there are more"), run_id);
    assert!(claim.hand_to(next, Arc::<crate::guard::Turn>::downgrade(&turn)));
}

#[derive(Debug)]
struct Nobody;

impl LossListener for Nobody {
    fn on_lost(&self, _cause: &LostCause) {}
}

/// Neither as it is asked for nor as it is held has the shutdown found it.
#[tokio::test]
async fn claim_is_not_won_once_a_client_of_it_was_shut_down() {
    for is_shut_down in [false, true] {
        let clients = [(); 2].map(|()| client());
        let members = clients.each_ref().map(|client| client.lock("x").voter().clone());
        let members = Arc::new(ByMember::new(members).expect("two"));
        let wanted = Wanted { term: term(Lease::Watchdog), waits: true };
        let claim = Claim::new(&members, 2, wanted);
        let now = claim.now();
        for id in members.ids() {
            let known = &mut claim.state().members[id];
            known.granted(1, 1, run('a'));
            known.confirmed(wanted.term, now, wanted.term.ms(), None);
        }
        if is_shut_down {
            clients[1].shutdown(Duration::ZERO).await.expect("nothing is under way");
        }
        assert_eq!(claim.win(None, Weak::<Nobody>::new()), !is_shut_down);
    }
}

// proves: counter-rises
/// All members have granted, each with a token.
#[tokio::test(start_paused = true)]
async fn claim_is_won_with_a_token_only_if_enough_members_wrote_that_one() {
    for (tokens, is_won) in [([7, 7, 5], true), ([7, 5, 5], false), ([7, 9, 9], false)] {
        let members = tokens.map(|_| client().fenced_lock("x").as_member());
        let members = Arc::new(ByMember::new(members).expect("three"));
        let wanted = Wanted { term: term(Lease::Watchdog), waits: true };
        let claim = Claim::new(&members, 2, wanted);
        let (now, mut state) = (claim.now(), claim.state());
        for (id, number) in members.ids().zip(tokens) {
            let known = &mut state.members[id];
            known.granted(1, 1, run('a'));
            known.wrote(token(number));
            known.confirmed(wanted.term, now, wanted.term.ms(), None);
        }
        drop(state);
        assert_eq!(claim.win(Some(token(7)), Weak::<Nobody>::new()), is_won, "{tokens:?}");
    }
}
