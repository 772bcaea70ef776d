//! Leases that no lock takes. Pure.
//!
//! Sent as they are, some would be granted and gone at once, and others stand for ever: they must
//! be refused before anything is sent, whatever goes on at the time.

use std::time::Duration;

use checkers::random::Random;
use palisade::Lease;

use crate::plan::Leases;

/// A lease that is too short or too long.
pub(crate) fn lease(random: &mut Random, leases: &Leases) -> Lease {
    let ms = Duration::from_millis;
    let beyond = leases.max_ms + 1 + random.below(100 * leases.max_ms);
    match random.below(5) {
        0 => Lease::Fixed(Duration::ZERO),
        1 => Lease::Fixed(ms(random.below(20))),
        2 => Lease::WatchdogOf(ms(random.below(300))),
        3 => Lease::Fixed(ms(beyond)),
        _ => Lease::WatchdogOf(ms(beyond)),
    }
}
