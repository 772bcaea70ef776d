//! What a lost round of a `MultiLock` keeps, and which members agree on a token.

mod rounds;

use std::{
    collections::BTreeSet,
    future::{Future, Ready},
    sync::Arc,
    time::Duration,
};

use super::{
    agreeing::write_back, attempt::Attempt, fence::Fence, in_order::InOrder, tally::Rule,
    votes::Votes,
};
use crate::{
    Client, Lease, Quarantine,
    by_member::{ByMember, MemberId},
    claim::{Claim, InFlight, Wanted, ask, roll_back_all, roll_back_some},
    embedded::Server,
    error::{NodeError, Vote},
    guard::LockGuard,
    random::Random,
    voting::Voter,
    wait::Refusals,
};

/// A `MultiLock` on three servers, and its holders on some of them.
struct Scene {
    /// In the order in which all processes take them.
    servers: [Server; 3],
    clients: [Client; 3],
    members: Arc<ByMember<Voter>>,
    others: Vec<LockGuard>,
    lease: Duration,
    in_order: InOrder,
}

impl Scene {
    async fn held_on(held: &[usize]) -> Self {
        let mut servers = [(); 3].map(|()| Server::start_here());
        servers.sort_by_key(Server::run_id);
        let clients = servers.each_ref().map(|server| {
            let client = server.client_builder().quarantine(Quarantine::Durable);
            client.build().expect("it needs no server yet")
        });
        let mut others = Vec::new();
        for i in held {
            let client = clients.get(*i).expect("one of three");
            others.push(client.lock("x").acquire().await.expect("it is free"));
        }
        let members = clients.iter().map(|client| client.lock("x").voter().clone());
        let members = Arc::new(ByMember::new(members).expect("three"));
        for client in &clients {
            // From now on it is known which run this is, and so the order.
            client.lock("x").is_locked().await.expect("it is up");
        }
        let lease = Duration::from_secs(30);
        let in_order = InOrder::wanted_since(members.first().services.now());
        Self { servers, clients, members, others, lease, in_order }
    }

    fn claim(&self) -> Arc<Claim> {
        let term = Lease::WatchdogOf(self.lease).term(self.lease, Duration::from_secs(60));
        let term = term.expect("it is allowed");
        Claim::new(&self.members, 3, Wanted { term, waits: true })
    }

    fn no_votes(&self) -> Votes {
        Votes::new(Rule::All, self.members.map(|_| Vote::Pending))
    }

    /// A round in which these are asked, and lost.
    async fn lose(&mut self, asked: &[usize]) -> Refusals {
        let (claim, mut votes) = (self.claim(), self.no_votes());
        for i in asked {
            let (member, vote) = ask(claim.clone(), MemberId::nth(*i)).await;
            votes.record(member, vote);
        }
        self.lose_by(claim, votes, nobody()).await
    }

    /// A round of all with what is kept, as after an alarm, or when the member that is waited for has failed.
    async fn lose_again(&mut self) -> Refusals {
        self.in_order.ask_all();
        let attempt = self.in_order.take_kept().expect("something is kept");
        let (claim, mut votes) = (attempt.claim().clone(), self.no_votes());
        for id in self.members.ids() {
            let (member, vote) = ask(claim.clone(), id).await;
            votes.record(member, vote);
        }
        self.in_order.lost(attempt, nobody(), votes, &Random::seeded(1)).await
    }

    async fn lose_by(
        &mut self,
        claim: Arc<Claim>,
        votes: Votes,
        asked: InFlight<impl Future<Output = (MemberId, Vote)>>,
    ) -> Refusals {
        self.in_order.lost(Attempt::new(claim), asked, votes, &Random::seeded(1)).await
    }

    /// Whether something is kept, and stands there.
    async fn keeps(&self) -> [bool; 2] {
        let stands = self.clients[0].lock("x").is_locked().await.expect("it is up");
        [self.in_order.kept().is_some(), stands]
    }
}

/// No other is asked.
const fn nobody() -> InFlight<Ready<(MemberId, Vote)>> {
    InFlight::none()
}

/// For how long the only one is waited for that refused.
fn wait(refusals: &Refusals) -> Duration {
    let [(_, Some(wait))] = *refusals.by else { panic!("{refusals:?}") };
    wait
}

const STEP: Duration = Duration::from_nanos(1);

#[tokio::test(start_paused = true)]
async fn first_member_is_kept_once_nothing_is_left_behind_it() {
    let mut scene = Scene::held_on(&[1]).await;
    let refusals = scene.lose(&[0, 1, 2]).await;
    assert_eq!((refusals.by.len(), refusals.enough), (1, 1));
    assert_eq!(scene.keeps().await, [true, true]);
}

/// The claim asks the last member again, and a copy of its release may come behind that, whether one was
/// answered or not: by the same id it would delete a key that is relied upon. The first is kept, and the second
/// has nothing to give back.
#[tokio::test(start_paused = true)]
async fn member_that_was_given_back_is_asked_by_another_id_and_the_first_is_kept() {
    for freezes in [false, true] {
        let mut scene = Scene::held_on(&[1]).await;
        let (claim, mut votes) = (scene.claim(), scene.no_votes());
        for id in scene.members.ids() {
            let (member, vote) = ask(claim.clone(), id).await;
            votes.record(member, vote);
        }
        assert_eq!(votes.standing(), [0, 2].map(MemberId::nth));
        if freezes {
            scene.servers[2].freeze();
        }
        scene.lose_by(claim.clone(), votes, nobody()).await;
        assert_eq!(scene.keeps().await, [true, true], "{freezes}");
        let is_another = |id| claim.holder_at(id) != *claim.holder();
        let others = [0, 1, 2].map(MemberId::nth).map(is_another);
        assert_eq!(others, [false, false, true], "{freezes}");
    }
}

/// Each time that it is given back, the next id is one that nothing was said by.
#[tokio::test(start_paused = true)]
async fn member_that_is_given_back_twice_has_had_three_ids() {
    let scene = Scene::held_on(&[]).await;
    let (claim, last) = (scene.claim(), MemberId::nth(2));
    let mut ids = BTreeSet::from([claim.holder_at(last)]);
    for times in 1..=2 {
        let (_, vote) = ask(claim.clone(), last).await;
        assert!(matches!(vote, Vote::Granted), "{vote:?}");
        roll_back_some(&claim, &[last]).await;
        ids.insert(claim.holder_at(last));
        assert_eq!(ids.len(), 1 + times);
        // Nothing stands there, and nothing is said.
        roll_back_some(&claim, &[last]).await;
        assert!(ids.contains(&claim.holder_at(last)), "{times}");
    }
    roll_back_all(&claim).await;
}

#[tokio::test(start_paused = true)]
async fn only_what_stands_before_a_member_that_refused_is_kept() {
    for (held, asked, fails, kept) in [
        (vec![1], [0, 1], 2, [true, true]),
        (vec![2], [0, 2], 1, [false, false]),
        (vec![0, 1], [0, 1], 2, [false, true]),
    ] {
        let mut scene = Scene::held_on(&held).await;
        let (claim, mut votes) = (scene.claim(), scene.no_votes());
        for i in asked {
            let (member, vote) = ask(claim.clone(), MemberId::nth(i)).await;
            votes.record(member, vote);
        }
        votes.record(MemberId::nth(fails), Vote::Failed(NodeError::Closed));
        scene.lose_by(claim, votes, nobody()).await;
        assert_eq!(scene.keeps().await, kept, "{held:?} {asked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_is_let_go_after_a_while_and_nothing_is_kept_for_another() {
    let mut scene = Scene::held_on(&[1]).await;
    let refusals = scene.lose(&[0, 1]).await;
    let lost_at = scene.claim().now();
    let keep = wait(&refusals);
    assert!((2_000..2_500).contains(&keep.as_millis()), "{keep:?}");
    scene.in_order.let_go(lost_at + keep - STEP).await;
    assert_eq!(scene.keeps().await, [true, true]);
    scene.in_order.let_go(lost_at + keep).await;
    assert_eq!(scene.keeps().await, [false, false]);
    for (wait_for, kept) in [(Duration::ZERO, false), (LET_GO + keep - STEP, false), (STEP, true)] {
        tokio::time::advance(wait_for).await;
        scene.lose(&[0, 1]).await;
        assert_eq!(scene.keeps().await, [kept; 2], "{wait_for:?}");
    }
}

/// The member that was waited for in vain was held for long. It is no longer.
#[tokio::test(start_paused = true)]
async fn something_is_kept_again_once_the_member_that_was_waited_for_has_granted() {
    let mut scene = Scene::held_on(&[1]).await;
    let keep = wait(&scene.lose(&[0, 1]).await);
    let lost_at = scene.claim().now();
    scene.in_order.let_go(lost_at + keep).await;
    scene.lose(&[0, 1]).await;
    assert_eq!(scene.keeps().await, [false, false], "it was kept in vain");
    scene.others.remove(0).release().await.expect("it was held");
    let (attempt, mut votes) = (Attempt::new(scene.claim()), scene.no_votes());
    let attempt = scene.in_order.retry_blocker(attempt, &mut votes).await.expect("it is free");
    roll_back_all(attempt.claim()).await;
    let client = scene.clients.get(1).expect("one of three");
    scene.others.push(client.lock("x").acquire().await.expect("it is free"));
    scene.lose(&[0, 1]).await;
    assert_eq!(scene.keeps().await, [true, true]);
}

/// As long as the members are.
const LET_GO: Duration = Duration::from_secs(10);

#[tokio::test(start_paused = true)]
async fn time_to_keep_goes_on_with_each_lost_round_and_begins_anew_once_one_more_grants() {
    let mut scene = Scene::held_on(&[1, 2]).await;
    let keep = wait(&scene.lose(&[0, 1, 2]).await);
    let later = Duration::from_millis(700);
    for rounds in 1..=2 {
        tokio::time::advance(later).await;
        assert_eq!(wait(&scene.lose_again().await), keep - later * rounds);
    }
    scene.others.remove(0).release().await.expect("it was held");
    assert_eq!(wait(&scene.lose_again().await), keep);
}

#[tokio::test(start_paused = true)]
async fn short_lease_is_kept_for_half_of_it() {
    let mut scene = Scene::held_on(&[1]).await;
    scene.lease = Duration::from_secs(1);
    assert_eq!(wait(&scene.lose(&[0, 1]).await), Duration::from_millis(500));
}

#[tokio::test(start_paused = true)]
async fn member_that_refused_is_asked_alone_for_a_while() {
    let alone = Duration::from_secs(5);
    for (later, is_freed, granted) in [
        (alone - STEP, false, None),
        (alone - STEP, true, Some(vec![MemberId::FIRST])),
        (alone, true, Some(Vec::new())),
    ] {
        let mut scene = Scene::held_on(&[0]).await;
        let lost_at = scene.claim().now();
        assert_eq!(scene.in_order.has_waited(lost_at), None);
        assert_eq!(wait(&scene.lose(&[0, 1]).await), alone);
        assert_eq!(scene.in_order.has_waited(lost_at + alone), Some(alone));
        if is_freed {
            scene.others.remove(0).release().await.expect("it was held");
        }
        tokio::time::advance(later).await;
        let (attempt, mut votes) = (Attempt::new(scene.claim()), scene.no_votes());
        match scene.in_order.retry_blocker(attempt, &mut votes).await {
            Ok(_attempt) => assert_eq!(Some(votes.standing()), granted, "{later:?}"),
            Err(refusals) => {
                assert_eq!((wait(&refusals), None), (alone - later, granted), "{later:?}");
                assert_eq!(scene.in_order.has_waited(lost_at + alone), Some(alone));
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_given_back_is_free_and_nobody_is_asked_alone() {
    let mut scene = Scene::held_on(&[1]).await;
    scene.lose(&[0, 1]).await;
    let now = scene.claim().now();
    assert!(scene.in_order.has_waited(now).is_some());
    scene.in_order.give_back().await;
    assert_eq!(scene.keeps().await, [false, false]);
    assert_eq!(scene.in_order.has_waited(now), None);
    scene.lose(&[0, 1]).await;
    assert_eq!(scene.keeps().await, [true, true], "it was not kept in vain");
    scene.in_order.ask_all();
    assert_eq!(scene.in_order.has_waited(now), None);
    assert!(scene.in_order.take_kept().is_some());
    assert!(scene.in_order.kept().is_none());
}

/// The first member answers a second after the next has refused.
#[tokio::test(start_paused = true)]
async fn far_member_is_heard_once_a_round_was_lost_before() {
    let mut scene = Scene::held_on(&[1]).await;
    for (round, waits, kept) in [(1, 0, false), (2, 1, true)] {
        let (claim, mut votes) = (scene.claim(), scene.no_votes());
        let far = claim.clone();
        let far = async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            ask(far, MemberId::FIRST).await
        };
        votes.record(MemberId::nth(1), Vote::Refused { ttl: None });
        let before = claim.now();
        scene.lose_by(claim.clone(), votes, InFlight::send([far])).await;
        assert_eq!(claim.now().saturating_since(before).as_secs(), waits, "{round}");
        assert_eq!(scene.keeps().await, [kept; 2], "{round}");
    }
}

/// The first member is asked again, and a copy of the release may come behind that: by another id.
#[tokio::test(start_paused = true)]
async fn place_in_a_queue_is_kept_beside_a_release_that_was_answered_or_not() {
    for freezes in [false, true] {
        let mut scene = Scene::held_on(&[]).await;
        let held = scene.clients[1].fair_lock("x").acquire().await.expect("it is free");
        let (plain, fair) = (scene.clients[0].lock("x"), scene.clients[1].fair_lock("x"));
        let members = [plain.voter(), fair.voter()].map(Voter::clone);
        scene.members = Arc::new(ByMember::new(members).expect("two"));
        let (first, second) = (MemberId::nth(0), MemberId::nth(1));
        let (attempt, vote) = Attempt::new(scene.claim()).ask_alone(second).await;
        assert!(matches!(vote, Vote::Refused { .. }), "{vote:?}");
        let (_, vote) = ask(attempt.claim().clone(), first).await;
        assert!(matches!(vote, Vote::Granted), "{vote:?}");
        if freezes {
            scene.servers[0].freeze();
        }
        let left = attempt.without_grants().await;
        let claim = left.as_ref().map(Attempt::claim).expect("its place is kept");
        assert!(claim.place().is_some());
        assert_ne!(claim.holder_at(first), *claim.holder(), "{freezes}");
        assert_eq!(claim.holder_at(second), *claim.holder(), "{freezes}");
        assert_eq!(fair.waiting().await.expect("it is up").len(), 1);
        drop((left, held));
    }
}

/// The members that confirm are too few by now: those that are still asked may make them enough.
#[tokio::test(start_paused = true)]
async fn token_is_agreed_on_with_a_member_that_grants_while_too_few_confirm() {
    let servers = [(); 3].map(|()| Server::start_here());
    let clients = servers.each_ref().map(|server| {
        let client = server.client_builder().quarantine(Quarantine::Durable);
        client.build().expect("it needs no server yet")
    });
    let members = clients.iter().map(|client| client.fenced_lock("x").as_member());
    let members = Arc::new(ByMember::new(members).expect("three"));
    let term = Lease::Watchdog.term(Duration::from_secs(30), Duration::from_secs(60));
    let wanted = Wanted { term: term.expect("it is allowed"), waits: false };
    let claim = Claim::new(&members, 2, wanted);
    let mut votes = Votes::new(Rule::Majority, members.map(|_| Vote::Pending));
    let (first, vote) = ask(claim.clone(), MemberId::nth(0)).await;
    votes.record(first, vote);
    let fence = Fence::of(&claim.told_tokens(), claim.need()).expect("one has told");
    let mut asked = InFlight::send([ask(claim.clone(), MemberId::nth(1))]);
    assert!(write_back(&claim, fence, &mut asked, &mut votes).await);
    let told = claim.told_tokens();
    let wrote: Vec<_> = told.values().flatten().map(|told| told.token).collect();
    assert_eq!(wrote, [fence.token(); 2]);
}
