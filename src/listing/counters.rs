//! What has a name and is no lock: permits, and numbers that count something. Looked at only where they are named, since
//! any number of any program may be such a one.

use std::time::Duration;

use redis::Value;

use super::{
    asked::{AskedServer, about, beside, count, elements, text},
    found::FoundLocks,
    listed_lock::{ListedHolder, ListedLock},
    records::micros,
    surroundings::listening,
};
use crate::{
    error::NodeError,
    kind::{Access, Holder, SortOfLock},
    socket::words,
    wire::key,
};

/// Looks at a key that is no lock, and notes it if it counts.
pub(super) async fn look(
    server: &AskedServer<'_>,
    key: &str,
    found: &mut FoundLocks,
) -> Result<(), NodeError> {
    let (leases, holders) = (key::permit_leases(key), key::permit_holders(key));
    let asked = vec![
        about("GET", key),
        about("ZCARD", &leases),
        words(&["ZRANGE", &leases, "0", "63", "WITHSCORES"]),
        about("HLEN", &holders),
        words(&["TIME"]),
    ];
    let mut answers = server.ask(asked).await.into_iter();
    let [number, permits, leases, lines, time] = [(); 5].map(|()| beside(answers.next()));
    let Some(left) = number?.as_ref().and_then(text).and_then(|it| it.parse().ok()) else {
        return Ok(());
    };
    let (permits, lines) = (permits?.as_ref().map_or(0, count), lines?.as_ref().map_or(0, count));
    let now_ms = time?.as_ref().and_then(micros).map_or(0, |micros| micros / 1_000);
    let (sort, held, all) = if permits > 0 {
        (SortOfLock::Permits, leased(leases?.as_ref(), now_ms), permits)
    } else if (1..=MOST_LINES).contains(&lines) {
        let told = server.ask(vec![about("HGETALL", &holders)]).await.pop();
        (SortOfLock::Semaphore, counted(beside(told)?.as_ref()), lines)
    } else {
        // Too many lines to be read make it a semaphore all the same.
        let sort = if lines > 0 { SortOfLock::Semaphore } else { SortOfLock::Counter };
        (sort, Vec::new(), lines)
    };
    let waiting = match sort {
        SortOfLock::Counter => None,
        _ => listening(server, &[key::permits_channel(key)]).await?.pop().flatten(),
    };
    let name = server.services.name_of(key).to_owned();
    let more_holders = all.saturating_sub(u64::try_from(held.len()).unwrap_or(all));
    let holders = held.into_iter().map(|holder| {
        let is_dead = holder.ttl == Some(Duration::ZERO);
        ListedHolder { holder, votes: 1, process: None, is_dead }
    });
    let holders = holders.collect();
    found.note(ListedLock {
        name,
        sort,
        votes: 1,
        left: Some(left),
        holders,
        more_holders,
        waiting,
    });
    Ok(())
}

/// Permits with a lease: their ids are bytes, and the scores when they end.
fn leased(leases: Option<&Value>, now_ms: u64) -> Vec<Holder> {
    let leases = leases.map_or(&[][..], elements).chunks_exact(2);
    let holder = |pair: &[Value]| {
        let [Value::BulkString(id), end] = pair else { return None };
        let end = text(end)?.parse::<f64>().ok()?;
        let left = Duration::try_from_secs_f64(end / 1e3).unwrap_or_default();
        let ttl = Some(left.saturating_sub(Duration::from_millis(now_ms)));
        Some(Holder { id: hex::encode(id), count: 1, ttl, access: Access::Permits })
    };
    leases.filter_map(holder).collect()
}

/// Permits without: how many each holder has.
fn counted(lines: Option<&Value>) -> Vec<Holder> {
    let lines = lines.map_or(&[][..], elements).chunks_exact(2);
    let holder = |pair: &[Value]| {
        let [id, count] = pair else { return None };
        let (id, count) = (text(id)?.to_owned(), text(count)?.parse().ok()?);
        Some(Holder { id, count, ttl: None, access: Access::Permits })
    };
    lines.filter_map(holder).collect()
}

/// So many holders are read at most.
const MOST_LINES: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::test_answers::for_any_answer;

    #[test]
    fn permits_are_read() {
        let bytes = |bytes: &[u8]| Value::BulkString(bytes.into());
        let list = |of: &[Value]| Value::Array(of.into());
        let leases = list(&[bytes(&[0xab; 16]), bytes(b"12500"), bytes(&[1; 16]), bytes(b"9000")]);
        let held = leased(Some(&leases), 10_000);
        let told: Vec<_> = held.iter().map(|it| (it.id.get(..4), it.ttl)).collect();
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!(told, [(Some("abab"), ms(2_500)), (Some("0101"), ms(0))]);
        let held = counted(Some(&list(&[bytes(b"x:1"), bytes(b"3"), bytes(b"y"), bytes(b"-")])));
        assert_eq!(held.iter().map(|it| (&*it.id, it.count)).collect::<Vec<_>>(), [("x:1", 3)]);
    }

    #[test]
    fn answers_of_any_shape_are_read_or_refused() {
        for_any_answer(|answer| {
            drop(leased(Some(&answer), 1));
            drop(counted(Some(&answer)));
        });
    }
}
