//! Lengths of time in messages. What was measured is rounded: its nanoseconds tell a reader
//! nothing. A duration that was set is shown as it was set.

use std::{ops::Div, time::Duration};

/// Rounded down: that much has passed.
pub(super) fn at_least(d: Duration) -> String {
    rounded(d, u128::div)
}

/// Rounded up: it is over by then.
pub(super) fn at_most(d: Duration) -> String {
    rounded(d, u128::div_ceil)
}

/// Rounded up: a wait of that length is long enough.
pub(super) fn whole_seconds(d: Duration) -> u64 {
    d.as_secs() + u64::from(d.subsec_nanos() > 0)
}

/// In the greatest unit of which there are ten or more, else in tenths of a second.
fn rounded(d: Duration, divided: impl Fn(u128, u128) -> u128) -> String {
    let fits = |(unit, _): &&(Duration, _)| d >= *unit * 10;
    match UNITS.iter().find(fits) {
        Some((unit, name)) => format!("{} {name}", divided(d.as_nanos(), unit.as_nanos())),
        None => {
            let tenths = divided(d.as_nanos(), TENTH.as_nanos());
            format!("{}.{} s", tenths / 10, tenths % 10)
        }
    }
}

const UNITS: [(Duration, &str); 4] = [
    (Duration::from_secs(24 * 60 * 60), "days"),
    (Duration::from_secs(60 * 60), "h"),
    (Duration::from_secs(60), "min"),
    (Duration::from_secs(1), "s"),
];
const TENTH: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_times_are_shown_as_people_tell_them() {
        for (ns, least, most) in [
            (0, "0.0 s", "0.0 s"),
            (1, "0.0 s", "0.1 s"),
            (7_450_000_000, "7.4 s", "7.5 s"),
            (9_950_000_000, "9.9 s", "10.0 s"),
            (10_000_000_000, "10 s", "10 s"),
            (72_000_065_708, "72 s", "73 s"),
            (599_000_000_001, "599 s", "600 s"),
            (600_000_000_001, "10 min", "11 min"),
            (36_000_000_000_000, "10 h", "10 h"),
            (864_000_000_000_000, "10 days", "10 days"),
        ] {
            let d = Duration::from_nanos(ns);
            assert_eq!((at_least(d).as_str(), at_most(d).as_str()), (least, most), "{d:?}");
        }
    }
}
