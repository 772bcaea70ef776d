//! How fast servers are asked. Pure.

use std::time::Duration;

/// After a page that took so long, how long a server is left alone.
pub(super) fn pause_after(took: Duration, is_fast: bool) -> Duration {
    if is_fast { Duration::ZERO } else { took.saturating_mul(PAUSES) }
}

/// So many times as long as it was busy: then it is busy for a tenth of the time.
const PAUSES: u32 = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_is_asked_for_a_tenth_of_the_time() {
        let ms = Duration::from_millis;
        for (took, is_fast, pause) in [(0, false, 0), (2, false, 18), (2, true, 0)] {
            assert_eq!(pause_after(ms(took), is_fast), ms(pause));
        }
        assert_eq!(pause_after(Duration::MAX, false), Duration::MAX);
    }
}
