//! What happens to the masters of a cluster while its slots move.

use std::{ops::Range, time::Duration};

use super::shards::Shards;
use crate::{
    faults::Interrupted,
    profile::{Course, PROMOTION, deck::Deck},
    random::Random,
    traffic::QUARANTINE_MS,
};

/// A sort of episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Episode {
    /// A replica takes the place of its master, which waits for that.
    Planned,
    /// A master is killed, replaced, and comes back as a replica.
    Kill,
    /// All servers close all connections of clients.
    Sockets,
}

impl Episode {
    /// With the names under which they are noted.
    pub(super) const ALL: [(&str, Self); 3] =
        [("planned", Self::Planned), ("kill", Self::Kill), ("cut-sockets", Self::Sockets)];
}

/// Until the calm.
pub(super) fn play(shards: &Shards, course: &Course<'_>) -> Result<(), Interrupted> {
    let mut deck = Deck::new(&Episode::ALL);
    let mut random = course.random(0);
    course.sleep_within(&mut random, &PAUSE)?;
    while course.has_time_for(LONGEST) {
        let (name, episode) = deck.deal(&mut random);
        match episode {
            Episode::Sockets => {
                course.note_fault(name, vec!["all".to_owned()]);
                cut_sockets(shards);
            }
            Episode::Planned | Episode::Kill => {
                fail_over(shards, course, &mut random, (name, episode))?;
            }
        }
        course.sleep_within(&mut random, &PAUSE)?;
    }
    Ok(())
}

fn fail_over(
    shards: &Shards,
    course: &Course<'_>,
    random: &mut Random,
    (name, episode): (&str, Episode),
) -> Result<(), Interrupted> {
    let cluster = shards.cluster();
    let claimed = shards.claim();
    cluster.wait_until_ok();
    let serving = cluster.serving();
    let chosen = usize::try_from(random.below(serving.len() as u64)).unwrap_or(0);
    let master = *serving.get(chosen).expect("invariant: there are masters");
    let replica = shards.replica_of(master);
    shards.wait_until_it_follows(replica);
    course.note_fault(name, vec![format!("server {master}")]);
    course.note_down();
    if episode == Episode::Kill {
        cluster.kill(master);
        cluster.wait_until_replaced(master);
    } else {
        cluster.fail_over_to(replica);
    }
    course.note_fault(PROMOTION, vec![format!("server {replica}")]);
    course.note_up();
    drop(claimed);
    if episode == Episode::Kill {
        let slept = course.sleep_within(random, &AWAY);
        let _claimed = shards.claim();
        cluster.restart(master);
        slept?;
    }
    Ok(())
}

fn cut_sockets(shards: &Shards) {
    for server in shards.cluster().servers() {
        for kind in ["normal", "pubsub"] {
            server.cli(&["CLIENT", "KILL", "TYPE", kind]);
        }
    }
}

/// Between two of them locks are granted again.
const PAUSE: Range<Duration> = ms(QUARANTINE_MS + 1_000)..ms(QUARANTINE_MS + 4_000);
/// How long one that was killed is away.
const AWAY: Range<Duration> = ms(50)..ms(1_500);
const LONGEST: Duration = ms(QUARANTINE_MS + 3_000);

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
