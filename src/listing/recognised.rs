//! Which hashes are locks, by what their fields are called. Pure.
//!
//! A script of a lock takes any `<id>:<number>` for a holder, since its key was named as that of a lock. Here the
//! key is any, and other programs have hashes with such fields, too. So only what begins with a uuid counts.

use uuid::Uuid;

use crate::kind::{Access, REVOKED};

/// How a hash with a field `mode` is held, if that is one of a lock.
pub(super) fn side(mode: &str) -> Option<Access> {
    match mode {
        "read" => Some(Access::Read),
        "write" => Some(Access::Write),
        _ => None,
    }
}

/// Whether a field names a holder: `<uuid>:<number>`, to which Redisson adds `:write` or a transaction; or what an
/// operator has put in a holder's place.
pub(super) fn is_holder(field: &str) -> bool {
    let mut parts = field.split(':');
    let (process, number) = (parts.next().unwrap_or_default(), parts.next());
    let (rest, is_over) = (parts.next(), parts.next().is_none());
    let is_process = REVOKED.contains(&process) || is_uuid(process);
    is_process && number.is_some_and(is_number) && rest.is_none_or(is_addition) && is_over
}

/// The process of a holder, and the number of its hold.
pub(super) fn process_and_number(id: &str) -> Option<(&str, &str)> {
    let (process, number) = id.split_once(':')?;
    (is_uuid(process) && is_number(number)).then_some((process, number))
}

/// Whether a key of ours stands beside a lock, and has fields that look like its holders.
pub(super) fn is_beside(key: &str) -> bool {
    key.ends_with("}:palisade_holders") || key.contains(":palisade_holders:{")
}

/// In its usual form alone: 36 characters.
fn is_uuid(text: &str) -> bool {
    text.len() == 36 && Uuid::try_parse(text).is_ok()
}

fn is_number(text: &str) -> bool {
    text.parse::<i64>().is_ok() && !text.starts_with('+')
}

fn is_addition(text: &str) -> bool {
    text == "write" || text.len() == 32 && text.chars().all(|c| c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "0fa6aec3-9a0f-4f7e-8dd2-52d7a3f9ae3d";

    #[test]
    fn holders_are_told_from_other_fields() {
        let hex = "0123456789abcdef0123456789ABCDEF";
        for (field, expected) in [
            (format!("{UUID}:7"), true),
            (format!("{UUID}:-7"), true),
            (format!("{UUID}:7:write"), true),
            (format!("{UUID}:7:{hex}"), true),
            ("palisade-unlock:3".into(), true),
            (format!("{UUID}:7:writes"), false),
            (format!("{UUID}:7:write:x"), false),
            (format!("{UUID}:+7"), false),
            (format!("{UUID}:x"), false),
            (format!("{UUID}:99999999999999999999"), false),
            (UUID.into(), false),
            (UUID.replace('-', "") + ":7", false),
            ("user:7".into(), false),
            ("mode".into(), false),
            (String::new(), false),
        ] {
            assert_eq!(is_holder(&field), expected, "{field}");
        }
    }

    #[test]
    fn processes_are_told_from_what_stands_for_none() {
        let id = format!("{UUID}:7");
        assert_eq!(process_and_number(&id), Some((UUID, "7")));
        assert_eq!(process_and_number("palisade-unlock:3"), None);
        assert!(is_beside("{x}:palisade_holders") && is_beside("{x}:palisade_holders:{x}"));
        assert!(!is_beside("x"));
    }
}
