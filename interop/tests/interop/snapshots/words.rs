//! PURE. How the expectations call what differs from run to run.

use std::ops::Range;

/// `<uuid>:<number>` is `<holder>`, 32 hexadecimal digits are `<id>`, and microseconds since 1970, as
/// palisade's tokens are, or milliseconds of this century, `<now>`.
pub(super) fn shown(text: &str) -> String {
    text.split_whitespace().map(word_shown).collect::<Vec<_>>().join(" ")
}

fn word_shown(word: &str) -> String {
    let mut shown = Vec::new();
    for part in word.split(':') {
        // The number behind the process of a holder.
        if shown.last() == Some(&PROCESS) && part.parse::<i64>().is_ok() {
            shown.pop();
            shown.push("<holder>");
        } else {
            shown.push(part_shown(part));
        }
    }
    shown.join(":")
}

fn part_shown(part: &str) -> &str {
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let groups: Vec<_> = part.split('-').map(str::len).collect();
    if groups == [8, 4, 4, 4, 12] && is_hex(&part.replace('-', "")) {
        PROCESS
    } else if part.len() == 32 && is_hex(part) {
        "<id>"
    } else if part.parse::<u64>().is_ok_and(|number| MS.contains(&number) || number > US) {
        "<now>"
    } else {
        part
    }
}

/// Since 1970.
const MS: Range<u64> = 1_000_000_000_000..4_000_000_000_000;
const US: u64 = 1_000_000_000_000_000;
const PROCESS: &str = "<process>";

/// The least of some lengths that it is within: so far apart that no machine is late by as much.
pub(super) fn shown_ttl(ms: i64) -> String {
    match LENGTHS.into_iter().find(|length| (0..=length * 1_000).contains(&ms)) {
        Some(length) => format!("ttl up to {length} s"),
        None if ms < 0 => "no ttl".to_owned(),
        None if ms > DAY => "ttl of days".to_owned(),
        None => format!("ttl of {ms} ms"),
    }
}

/// The same of a lease, which may have begun up to a second before the clock that it is measured by.
pub(super) fn shown_lease(ms: i64) -> String {
    shown_ttl((ms - 1_000).max(0)).replace("ttl ", "")
}

const DAY: i64 = 86_400_000;
/// The watchdog's is the third.
const LENGTHS: [i64; 4] = [30, 100, 300, 600];

#[test]
fn what_differs_from_run_to_run_has_a_name() {
    let uuid = "f9c8d5d5-26b4-4c0c-8a3c-0a1c3d6f9b6e";
    assert_eq!(shown(&format!("{uuid}:57")), "<holder>");
    assert_eq!(shown(&format!("a:{{x}}:{uuid}:-5:write")), "a:{x}:<holder>:write");
    assert_eq!(shown(&format!("latch:{}", uuid.replace('-', ""))), "latch:<id>");
    assert_eq!(shown("granted 1783772000000000"), "granted <now>");
    assert_eq!(shown("1783772000000 9000000000000"), "<now> 9000000000000");
}

#[test]
fn ttl_is_the_least_length_that_it_is_within() {
    assert_eq!(shown_ttl(-1), "no ttl");
    assert_eq!(shown_ttl(30_000), "ttl up to 30 s");
    assert_eq!(shown_ttl(30_001), "ttl up to 100 s");
    assert_eq!(shown_ttl(600_001), "ttl of 600001 ms");
    assert_eq!(shown_ttl(86_400_001), "ttl of days");
}
