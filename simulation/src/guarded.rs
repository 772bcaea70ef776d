//! Runs about guarded scripts: all callers want one lock on one server, and have that server write lines beside it.
//!
//! The server keeps its data, since lines stand and fall with it. What is said twice is left out: no connection does
//! that, and a script of a user's need not be idempotent.

use checkers::random::Random;
use workload::Intent;

use crate::plan::{About, Fault, Plan};

/// The lock that is contended for.
pub(crate) const LOCK: &str = "fenced-single";

impl Plan {
    /// A run that is about nothing else.
    pub(crate) fn of_guarded(seed: u64) -> Self {
        let mut random = Random::branch(seed, &[8]);
        let mut plan = Self::of(seed);
        plan.about = About::Guarded;
        plan.draw_faults_without_losses(&mut random);
        plan.network.duplicate = 0;
        let home = plan.home();
        plan.broken.retain(|broken| broken.node() != home);
        debug_assert!(plan.faults.iter().all(|(_, fault)| !matches!(fault, Fault::Lose { .. })));
        plan
    }
}

/// By one that writes some lines, at times as long as it can.
pub(crate) fn inscribing(random: &mut Random, intent: Intent) -> Intent {
    let inscriptions = u32::try_from(random.weighted(&[(3, 1), (2, 2), (1, 5)]));
    Intent { inscriptions: inscriptions.unwrap_or(0), ..intent }
}
