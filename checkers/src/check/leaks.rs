//! I6: once all workers have ended and the longest lease has passed, nothing is left on any
//! master: no key, no subscription, no connection.

use super::{Invariant, Violation};
use crate::{
    history::{Event, History, Leftovers, Record},
    spans::Span,
};

// proves: final-release, offer-taken-or-back, drop-never-blocks
pub(crate) fn check(history: &History) -> Vec<Violation> {
    let looks = history.records.iter().filter_map(|record| match &record.event {
        Event::Left(leftovers) => Some((record, leftovers)),
        _ => None,
    });
    looks.flat_map(|(record, leftovers)| leaks(record, leftovers)).collect()
}

fn leaks(record: &Record, left: &Leftovers) -> Vec<Violation> {
    let mut what = Vec::new();
    if !left.keys.is_empty() {
        what.push(format!("the keys {}", left.keys.join(", ")));
    }
    if !left.channels.is_empty() {
        what.push(format!("subscriptions of {}", left.channels.join(", ")));
    }
    if left.connections > 0 {
        what.push(format!("{} connections", left.connections));
    }
    let violation = |what| Violation {
        invariant: Invariant::NoLeak,
        lock: None,
        span: Span::new(record.at, record.at),
        what: format!("left behind on master {}: {what}", left.master),
    };
    what.into_iter().map(violation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::story::Story;

    #[test]
    fn whatever_is_left_is_found() {
        let nothing = Leftovers { master: 1, keys: vec![], channels: vec![], connections: 0 };
        assert_eq!(check(&Story::new().left(nothing.clone()).history()), []);
        let key = Leftovers { keys: vec!["red-a".into()], ..nothing.clone() };
        let channel = Leftovers { channels: vec!["c".into()], ..nothing.clone() };
        let connections = Leftovers { connections: 2, ..nothing };
        for (left, said) in [
            (key, "left behind on master 1: the keys red-a"),
            (channel, "left behind on master 1: subscriptions of c"),
            (connections, "left behind on master 1: 2 connections"),
        ] {
            let found = check(&Story::new().left(left).history());
            assert_eq!(found.iter().map(|v| v.what.as_str()).collect::<Vec<_>>(), [said]);
        }
    }
}
