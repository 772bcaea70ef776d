//! What a caller is going to do next. Pure.

use std::time::Duration;

use checkers::{history::Manner, random::Random};
use palisade::Lease;
use workload::{Ending, Intent};

use crate::{
    event::ProcessId,
    guarded, handover, leases,
    plan::{About, Leases, Plan},
};

/// The number of a target, and what to do with it. In the calm no caller is impatient, and each
/// leaves what it has as it should.
pub(crate) fn draw(
    random: &mut Random,
    plan: &Plan,
    process: ProcessId,
    calm: bool,
) -> (u64, Intent) {
    let target = random.draw();
    let intent = anything(random, &plan.leases, calm);
    let intent = match plan.about {
        About::LostData if !calm => held_for_long(random, intent, &plan.leases),
        About::Leases if !calm => {
            leases::as_long_as_possible(random, intent, plan.longest_lease_ms(process))
        }
        About::Leases => Intent { lease: Lease::Watchdog, ..intent },
        About::Rights if !calm => renewed_for_long(random, intent, &plan.leases),
        // A semaphore is not entered again by its owners.
        About::Permits => Intent { as_owner: false, ..intent },
        About::Elections { .. } => announcing(random, intent),
        About::Guarded => guarded::inscribing(random, intent),
        About::Sharing => Intent { downgrades: random.one_in(3), ..intent },
        About::Handover { among, .. } => handover::brief(random, intent, plan, among, calm),
        _ => intent,
    };
    let gives_up = !calm && plan.is_crowded() && random.one_in(2);
    (target, if gives_up { given_up_while_asked(random, intent, plan) } else { intent })
}

/// By a caller that is gone before all servers have answered.
fn given_up_while_asked(random: &mut Random, intent: Intent, plan: &Plan) -> Intent {
    let patience = Duration::from_micros(random.below(plan.network.round_trip_us()));
    let rest = Duration::from_micros(random.below(20_000));
    Intent {
        manner: Manner::Dropped,
        polls: None,
        lease: Lease::Watchdog,
        patience,
        rest,
        ..intent
    }
}

/// By a caller that does not hear of a loss before the lease ends, since it is not renewed.
fn held_for_long(random: &mut Random, intent: Intent, leases: &Leases) -> Intent {
    let lease = Duration::from_millis(leases.least_ms);
    let work = lease / 2 + Duration::from_millis(random.below(leases.least_ms / 2));
    Intent { lease: Lease::Fixed(lease), work, ..intent }
}

/// With several others: what is due on a server at the same time is renewed together.
fn renewed_for_long(random: &mut Random, intent: Intent, leases: &Leases) -> Intent {
    let ms = Duration::from_millis;
    let work = ms(random.below(4 * leases.watchdog_ms));
    Intent {
        lease: Lease::Watchdog,
        work,
        write: Duration::ZERO,
        rest: ms(random.below(50)),
        ..intent
    }
}

/// By one that may lead.
fn announcing(random: &mut Random, intent: Intent) -> Intent {
    let announcements = u32::try_from(random.weighted(&[(2, 0), (3, 1), (2, 2), (1, 5)]));
    // As an owner no one campaigns.
    Intent { announcements: announcements.unwrap_or(0), as_owner: false, ..intent }
}

fn anything(random: &mut Random, leases: &Leases, calm: bool) -> Intent {
    let renewed = random.one_in(2);
    let fixed_ms = leases.least_ms + random.below(leases.max_ms - leases.least_ms);
    let fixed = Lease::Fixed(Duration::from_millis(fixed_ms));
    // No work takes so long that a run of a few seconds would see nothing else.
    let lease_us = 1_000 * if renewed { leases.watchdog_ms } else { fixed_ms }.min(1_000);
    let manners = [
        (4, Manner::Patient),
        (3, Manner::FailFast),
        (3, Manner::Limited),
        (2, Manner::Once),
        (2, Manner::Dropped),
    ];
    let manner = if calm { Manner::Patient } else { random.weighted(&manners) };
    let polls = (manner == Manner::Dropped && random.one_in(2)).then(|| 1 + random.below(12));
    let brief = 1_000 + random.below(20_000);
    let (medium, long) = (random.below(lease_us), random.below(3 * lease_us));
    let work_us = random.weighted(&[(6, brief), (3, medium), (if calm { 0 } else { 2 }, long)]);
    let polls_of_release = 1 + random.below(4);
    let (write_us, late_us) = (random.below(5_000), random.below(2 * lease_us));
    let ending = random.weighted(&[
        (8, Ending::Release),
        (3, Ending::Drop),
        (if calm { 0 } else { 2 }, Ending::HalfRelease(polls_of_release)),
        (if calm { 0 } else { 1 }, Ending::Orphan),
    ]);
    let us = Duration::from_micros;
    Intent {
        manner,
        patience: us(1_000 + random.below(2 * lease_us)),
        polls,
        parks: None,
        lease: if renewed { Lease::Watchdog } else { fixed },
        work: us(work_us),
        blocks: false,
        downgrades: false,
        announcements: 0,
        inscriptions: 0,
        calls: false,
        careless: random.one_in(4),
        write: us(random.weighted(&[(3, 0), (1, write_us), (1, late_us)])),
        reentries: random.weighted(&[(5, 0), (1, 1), (1, 2)]),
        as_owner: random.one_in(3),
        ending,
        rest: us(random.below(if calm { 20_000 } else { 250_000 })),
    }
}
