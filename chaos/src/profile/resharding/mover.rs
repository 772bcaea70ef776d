//! Moves slots to and fro, one after the other; now and then one stays half moved for a while.

use std::{ops::Range, time::Duration};

use super::shards::Shards;
use crate::{faults::Interrupted, profile::Course, random::Random};

/// A slot went from one master to another.
pub(super) const MOVED: &str = "moved-slot";
/// It took its time.
pub(super) const HALF_MOVED: &str = "half-moved-slot";

/// Until the calm.
pub(super) fn play(shards: &Shards, course: &Course<'_>) -> Result<(), Interrupted> {
    let mut random = course.random(1);
    course.sleep(WARM_UP)?;
    let mut moves = 0_u32;
    while course.has_time_for(LONGEST) {
        moves += 1;
        let is_slow = moves.is_multiple_of(ONE_SLOW_IN);
        let claimed = shards.claim();
        let moved = move_one(shards, course, &mut random, is_slow);
        drop(claimed);
        moved?;
        course.sleep_within(&mut random, &PAUSE)?;
    }
    Ok(())
}

fn move_one(
    shards: &Shards,
    course: &Course<'_>,
    random: &mut Random,
    is_slow: bool,
) -> Result<(), Interrupted> {
    let cluster = shards.cluster();
    let slot = choose(shards.slots(), random);
    // Replicas hear of the last move by gossip.
    cluster.wait_until_ok();
    let from = cluster.owner_of(slot);
    let others: Vec<_> = cluster.serving().into_iter().filter(|it| *it != from).collect();
    let to = choose(&others, random);
    let told = if is_slow { HALF_MOVED } else { MOVED };
    course.note_fault(told, vec![format!("slot {slot} from {from} to {to}")]);
    cluster.begin_move(slot, to);
    // First its owner has what it had, then the other has all; it is no use to leave it so when interrupted.
    let slept = pause(course, random, is_slow);
    cluster.move_keys(slot, to);
    let slept = slept.and_then(|()| pause(course, random, is_slow));
    // What was made meanwhile is at the other by then.
    cluster.finish_move(slot, to);
    slept
}

fn pause(course: &Course<'_>, random: &mut Random, is_slow: bool) -> Result<(), Interrupted> {
    if is_slow { course.sleep_within(random, &HALF_MOVED_FOR) } else { Ok(()) }
}

fn choose<T: Copy>(all: &[T], random: &mut Random) -> T {
    let chosen = usize::try_from(random.below(all.len() as u64)).unwrap_or(0);
    *all.get(chosen).expect("invariant: there are slots and masters")
}

const WARM_UP: Duration = Duration::from_millis(500);
const ONE_SLOW_IN: u32 = 15;
/// Twice.
const HALF_MOVED_FOR: Range<Duration> = ms(500)..ms(1_500);
const PAUSE: Range<Duration> = ms(10)..ms(120);
/// A slow one.
const LONGEST: Duration = ms(3_500);

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
