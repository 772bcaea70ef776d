//! How fast servers are asked. Pure.

use std::time::Duration;

/// After a page that took so long, how long a server is left alone: then it is busy for one in so many parts of the time.
pub(super) fn pause_after(took: Duration, one_in: u32) -> Duration {
    took.saturating_mul(one_in.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_is_busy_for_its_share_of_the_time() {
        let ms = Duration::from_millis;
        for (took, one_in, pause) in [(0, 10, 0), (2, 10, 18), (2, 100, 198), (2, 1, 0)] {
            assert_eq!(pause_after(ms(took), one_in), ms(pause));
        }
        assert_eq!(pause_after(Duration::MAX, 10), Duration::MAX);
    }
}
