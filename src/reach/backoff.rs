//! How long to wait before the next attempt to connect.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

use super::settings::NodeSettings;

/// Pauses that double and are jittered: a fleet must not come back in step.
pub(crate) fn pauses(settings: &NodeSettings) -> ExponentialBackoff {
    pauses_up_to(settings.backoff_max, settings)
}

/// The same of what has more time. Half the maximum, since the jitter adds up to as much again.
pub(crate) fn pauses_up_to(max: Duration, settings: &NodeSettings) -> ExponentialBackoff {
    ExponentialBuilder::new()
        .with_min_delay(FIRST_PAUSE.min(max / 2))
        .with_max_delay(max / 2)
        .without_max_times()
        .with_jitter()
        .with_jitter_seed(settings.random.next())
        .build()
}

const FIRST_PAUSE: Duration = Duration::from_millis(10);
