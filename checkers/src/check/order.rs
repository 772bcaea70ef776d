//! I11: what releases a hold comes after all that asked for it. An acquire that comes behind the release
//! of its holder on the same socket would take the lock for a holder that is gone.
//!
//! The same holder may ask again where its release is confirmed: it is told of only what left before the
//! answer to that had come.

use super::{Invariant, Violation};
use crate::{
    history::{Event, History},
    spans::Span,
};

// proves: final-release, one-sender
pub(super) fn check(history: &History) -> Vec<Violation> {
    let behind = history.records.iter().filter_map(|record| match &record.event {
        Event::GrantedBehindRelease { master, holder } => Some((record.at, master, holder)),
        _ => None,
    });
    let violation = |(at, master, holder)| Violation {
        invariant: Invariant::Order,
        lock: None,
        span: Span::new(at, at),
        what: format!("master {master} granted {holder} what was sent behind its release"),
    };
    behind.map(violation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::story::Story;

    #[test]
    fn a_grant_behind_the_release_is_found() {
        assert_eq!(check(&Story::new().history()), []);
        let behind = Event::GrantedBehindRelease { master: 1, holder: "h:1".into() };
        let found = check(&Story::new().and(1_000, behind).history());
        let found: Vec<_> = found.into_iter().map(|found| found.what).collect();
        assert_eq!(found, ["master 1 granted h:1 what was sent behind its release"]);
    }
}
