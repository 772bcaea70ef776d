//! Durations on the command line: `5` and `0.5` are seconds as in flock(1); `5s`, `2m`, `500ms`
//! are what they say.

use std::time::Duration;

/// Reads a duration, or says what is wrong with it.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    if text.starts_with('-') {
        return Err("a duration cannot be negative".into());
    }
    if text.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return seconds(text);
    }
    let words = |error| format!("{error}; write 30s, 2m or 500ms; a bare number is seconds");
    humantime::parse_duration(text).map_err(words)
}

fn seconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .and_then(|number| Duration::try_from_secs_f64(number).ok())
        .ok_or_else(|| "not a number of seconds".into())
}

/// As programs are told it; `None` of what no number has.
pub(crate) fn whole_ms(duration: Duration) -> Option<u64> {
    u64::try_from(duration.as_millis()).ok()
}

/// Writes a duration for people: whole milliseconds, then humantime's words.
pub(crate) fn show(duration: Duration) -> String {
    let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    humantime::format_duration(Duration::from_millis(ms)).to_string()
}

/// The same for one that was measured: whole seconds, below ten with tenths.
pub(crate) fn show_roughly(duration: Duration) -> String {
    if duration < Duration::from_secs(10) {
        return format!("{:.1}s", duration.as_secs_f64());
    }
    show(Duration::from_secs(duration.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_numbers_are_seconds_and_units_are_what_they_say() {
        for (text, ms) in [
            ("5", 5_000),
            ("0", 0),
            ("0.5", 500),
            (".25", 250),
            ("5s", 5_000),
            ("2m", 120_000),
            ("500ms", 500),
            ("1m 30s", 90_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(ms)), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", ".", "1.2.3", "-1", "-5s", "inf", "nan", "five", "5 parsecs", "1e400"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"9".repeat(400)).is_err());
    }

    #[test]
    fn durations_are_shown_without_stray_digits() {
        assert_eq!(show(Duration::from_micros(7_500_999)), "7s 500ms");
        for (ms, shown) in [(29_043, "29s"), (95_999, "1m 35s"), (7_512, "7.5s"), (40, "0.0s")] {
            assert_eq!(show_roughly(Duration::from_millis(ms)), shown);
        }
    }
}
