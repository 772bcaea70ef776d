//! Heals, and others that want the lock, or its end.

use std::time::Duration;

use palisade::LostCause;

use super::{D, Fleet, LEASE, PERIOD, client, forget, holder, votes_return};

// proves: lost-not-healed
#[tokio::test(start_paused = true)]
async fn lock_that_is_forced_open_everywhere_is_lost_and_not_healed() {
    for n in [3, 5] {
        // At every moment of the period: members are renewed at different times.
        for moment in 0..10 {
            let fleet = Fleet::start(n);
            let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
            tokio::time::sleep(LEASE + PERIOD / 10 * moment).await;
            // One of them is renewed at other times than the rest, since it was won back.
            forget(&fleet.servers[0]).await;
            tokio::time::sleep(PERIOD * 3).await;
            assert_eq!(guard.votes(), n);
            let stranger = fleet.another_process();
            for client in stranger.clients() {
                assert!(client.lock("x").force_release().await.unwrap());
            }
            let lost = guard.lost().await;
            assert!(matches!(lost, LostCause::QuorumGone), "{lost:?} at {moment}");
            tokio::time::sleep(LEASE).await;
            assert!(fleet.holders("x").await.iter().all(Option::is_none), "healed at {moment}");
            drop(guard);
            fleet.end(&[&stranger]).await;
        }
    }
}

// proves: lost-not-healed
/// One has said that it is forced open, the others are silent: whether they are, too, is unknown.
#[tokio::test(start_paused = true)]
async fn member_is_not_won_back_before_all_others_were_heard_of() {
    let fleet = Fleet::start(3);
    let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
    votes_return(&guard, 3, PERIOD).await;
    forget(&fleet.servers[0]).await;
    fleet.servers[1].freeze();
    while guard.votes() == 3 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    tokio::time::sleep(PERIOD * 3 / 2).await;
    assert!(guard.is_held());
    assert_eq!(holder(&fleet.servers[0], "x").await, None);
    fleet.servers[1].thaw();
    votes_return(&guard, 3, PERIOD).await;
    guard.release().await.unwrap();
    fleet.end(&[]).await;
}

#[tokio::test(start_paused = true)]
async fn member_that_another_holds_is_left_to_it_and_won_back_behind_it() {
    let fleet = Fleet::start(3);
    let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
    votes_return(&guard, 3, PERIOD).await;
    let single = client(&fleet.servers[1]).lock("x");
    assert!(single.force_release().await.unwrap());
    let other = single.acquire().await.unwrap();
    tokio::time::sleep(LEASE * 3).await;
    assert!(guard.is_held() && other.is_held());
    assert_eq!((guard.votes(), guard.margin()), (2, 0));
    assert_eq!(holder(&fleet.servers[1], "x").await.as_deref(), Some(other.holder_id()));
    other.release().await.unwrap();
    votes_return(&guard, 3, PERIOD * 2).await;
    guard.release().await.unwrap();
    fleet.end(&[]).await;
}

#[tokio::test(start_paused = true)]
async fn contender_waits_out_a_hold_that_is_healed_and_is_granted_behind_it() {
    let fleet = Fleet::start(3);
    let other = fleet.another_process();
    let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
    votes_return(&guard, 3, PERIOD).await;
    let lock = other.red_lock("x");
    let waiting = tokio::spawn(async move { lock.acquire().await });
    for server in &fleet.servers {
        server.kill_and_forget();
        server.restart();
        // Its attempts meet the heals at the restarted master, over and over.
        tokio::time::sleep(D + PERIOD * 3).await;
        assert!(guard.is_held());
        assert!(!waiting.is_finished(), "two holders");
        votes_return(&guard, 3, D).await;
    }
    guard.release().await.unwrap();
    let next = waiting.await.unwrap().unwrap();
    next.release().await.unwrap();
    fleet.end(&[&other]).await;
}

#[tokio::test(start_paused = true)]
async fn quorum_that_others_took_is_told_apart_from_one_that_forgot() {
    let fleet = Fleet::start(3);
    let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
    votes_return(&guard, 3, PERIOD).await;
    let other = fleet.another_process();
    for server in &fleet.servers {
        forget(server).await;
    }
    let next = other.red_lock("x").acquire().await.unwrap();
    assert_eq!(guard.lost().await, LostCause::QuorumTaken);
    next.release().await.unwrap();
    drop(guard);
    fleet.end(&[&other]).await;
}

#[tokio::test(start_paused = true)]
async fn member_of_a_multi_lock_that_another_took_is_named() {
    let fleet = Fleet::start(2);
    let guard = fleet.masters.multi_lock("x").acquire().await.unwrap();
    fleet.servers[1].flush();
    let thief = client(&fleet.servers[1]).lock("x").acquire().await.unwrap();
    let lost = guard.lost().await;
    let node = fleet.masters.clients()[1].node_id().clone();
    assert_eq!(lost.to_string(), format!("another holds \"x\" on {node}"));
    assert!(matches!(lost, LostCause::MemberTaken { .. }), "{lost:?}");
    thief.release().await.unwrap();
    drop(guard);
    fleet.end(&[]).await;
}

#[tokio::test(start_paused = true)]
async fn single_lock_that_another_took_is_told_apart_from_one_that_is_gone() {
    let fleet = Fleet::start(1);
    let lock = fleet.masters.clients()[0].lock("x");
    let other = client(&fleet.servers[0]).lock("x");
    for (is_taken, expected) in [(false, LostCause::Gone), (true, LostCause::Taken)] {
        let guard = lock.acquire().await.unwrap();
        fleet.servers[0].flush();
        let thief = if is_taken { other.try_acquire().await.unwrap() } else { None };
        assert_eq!(tokio::time::timeout(LEASE, guard.lost()).await.unwrap(), expected);
        drop((guard, thief));
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    fleet.end(&[]).await;
}
