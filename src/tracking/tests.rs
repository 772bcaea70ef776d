//! What is told of keys, what is read for it, and which holds are looked at: stories of one key and of many.

use std::{sync::Arc, time::Duration};

use super::{
    news::TrackingNews,
    pace::{AT_ONCE, FEW, Followed, LOOKS},
    table::{CROWD, KeyTable, MOST, TrackingStep},
};
use crate::{clock::Instant, error::NodeError, pubsub::PubSubEvent};

fn at(ms: u64) -> Instant {
    Instant::from_origin(Duration::from_millis(ms))
}

fn key(name: &str) -> Arc<str> {
    name.into()
}

fn followed(name: &str, is_shared: bool) -> Followed {
    Followed { channel: key(name), is_shared, period: Duration::from_secs(10) }
}

/// `r`: it is read, `l`: its holds are looked at, `x`: it is left; news by its first letter.
fn said(steps: &[TrackingStep]) -> String {
    let word = |step: &TrackingStep| match step {
        TrackingStep::Read(_) => 'r',
        TrackingStep::Leave(_) => 'x',
        TrackingStep::Look(_) => 'l',
        TrackingStep::Tell(TrackingNews::Lost(_)) => 'L',
        TrackingStep::Tell(TrackingNews::Restored) => 'R',
        TrackingStep::Tell(TrackingNews::Refused(_)) => 'N',
        TrackingStep::Tell(TrackingNews::TooManyKeys) => 'T',
        TrackingStep::Tell(TrackingNews::NoMore) => 'M',
    };
    steps.iter().map(word).collect()
}

/// A table of keys that stand.
fn following(keys: &[Arc<str>]) -> KeyTable {
    let mut table = KeyTable::default();
    for x in keys {
        table.follow(x, followed(x, false), at(0));
        table.on_event(&PubSubEvent::Read(x.clone(), 1), at(0), &|_| None);
    }
    table
}

/// What happens to one key that is held, at which time: `f`ollowed, `c`hanged, read with one holder (`1`), `0`
/// or a crowd (`9`), `g`ap, refused for now (`e`), for good (`n`, `u`) or since all is `o`ver, `a`ll changed, `d`ue.
fn done(table: &mut KeyTable, what: char, ms: u64, is_held: bool) -> String {
    let held_until = |_: &str| is_held.then(|| at(1_000_000));
    let x = key("x");
    let server_says = |text: &str| NodeError::Server { code: "ERR".into(), message: text.into() };
    let event = match what {
        'f' => return said(&table.follow(&x, followed("x", false), at(ms))),
        's' => return said(&table.follow(&x, followed("x", true), at(ms))),
        'd' => return said(&table.be_due(at(ms), &held_until)),
        'c' => PubSubEvent::Changed(x),
        '1' => PubSubEvent::Read(x, 1),
        '0' => PubSubEvent::Read(x, 0),
        '9' => PubSubEvent::Read(x, CROWD),
        'g' => PubSubEvent::Gap,
        'e' => PubSubEvent::Refused(x, NodeError::Loading),
        'n' => PubSubEvent::Refused(x, server_says("unknown subcommand")),
        'u' => PubSubEvent::Refused(x, server_says("Unsupported command")),
        'o' => PubSubEvent::Refused(x, NodeError::Closed),
        'a' => PubSubEvent::AllChanged,
        other => panic!("{other}"),
    };
    said(&table.on_event(&event, at(ms), &held_until))
}

/// What happens to a key that is held, when, and what is to follow.
fn goes_as(story: &[(char, u64, &str)]) {
    let mut table = KeyTable::default();
    for &(what, ms, expected) in story {
        let followed = done(&mut table, what, ms, true);
        assert_eq!(followed, expected, "{what} at {ms} in {story:?}");
    }
}

#[test]
fn key_is_read_and_its_holds_are_looked_at_as_in_the_table() {
    for story in [
        // The usual one: the first read is no reason to look, one behind a change is.
        &[('f', 0, "r"), ('1', 1, ""), ('c', 500, "r"), ('1', 501, "l")][..],
        // Gone before it was read first.
        &[('f', 0, "r"), ('0', 1, "l")],
        // Told while it is read, as a change or with all others: one more look, after a while.
        &[('f', 0, "r"), ('c', 1, ""), ('1', 2, ""), ('d', 2, "r"), ('1', 3, "l"), ('d', 999, "")],
        &[('f', 0, "r"), ('a', 1, ""), ('1', 2, ""), ('d', 2, "r"), ('1', 3, "l")],
        // Not twice in 100 ms.
        &[
            ('f', 0, "r"),
            ('1', 1, ""),
            ('c', 5, "r"),
            ('1', 6, "l"),
            ('c', 7, ""),
            ('d', 104, ""),
            ('d', 105, "r"),
        ],
        // Nor twice in 250 ms if it is shared.
        &[
            ('s', 0, "r"),
            ('1', 1, ""),
            ('c', 5, "r"),
            ('1', 6, "l"),
            ('c', 7, ""),
            ('d', 254, ""),
            ('d', 255, "r"),
        ],
        // All changed, while it stands.
        &[('f', 0, "r"), ('1', 1, ""), ('a', 5, "r"), ('1', 6, "l")],
        // A crowd: left alone for four periods, whatever is told, and not looked at before it is none.
        &[
            ('f', 0, "r"),
            ('9', 1, ""),
            ('c', 5, ""),
            ('d', 40_000, ""),
            ('d', 40_001, "r"),
            ('9', 40_002, ""),
            ('d', 80_002, "r"),
            ('1', 80_003, "l"),
        ],
        // Another hold begins while a change waits to be looked at: that may have been of this one.
        &[
            ('f', 0, "r"),
            ('1', 1, ""),
            ('c', 5, "r"),
            ('1', 6, "l"),
            ('c', 7, ""),
            ('f', 8, "r"),
            ('1', 9, "l"),
        ],
    ] {
        goes_as(story);
    }
}

#[test]
fn what_is_not_told_is_news_once_and_looked_at_afterwards() {
    for story in [
        // The connection is lost, and is back at once: it is looked at.
        &[('f', 0, "r"), ('1', 1, ""), ('g', 5, ""), ('c', 6, ""), ('1', 7, "l")][..],
        // It is not back, which is told once.
        &[
            ('f', 0, "r"),
            ('1', 1, ""),
            ('g', 5, ""),
            ('e', 6, "L"),
            ('g', 7, ""),
            ('e', 8, ""),
            ('1', 9, "lR"),
        ],
        // It is not to be back.
        &[('f', 0, "r"), ('1', 1, ""), ('g', 5, ""), ('o', 6, "")],
        // Refused for now, told once; and for good: it is not asked for again soon.
        &[('f', 0, "r"), ('e', 1, "L"), ('e', 2, ""), ('1', 3, "lR")],
        &[('f', 0, "r"), ('n', 1, "xN"), ('n', 2, ""), ('f', 3, ""), ('c', 4, "")],
        &[('f', 0, "r"), ('u', 1, "xN"), ('f', 2, "")],
        // After ten minutes it is asked for once more. That it is still refused is no news.
        &[
            ('f', 0, "r"),
            ('n', 1, "xN"),
            ('f', 600_000, ""),
            ('f', 600_001, "r"),
            ('n', 600_002, "x"),
            ('f', 1_200_002, "r"),
            ('1', 1_200_003, "R"),
            ('c', 1_200_500, "r"),
            ('1', 1_200_501, "l"),
        ],
    ] {
        goes_as(story);
    }
}

#[test]
fn key_that_nothing_holds_is_left_when_it_is_told_of() {
    let mut table = KeyTable::default();
    assert_eq!(done(&mut table, 'f', 0, true), "r");
    assert_eq!(done(&mut table, '1', 1, true), "");
    assert_eq!(done(&mut table, 'c', 2, false), "x");
    assert_eq!(done(&mut table, 'c', 3, true), "", "it is known no more");
    assert_eq!(table.next_due(), None);
}

#[test]
fn key_that_was_given_back_before_it_was_read_is_left() {
    let mut table = KeyTable::default();
    assert_eq!(done(&mut table, 'f', 0, true), "r");
    assert_eq!(done(&mut table, '0', 1, false), "x");
    assert_eq!(done(&mut table, 'c', 500, true), "", "it is known no more");
}

#[test]
fn no_more_keys_are_followed_than_the_server_bears() {
    let keys: Vec<_> = (0..MOST).map(|i| key(&format!("{i}"))).collect();
    let mut table = following(&keys);
    let follow = |table: &mut KeyTable, name: &str| {
        said(&table.follow(&key(name), followed(name, false), at(0)))
    };
    assert_eq!((follow(&mut table, "x"), follow(&mut table, "y")), ("M".into(), String::new()));
    assert_eq!(follow(&mut table, "0"), "r", "it is followed");
    // It is told again once half of them have ended.
    for x in &keys[1..MOST / 2 + 2] {
        table.on_event(&PubSubEvent::Changed(x.clone()), at(500), &|_| None);
    }
    let told: String = (0..MOST).map(|i| follow(&mut table, &format!("new:{i}"))).collect();
    assert_eq!(told.matches('r').count(), MOST / 2 + 1);
    assert_eq!(told.matches('M').count(), 1);
}

#[test]
fn key_is_read_four_times_between_two_renewals() {
    let mut table = KeyTable::default();
    done(&mut table, 'f', 0, true);
    done(&mut table, '1', 1, true);
    let mut reads = 0;
    for ms in (1_000..21_000).step_by(100) {
        let told = done(&mut table, 'c', ms, true) + &done(&mut table, 'd', ms, true);
        if told.contains('r') {
            reads += 1;
            done(&mut table, '1', ms, true);
        }
    }
    assert_eq!(reads, 2 * LOOKS);
    // Another hold of the same name has looks of its own.
    done(&mut table, 'f', 21_000, true);
    done(&mut table, '1', 21_000, true);
    assert_eq!(done(&mut table, 'c', 21_100, true), "r");
}

#[test]
fn nothing_is_followed_for_a_while_if_keys_are_told_of_too_often() {
    let held_until = |_: &str| Some(at(1_000_000));
    let keys: Vec<_> = (0..100).map(|i| key(&format!("x:{i}"))).collect();
    let mut table = following(&keys);
    let mut told = String::new();
    for ms in [0, 200, 400] {
        for x in &keys {
            told += &said(&table.on_event(&PubSubEvent::Changed(x.clone()), at(ms), &held_until));
            told += &said(&table.on_event(&PubSubEvent::Read(x.clone(), 1), at(ms), &held_until));
        }
    }
    let counted = |what: char| told.chars().filter(|said| *said == what).count();
    assert_eq!((counted('T'), counted('r')), (1, 100 + 100 + FEW));
    assert_eq!(said(&table.be_due(at(100_000), &held_until)), "");
    assert_eq!(said(&table.be_due(at(121_000), &held_until)).matches('r').count(), 100);
}

/// As where `tracking-table-max-keys` is too small for as long as the server runs.
#[test]
fn keys_that_are_told_of_too_often_all_the_time_are_news_once() {
    let held_until = |_: &str| Some(at(1_000_000_000));
    let keys: Vec<_> = (0..100).map(|i| key(&format!("x:{i}"))).collect();
    let mut table = following(&keys);
    let mut told_from = |from: u64, until: u64| -> usize {
        let mut told = String::new();
        for ms in (from..until).step_by(200) {
            told += &said(&table.be_due(at(ms), &held_until));
            for x in &keys {
                let read = PubSubEvent::Read(x.clone(), 1);
                told += &said(&table.on_event(&read, at(ms), &held_until));
                let changed = PubSubEvent::Changed(x.clone());
                told += &said(&table.on_event(&changed, at(ms), &held_until));
            }
        }
        told.matches('T').count()
    };
    assert_eq!(told_from(0, 600_000), 1);
    // It was quiet in between.
    assert_eq!(told_from(1_000_000, 1_010_000), 1);
}

/// Renewals that come together come early, and each is told.
#[test]
fn renewals_are_told_for_as_long_as_keys_are_held() {
    let held_until = |_: &str| Some(at(1_000_000));
    let keys: Vec<_> = (0..200).map(|i| key(&format!("x:{i}"))).collect();
    let mut table = following(&keys);
    for x in &keys {
        table.follow(x, Followed { period: Duration::from_secs(2), ..followed(x, false) }, at(0));
        table.on_event(&PubSubEvent::Read(x.clone(), 1), at(0), &held_until);
    }
    for ms in (1_800..60_000).step_by(1_800) {
        for x in &keys {
            let told = PubSubEvent::Changed(x.clone());
            assert_eq!(said(&table.on_event(&told, at(ms), &held_until)), "r", "{x} at {ms}");
            table.on_event(&PubSubEvent::Read(x.clone(), 1), at(ms), &held_until);
        }
    }
}

#[test]
fn holds_that_end_first_are_looked_at_first() {
    let keys: Vec<_> = (0..200).map(|i| key(&format!("{i:03}"))).collect();
    // The last ones end first.
    let held_until = |channel: &str| Some(at(10_000 - channel.parse::<u64>().unwrap()));
    let mut table = following(&keys);
    let read = |steps: Vec<TrackingStep>| -> Vec<_> {
        let key = |step| if let TrackingStep::Read(key) = step { Some(key) } else { None };
        steps.into_iter().filter_map(key).collect()
    };
    let mut first = read(table.on_event(&PubSubEvent::AllChanged, at(100), &held_until));
    first.sort_unstable();
    assert_eq!(first, keys[200 - AT_ONCE..]);
    let rest = read(table.be_due(at(103), &held_until));
    assert_eq!(rest.len(), 200 - AT_ONCE);
}
