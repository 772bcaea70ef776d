//! I6, of requests: an acquire that comes long after it was sent changes nothing. Its answer is not
//! waited for, and what it takes would not be released.

use super::{Invariant, Violation};
use crate::{
    history::{Event, History},
    spans::Span,
};

// proves: fresh-holder, no-blind-resend
pub(super) fn check(history: &History) -> Vec<Violation> {
    let limit = history.settings.stamp_ms;
    let late = history.records.iter().filter_map(|record| match &record.event {
        Event::GrantedLate { master, holder, after_ms } if limit > 0 && *after_ms > limit => {
            Some((record.at, master, holder, after_ms))
        }
        _ => None,
    });
    let violation = |(at, master, holder, after_ms)| Violation {
        invariant: Invariant::NoGhost,
        lock: None,
        span: Span::new(at, at),
        what: format!("master {master} granted {holder} what was asked {after_ms} ms before"),
    };
    late.map(violation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::story::Story;

    #[test]
    fn a_grant_long_after_the_question_is_found() {
        let late = Event::GrantedLate { master: 1, holder: "h:1".into(), after_ms: 700 };
        let mut history = Story::new().and(1_000, late).history();
        assert_eq!(check(&history), []);
        history.settings.stamp_ms = 700;
        assert_eq!(check(&history), []);
        history.settings.stamp_ms = 699;
        assert_eq!(check(&history).len(), 1);
    }
}
