//! A minute of a Redis Cluster whose slots move all the time: a binary of its own, as it takes so long and is
//! run once.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may panic")]

mod course;
mod crowd;
mod moves;
mod passing;
mod wanted;

use std::{future::Future, sync::Arc, time::Duration};

use testkit::SlotCluster;

use course::{Course, Stage, Trouble, What};
use crowd::{Crowd, LATCHES, LEASE};
use moves::{Moves, SAFE, Story};

/// No hold is lost, no release is missed, and no two hold the same. Meanwhile slots move to and fro under
/// 200 locks of all kinds that are waited for, one stays half moved for half a minute, and a master dies.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_are_held_waited_for_and_passed_on_while_slots_move_and_a_master_dies() {
    let cluster = Arc::new(SlotCluster::replicated(3));
    let (course, moves) = (Course::begin(), moves(&cluster));
    let crowd = Crowd::gather(&moves, &course).await;
    let moving = tokio::task::spawn_blocking({
        let course = course.clone();
        move || moves.run(&course)
    });
    course.until(Stage::Stuck).await;
    let before = crowd.passed_on();
    course.until(Stage::Unstuck).await;
    let while_stuck: Vec<_> =
        crowd.passed_on().iter().zip(before).map(|(after, before)| after - before).collect();
    let story = within(moving).await.unwrap();
    let grants = crowd.leave().await;
    println!("{story:?}\n{while_stuck:?}\n{grants:?}");
    let troubles = course.troubles().into_iter().filter(|it| !is_excused(it, &story));
    let troubles: Vec<_> = troubles.collect();
    assert!(troubles.is_empty(), "{troubles:#?}");
    assert!(while_stuck.iter().all(|grants| *grants > 0), "{while_stuck:?}");
    let never: Vec<_> = grants.iter().filter(|(_, grants)| *grants < 2).collect();
    assert!(never.is_empty(), "never passed on: {never:?}");
    let mut left = cluster.keys();
    left.retain(|key| !STAYS.iter().any(|part| key.contains(part)));
    assert!(left.is_empty(), "{left:?}");
}

fn moves(cluster: &Arc<SlotCluster>) -> Moves {
    let names = |what: &'static str, masters: &'static [usize]| {
        let owner = |name: &String| cluster.owner_of(cluster.slot_of(name));
        let all = (0..).map(move |n: u32| format!("{what} {n}"));
        all.filter(move |name| masters.contains(&owner(name)))
    };
    Moves {
        cluster: cluster.clone(),
        tags: (0..16).map(|n| format!("tag {n}")).collect(),
        safe: names("safe", &SAFE).take(8).collect(),
        latches: names("latch", &SAFE).take(2 * LATCHES).collect(),
        stuck: names("stuck", &SAFE[..1]).next().unwrap(),
        wait: LEASE + LEASE / 100 + SLACK,
    }
}

/// While a slot has no server nothing is granted; while its server waits, neither.
fn is_excused(trouble: &Trouble, story: &Story) -> bool {
    let What::Late(free) = trouble.what else { return false };
    let is_in = |tag: &String| trouble.name.starts_with(&format!("{{{tag}}}"));
    let until = if story.bereft.iter().any(is_in) { story.waited } else { story.replaced };
    trouble.at > story.killed && trouble.at - free < until + SLACK
}

/// The output of `work`, or a panic when it hangs.
async fn within<F: Future>(work: F) -> F::Output {
    let done = tokio::time::timeout(HANG, Box::pin(work)).await;
    done.unwrap_or_else(|_late| panic!("not within {HANG:?}"))
}

/// In the names of keys that outlive all holds: marks, counters, answers that are kept for a minute.
const STAYS: [&str; 6] =
    ["palisade_mark:", "_token:", "palisade_once:", ":palisade_zero", "Permit", "Leased"];
/// Beyond the longest lease until a promoted replica grants, and the waiter has looked again.
const SLACK: Duration = Duration::from_secs(4);
const HANG: Duration = Duration::from_secs(100);
