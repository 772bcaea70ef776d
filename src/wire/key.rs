//! Names: every key and channel is formed here, as Redisson forms them.

use std::{borrow::Cow, io::Write, sync::Arc};

use crate::error::ConfigError;

/// The longest name of a lock, in bytes.
pub(crate) const MAX_NAME: usize = 4096;

/// The longest id of a period, in bytes.
pub(crate) const MAX_PERIOD: usize = 256;

/// The longest namespace, in bytes.
const MAX_NAMESPACE: usize = 1024;

/// What the process with this uuid tells about itself.
pub(crate) fn process(namespace: &str, uuid: &str) -> Arc<str> {
    joined(&[&[namespace, PROCESS, "{", uuid, "}"]])
}

/// What the keys of all processes begin with.
pub(crate) fn processes(namespace: &str) -> Arc<str> {
    joined(&[&[namespace, PROCESS]])
}

const PROCESS: &str = "palisade_process:";

/// The mark of a namespace of a database: on which data its server votes.
pub(crate) fn marker(namespace: &str) -> Arc<str> {
    of_lock(namespace, "palisade:marker").into()
}

/// What the marks of a cluster's masters begin with: each has one for its run.
pub(crate) fn marks_of_runs(namespace: &str) -> Arc<str> {
    of_lock(namespace, "palisade_mark:").into()
}

/// The channel on which is published what replicas are to hear of.
pub(crate) fn replicas_channel(namespace: &str) -> Arc<str> {
    of_lock(namespace, "palisade:replicas").into()
}

/// What the keys begin with that are written for the same purpose in a cluster, where messages are not for
/// replicas: each has one for a slot of its own.
pub(crate) fn replicas_keys(namespace: &str) -> Arc<str> {
    of_lock(namespace, "palisade_replicas:").into()
}

/// A key in `slot` that begins with `prefix`; wherever the prefix has it, if that says so.
pub(crate) fn in_slot(prefix: &str, slot: u16) -> String {
    let candidates = (0_u32..).map(|number| format!("{prefix}{{{number}}}"));
    let pinned = prefix.contains('{');
    let mut right = candidates.filter(|key| pinned || self::slot(key) == slot);
    right.next().unwrap_or_default()
}

/// The key of the lock `name` in a namespace, which may be empty. All else that is said of a lock
/// follows from its key, as if that were the name.
pub(crate) fn of_lock<'a>(namespace: &str, name: &'a str) -> Cow<'a, str> {
    if namespace.is_empty() { name.into() } else { [namespace, name].concat().into() }
}

/// The pattern, of rules or of SCAN, that stands for this text alone.
pub(crate) fn literal(text: &str) -> String {
    let escaped = text.chars().flat_map(|c| {
        let backslash = matches!(c, '*' | '?' | '[' | '\\').then_some('\\');
        backslash.into_iter().chain([c])
    });
    escaped.collect()
}

/// Checks a namespace: why it cannot be one.
pub(crate) fn check_namespace(namespace: &str) -> Result<(), &'static str> {
    if namespace.len() > MAX_NAMESPACE {
        Err("must have at most 1024 bytes")
    } else if namespace.chars().any(char::is_control) {
        Err("must not contain control characters")
    } else if has_bad_hash_tag(namespace) {
        Err("must not contain braces that are not one well-formed hash tag")
    } else {
        Ok(())
    }
}

/// Checks a lock's name. Bytes are kept as given: no trimming, no Unicode normalisation.
pub(crate) fn check_name(name: &str) -> Result<(), ConfigError> {
    if name.is_empty() {
        return Err(ConfigError::EmptyName);
    }
    if name.len() > MAX_NAME {
        return Err(ConfigError::NameTooLong { len: name.len(), max: MAX_NAME });
    }
    if has_bad_hash_tag(name) {
        return Err(ConfigError::BadHashTag { name: name.into() });
    }
    Ok(())
}

/// Redisson wraps a name in braces unless it contains `{` anywhere. A brace that opens no
/// non-empty tag, or a `}` alone, then puts key and channel into different cluster slots.
fn has_bad_hash_tag(name: &str) -> bool {
    match name.split_once('{') {
        None => name.contains('}'),
        Some((before, rest)) => before.contains('}') || rest.find('}').is_none_or(|end| end == 0),
    }
}

/// The slot of a cluster that a key is in: CRC16 of its tag.
pub(crate) fn slot(key: &str) -> u16 {
    crc16(tag(key).as_bytes()) % SLOTS
}

/// What decides on the slot of a key: what stands in its first braces, or all of it.
pub(crate) fn tag(key: &str) -> &str {
    let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
    tag.map(|(tag, _)| tag).filter(|tag| !tag.is_empty()).unwrap_or(key)
}

/// CRC-16/XMODEM, as the specification of the cluster wants it.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _bit| {
            let shifted = crc << 1;
            if crc & 0x8000 == 0 { shifted } else { shifted ^ 0x1021 }
        })
    })
}

const SLOTS: u16 = 16_384;

/// The channel on which a release of the lock `name` is announced.
pub(crate) fn lock_channel(name: &str) -> Arc<str> {
    prefixed("redisson_lock__channel", name)
}

/// The counter of the fencing tokens of the lock `name` on one server: Redisson's.
pub(crate) fn lock_counter(name: &str) -> Arc<str> {
    prefixed("redisson_lock_token", name)
}

/// The counter of the fencing tokens of the lock `name` as a member of several. Not Redisson's: a
/// token that holds over many servers is not one that a single server made.
pub(crate) fn member_counter(name: &str) -> Arc<str> {
    prefixed("palisade_lock_token", name)
}

/// The waiters of the fair lock `name`, each by its holder id.
pub(crate) fn fair_queue(name: &str) -> Arc<str> {
    prefixed("redisson_lock_queue", name)
}

/// Until when their places last.
pub(crate) fn fair_deadlines(name: &str) -> Arc<str> {
    prefixed("redisson_lock_timeout", name)
}

/// Since when the first of them has not come for the free lock. Redisson does not know it.
pub(crate) fn fair_note(name: &str) -> Arc<str> {
    ours(name, "palisade_head")
}

/// The channel on which releases of the read/write lock `name` are announced.
pub(crate) fn rw_channel(name: &str) -> Arc<str> {
    prefixed("redisson_rwlock", name)
}

/// The timer of a reader of the read/write lock `name`. Redisson has one for each re-entry; one is
/// enough for it to know that a reader lives.
pub(crate) fn rw_timer(name: &str, holder: &str) -> Arc<str> {
    suffixed(name, &[holder, ":rwlock_timeout:1"])
}

/// Where a writer says that it waits for the readers of the lock `name`. Redisson does not know it.
pub(crate) fn rw_wish(name: &str) -> Arc<str> {
    ours(name, "palisade_writer")
}

/// Which waiter has the turn to ask for the lock `name`. Redisson does not know it.
pub(crate) fn turn(name: &str) -> Arc<str> {
    ours(name, "palisade_turn")
}

/// The waiters behind the turn.
pub(crate) fn turn_line(name: &str) -> Arc<str> {
    ours(name, "palisade_turns")
}

/// The channel on which `id` is told that it is its turn.
pub(crate) fn turn_channel(name: &str, id: &str) -> Arc<str> {
    joined(&[&[&*prefixed("palisade_turn", name), ":", id]])
}

/// The channel on which it is announced that the semaphore `name` has permits.
pub(crate) fn permits_channel(name: &str) -> Arc<str> {
    prefixed("redisson_sc", name)
}

/// How many permits of the semaphore `name` each holder has. Redisson does not know it.
pub(crate) fn permit_holders(name: &str) -> Arc<str> {
    ours(name, HOLDERS)
}

/// Where the last run of the job under the lock `name` is recorded.
pub(crate) fn last_run(name: &str) -> Arc<str> {
    ours(name, "palisade_last_run")
}

/// Where the run of one period is. Nothing stands behind its id, which may be any text.
pub(crate) fn period(name: &str, id: &str) -> Arc<str> {
    match in_braces(name) {
        None => suffixed(name, &["palisade_period:", id]),
        Some(_) => joined(&[&[name, ":palisade_braced_period:", id]]),
    }
}

/// Where the leader that holds the lock `name` is announced.
pub(crate) fn leader(name: &str) -> Arc<str> {
    ours(name, "palisade_leader")
}

/// The channel on which it is told that something was announced there.
pub(crate) fn leader_channel(name: &str) -> Arc<str> {
    prefixed("palisade_leader", name)
}

/// Where versions before this one had it, if that is another key.
pub(crate) fn permit_holders_before(name: &str) -> Option<Arc<str>> {
    in_braces(name).map(|_| suffixed(name, &[HOLDERS]))
}

const HOLDERS: &str = "palisade_holders";

/// What is wholly in braces shares Redisson's keys with what is in them. Ours are kept apart: a name without
/// braces has those that it always had.
pub(crate) fn in_braces(name: &str) -> Option<&str> {
    name.strip_prefix('{')?.strip_suffix('}').filter(|inner| !inner.contains(['{', '}']))
}

/// A key that Redisson does not know, of the lock `name` alone.
fn ours(name: &str, suffix: &str) -> Arc<str> {
    match in_braces(name) {
        None => suffixed(name, &[suffix]),
        Some(_) => joined(&[&[name, ":", suffix, ":", name]]),
    }
}

/// The permits of the semaphore `name` that have a lease, with the end of each: Redisson's.
pub(crate) fn permit_leases(name: &str) -> Arc<str> {
    suffixed(name, &["timeout"])
}

/// Where a holder says that it waits for several permits of the semaphore `name`. Redisson does not know it.
pub(crate) fn permits_wish(name: &str) -> Arc<str> {
    suffixed(name, &["palisade_wish"])
}

fn suffixed(name: &str, suffix: &[&str]) -> Arc<str> {
    let tagged: &[&str] = if name.contains('{') { &[name, ":"] } else { &["{", name, "}:"] };
    joined(&[tagged, suffix])
}

/// Where the latch `name` announces that it is at zero, or set anew: always in braces, so that one with
/// a hash tag has it in another slot.
pub(crate) fn latch_channel(name: &str) -> Arc<str> {
    ["redisson_countdownlatch__channel__{", name, "}"].concat().into()
}

/// When the latch `name` was last brought to zero. Redisson does not know it.
pub(crate) fn latch_generation(name: &str) -> Arc<str> {
    ours(name, "palisade_zero")
}

/// Where it stands whether a change of `name` was made: of one change, which `id` stands for.
pub(crate) fn once(name: &str, id: &str) -> Arc<str> {
    [&*prefixed("palisade_once", name), ":", id].concat().into()
}

fn prefixed(prefix: &str, name: &str) -> Arc<str> {
    let parts: &[&str] =
        if name.contains('{') { &[prefix, ":", name] } else { &[prefix, ":{", name, "}"] };
    joined(&[parts])
}

/// One after the other. Some are made for each lock that is named, so usual ones are put together where
/// they cost no allocation but their own.
pub(crate) fn joined(parts: &[&[&str]]) -> Arc<str> {
    let mut usual = [0; 192];
    let mut left = &mut usual[..];
    let fits = parts.iter().copied().flatten().all(|part| left.write_all(part.as_bytes()).is_ok());
    let unused = left.len();
    let (written, _) = usual.split_at(usual.len() - unused);
    let text = str::from_utf8(written).ok().filter(|_| fits);
    text.map_or_else(|| parts.concat().concat().into(), Arc::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_redissons() {
        assert_eq!(&*lock_channel("orders:42"), "redisson_lock__channel:{orders:42}");
        assert_eq!(&*lock_channel("{tenant}:x"), "redisson_lock__channel:{tenant}:x");
    }

    #[test]
    fn long_names_have_their_keys_too() {
        for len in [100, 160, 190, 200, MAX_NAME] {
            let name = "\u{2603}".repeat(len / 3);
            assert_eq!(*lock_channel(&name), format!("redisson_lock__channel:{{{name}}}"));
        }
    }

    #[test]
    fn counters_of_one_server_are_redissons_and_those_of_several_are_not() {
        assert_eq!(&*lock_counter("orders:42"), "redisson_lock_token:{orders:42}");
        assert_eq!(&*lock_counter("{tenant}:x"), "redisson_lock_token:{tenant}:x");
        assert_eq!(&*member_counter("orders:42"), "palisade_lock_token:{orders:42}");
        assert_eq!(&*member_counter("{tenant}:x"), "palisade_lock_token:{tenant}:x");
    }

    #[test]
    fn keys_of_read_write_locks_are_redissons_and_in_the_slot_of_the_name() {
        let of = |name: &str| [rw_channel(name), rw_timer(name, "id:7"), rw_wish(name)];
        let names = |name: &str| of(name).map(|key| key.to_string());
        let plain = ["redisson_rwlock:{rw}", "{rw}:id:7:rwlock_timeout:1", "{rw}:palisade_writer"];
        assert_eq!(names("rw"), plain);
        assert!(of("rw").iter().all(|key| slot(key) == slot("rw")));
        let tagged = ["redisson_rwlock:a{b}", "a{b}:id:7:rwlock_timeout:1", "a{b}:palisade_writer"];
        assert_eq!(names("a{b}"), tagged);
    }

    #[test]
    fn keys_of_fair_locks_are_redissons_and_in_the_slot_of_the_name() {
        let of = |name: &str| [fair_queue(name), fair_deadlines(name), fair_note(name)];
        let names = |name: &str| of(name).map(|key| key.to_string());
        let plain = ["redisson_lock_queue:{f}", "redisson_lock_timeout:{f}", "{f}:palisade_head"];
        assert_eq!(names("f"), plain);
        assert!(of("f").iter().all(|key| slot(key) == slot("f")));
        let tagged =
            ["redisson_lock_queue:a{b}", "redisson_lock_timeout:a{b}", "a{b}:palisade_head"];
        assert_eq!(names("a{b}"), tagged);
    }

    #[test]
    fn keys_of_semaphores_are_redissons_and_in_the_slot_of_the_name() {
        let of = |name: &str| {
            [permits_channel(name), permit_leases(name), permit_holders(name), permits_wish(name)]
        };
        let names = |name: &str| of(name).map(|key| key.to_string());
        assert_eq!(
            names("x"),
            ["redisson_sc:{x}", "{x}:timeout", "{x}:palisade_holders", "{x}:palisade_wish"]
        );
        assert!(of("x").iter().all(|key| slot(key) == slot("x")));
        assert_eq!(
            names("a{b}"),
            ["redisson_sc:a{b}", "a{b}:timeout", "a{b}:palisade_holders", "a{b}:palisade_wish"]
        );
    }

    #[test]
    fn keys_of_turns_are_in_the_slot_of_the_name() {
        let names = |name: &str| [turn(name), turn_line(name), turn_channel(name, "id:7")];
        let names = |name: &str| names(name).map(|key| key.to_string());
        let plain = ["{x}:palisade_turn", "{x}:palisade_turns", "palisade_turn:{x}:id:7"];
        assert_eq!(names("x"), plain);
        assert!(plain.iter().all(|key| slot(key) == slot("x")));
        let tagged = ["a{b}:palisade_turn", "a{b}:palisade_turns", "palisade_turn:a{b}:id:7"];
        assert_eq!(names("a{b}"), tagged);
    }

    #[test]
    fn names_in_braces_have_keys_of_their_own_in_their_slot() {
        for of in [permit_holders, fair_note, rw_wish, turn, turn_line, latch_generation] {
            let (plain, braced) = (of("x"), of("{x}"));
            assert_ne!(plain, braced);
            assert_eq!(slot(&braced), slot("x"));
            assert_ne!(of("{x}:"), braced);
        }
        assert_eq!(&*permit_holders("{x}"), "{x}:palisade_holders:{x}");
        assert_eq!(permit_holders_before("{x}"), Some(permit_holders("x")));
        assert_eq!(permit_holders_before("x"), None);
        assert_eq!((in_braces("{a}{b}"), in_braces("{a}b"), in_braces("a")), (None, None, None));
    }

    #[test]
    fn records_of_runs_are_in_the_slot_of_the_name_and_of_one_name_alone() {
        let names = |name: &str| [last_run(name), period(name, "w:{x}")].map(|key| key.to_string());
        let plain = ["{x}:palisade_last_run", "{x}:palisade_period:w:{x}"];
        assert_eq!(names("x"), plain);
        let braced = ["{x}:palisade_last_run:{x}", "{x}:palisade_braced_period:w:{x}"];
        assert_eq!(names("{x}"), braced);
        let tagged = ["a{x}:palisade_last_run", "a{x}:palisade_period:w:{x}"];
        assert_eq!(names("a{x}"), tagged);
        for key in plain.iter().chain(&braced).chain(&tagged) {
            assert_eq!(slot(key), slot("x"), "{key}");
        }
    }

    #[test]
    fn channel_of_a_latch_is_always_in_braces() {
        assert_eq!(&*latch_channel("start"), "redisson_countdownlatch__channel__{start}");
        assert_eq!(&*latch_channel("{a}start"), "redisson_countdownlatch__channel__{{a}start}");
        assert_ne!(slot(&latch_channel("{a}start")), slot("{a}start"));
    }

    #[test]
    fn generation_of_a_latch_is_in_the_slot_of_its_name() {
        assert_eq!(&*latch_generation("start"), "{start}:palisade_zero");
        assert_eq!(&*latch_generation("{a}start"), "{a}start:palisade_zero");
        assert_eq!(slot(&latch_generation("start")), slot("start"));
    }

    #[test]
    fn what_is_kept_of_a_change_is_in_the_slot_of_its_name() {
        assert_eq!(&*once("start", "0a"), "palisade_once:{start}:0a");
        assert_eq!(&*once("{a}start", "0a"), "palisade_once:{a}start:0a");
        assert_eq!(slot(&once("{a}start", "0a")), slot("{a}start"));
    }

    #[test]
    fn names_whose_channel_would_land_in_another_slot_are_refused() {
        for bad in ["a{", "a{}b", "{}x", "a}b", "}a{b}"] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
        for good in ["orders:42", "a{b}", "{b}a", "x{b}{c}", "snow ☃", "nul\0byte"] {
            assert_eq!(check_name(good), Ok(()), "{good}");
        }
    }

    /// As CLUSTER KEYSLOT answers.
    #[test]
    fn slots_are_those_of_a_cluster() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        for (key, expected) in [
            ("foo", 12182),
            ("a", 15495),
            ("{a}:d", 15495),
            ("x{a}y{b}", 15495),
            ("a{}b", 13694),
            ("a{b", 13340),
        ] {
            assert_eq!(slot(key), expected, "{key}");
        }
    }

    #[test]
    fn keys_are_names_behind_the_namespace() {
        assert_eq!(of_lock("", "orders:42"), "orders:42");
        assert_eq!(of_lock("shop:", "orders:42"), "shop:orders:42");
        assert_eq!(&*marker(""), "palisade:marker");
        assert_eq!(&*marker("shop:"), "shop:palisade:marker");
    }

    #[test]
    fn namespaces_that_cannot_work_are_refused() {
        let longest = "x".repeat(MAX_NAMESPACE);
        for good in ["", "shop:locks:", "snow ☃", "{shop}:", "a{b}", &longest] {
            assert_eq!(check_namespace(good), Ok(()), "{good}");
        }
        for bad in ["a\0b", "a\n", "{", "a}", "{}", &(longest.clone() + "x")] {
            assert!(check_namespace(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_have_a_length() {
        assert_eq!(check_name(""), Err(ConfigError::EmptyName));
        assert_eq!(check_name(&"x".repeat(MAX_NAME)), Ok(()));
        assert!(check_name(&"x".repeat(MAX_NAME + 1)).is_err());
    }
}
