//! Which of the hashes of a page are locks, and what stands in them.
//!
//! Most are other programs'. So first it is asked how many fields each has, and then for one name: of the only field,
//! or of the side of a lock that is read and written. A lock of one holder has one field, and all others have a `mode`.
//! No value of a hash is asked for before that has told a lock.

use std::time::Duration;

use redis::Value;

use super::{
    asked::{AskedServer, KeyAnswer, about, beside, count, elements, heard, text},
    recognised::{is_beside, is_holder, side},
};
use crate::{
    error::NodeError,
    kind::{Access, Holder},
    socket::words,
};

/// What stands under a key that is a lock's.
#[derive(Debug)]
pub(super) struct LockHash {
    pub(super) key: String,
    /// Of a lock that is read and written.
    pub(super) side: Option<Access>,
    /// The writer first, then in the order of their ids.
    pub(super) holders: Vec<Holder>,
    /// How many fields it has that were not read.
    pub(super) unseen: u64,
}

/// Those of these keys that are locks; and how many could not be read.
pub(super) async fn locks(
    server: &AskedServer<'_>,
    keys: Vec<String>,
) -> Result<(Vec<LockHash>, u64), NodeError> {
    let (candidates, unread) = candidates(server, keys).await?;
    let read = server.ask(candidates.iter().map(Candidate::read).collect()).await;
    let ttls = server.ask_of(&candidates, |it| about("PTTL", &it.key)).await;
    let mut locks = Vec::new();
    for ((candidate, contents), ttl) in candidates.into_iter().zip(read).zip(ttls) {
        if let Some((contents, ttl)) = beside(Some(contents))?.zip(beside(Some(ttl))?) {
            locks.extend(candidate.lock(&contents, &ttl));
        }
    }
    Ok((locks, unread))
}

/// A hash that has the one name that tells a lock.
#[derive(Debug)]
struct Candidate {
    key: String,
    fields: u64,
    side: Option<Access>,
}

async fn candidates(
    server: &AskedServer<'_>,
    keys: Vec<String>,
) -> Result<(Vec<Candidate>, u64), NodeError> {
    let lengths = server.ask_of(&keys, |key| about("HLEN", key)).await;
    let (mut hashes, mut unread) = (Vec::new(), 0);
    for (key, length) in keys.into_iter().zip(lengths) {
        match heard(length)? {
            KeyAnswer::Told(length) if count(&length) > 0 && !is_beside(&key) => {
                hashes.push((key, count(&length)));
            }
            KeyAnswer::Told(_) | KeyAnswer::Another => {}
            KeyAnswer::Unread => unread += 1,
        }
    }
    let say = |(key, fields): &(String, u64)| match fields {
        1 => about("HKEYS", key),
        _ => words(&["HGET", key, "mode"]),
    };
    let names = server.ask_of(&hashes, say).await;
    let mut candidates = Vec::new();
    for ((key, fields), name) in hashes.into_iter().zip(names) {
        match heard(name)? {
            KeyAnswer::Told(name) => candidates.extend(Candidate::of(key, fields, &name)),
            KeyAnswer::Another => {}
            KeyAnswer::Unread => unread += 1,
        }
    }
    Ok((candidates, unread))
}

impl Candidate {
    fn of(key: String, fields: u64, name: &Value) -> Option<Self> {
        if fields > 1 {
            return Some(Self { key, fields, side: Some(side(text(name)?)?) });
        }
        let field = elements(name).first().and_then(text)?;
        is_holder(field).then_some(Self { key, fields, side: None })
    }

    fn read(&self) -> redis::Cmd {
        if self.fields <= MOST_FIELDS {
            about("HGETALL", &self.key)
        } else {
            // A command about thousands of fields would stop the server for as long.
            words(&["HSCAN", &self.key, "0", "COUNT", "64"])
        }
    }

    fn lock(self, contents: &Value, ttl: &Value) -> Option<LockHash> {
        let fields = match elements(contents) {
            [_cursor, Value::Array(fields)] if self.fields > MOST_FIELDS => fields,
            fields => fields,
        };
        let ttl = match ttl {
            Value::Int(ms) => u64::try_from(*ms).ok().map(Duration::from_millis),
            _ => None,
        };
        let pairs = fields.chunks_exact(2).take(usize::try_from(MOST_FIELDS).unwrap_or(0));
        let seen = u64::try_from(pairs.len()).unwrap_or(0);
        let mut holders: Vec<Holder> = Vec::new();
        for pair in pairs {
            let [field, value] = pair else { continue };
            let (field, value) = (text(field)?, text(value)?);
            if field == "mode" && self.side.is_some() {
                continue;
            }
            // It is another program's after all.
            let count = value.parse().ok().filter(|_| is_holder(field))?;
            let (id, access) = match field.strip_suffix(":write") {
                Some(id) => (id, Access::Write),
                None if self.side.is_some() => (field, Access::Read),
                None => (field, Access::Alone),
            };
            holders.push(Holder { id: id.to_owned(), count, ttl, access });
        }
        holders.sort_by(|a, b| {
            (a.access != Access::Write, &a.id).cmp(&(b.access != Access::Write, &b.id))
        });
        let unseen = self.fields.saturating_sub(seen);
        (!holders.is_empty()).then_some(LockHash {
            key: self.key,
            side: self.side,
            holders,
            unseen,
        })
    }
}

/// So many fields of a hash are read at most.
const MOST_FIELDS: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::test_answers::for_any_answer;

    const UUID: &str = "0fa6aec3-9a0f-4f7e-8dd2-52d7a3f9ae3d";

    fn list(words: &[String]) -> Value {
        let words = words.iter().map(|word| Value::BulkString(word.clone().into_bytes()));
        Value::Array(words.collect())
    }

    fn candidate(fields: u64, side: Option<Access>) -> Candidate {
        Candidate { key: "x".into(), fields, side }
    }

    #[test]
    fn one_field_or_a_mode_tells_a_lock() {
        let of = |fields, name: &str| Candidate::of("x".into(), fields, &list(&[name.into()]));
        assert!(of(1, &format!("{UUID}:7")).is_some() && of(1, "name").is_none());
        let mode = |mode: &str| {
            Candidate::of("x".into(), 9, &Value::BulkString(mode.into())).and_then(|it| it.side)
        };
        assert_eq!([mode("read"), mode("write")], [Some(Access::Read), Some(Access::Write)]);
        assert_eq!([mode("dark"), mode("")], [None, None]);
        assert!(Candidate::of("x".into(), 9, &Value::Nil).is_none());
    }

    #[test]
    fn holders_are_read_and_other_hashes_are_not() {
        let (reader, writer) = (format!("{UUID}:7"), format!("{UUID}:7:write"));
        let fields = [&*reader, "2", "mode", "write", &*writer, "1"].map(str::to_owned);
        let lock = candidate(3, Some(Access::Write)).lock(&list(&fields), &Value::Int(5)).unwrap();
        let told: Vec<_> = lock.holders.iter().map(|it| (&*it.id, it.count, it.access)).collect();
        assert_eq!(told, [(&*reader, 1, Access::Write), (&*reader, 2, Access::Read)]);
        assert_eq!((lock.unseen, lock.holders[0].ttl), (0, Some(Duration::from_millis(5))));
        for fields in [[&*reader, "x"], ["name", "1"], ["mode", "read"]] {
            let fields = fields.map(str::to_owned);
            assert!(
                candidate(1, None).lock(&list(&fields), &Value::Int(5)).is_none(),
                "{fields:?}"
            );
        }
    }

    #[test]
    fn of_many_readers_some_are_read() {
        let fields = (0..100).flat_map(|n| [format!("{UUID}:{n}"), "1".into()]);
        let told = list(&fields.collect::<Vec<_>>());
        let told = Value::Array(vec![Value::BulkString(b"17".into()), told]);
        let lock = candidate(5_001, Some(Access::Read)).lock(&told, &Value::Int(-1)).unwrap();
        assert_eq!((lock.holders.len(), lock.unseen), (64, 4_937));
        assert_eq!(lock.holders[0].ttl, None);
    }

    #[test]
    fn answers_of_any_shape_are_read_or_refused() {
        for_any_answer(|answer| {
            drop(candidate(1, None).lock(&answer, &answer));
            drop(candidate(99, Some(Access::Read)).lock(&answer, &answer));
            drop(Candidate::of("x".into(), 1, &answer));
        });
    }
}
