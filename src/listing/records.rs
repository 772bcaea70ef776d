//! What the processes of holders tell, asked once a page for each process.

use std::{collections::BTreeMap, time::Duration};

use futures::future::join_all;
use redis::Value;

use super::{
    asked::{AskedServer, elements, text},
    contents::LockHash,
    recognised::process_and_number,
};
use crate::{
    clock::Instant, presence::ProcessRecord, process::NodeServices, socket::words, wire::key,
};

/// What processes tell of holds, by holder id. Of those that tell nothing there is nothing.
///
/// It is no evidence, so what cannot be asked is left out.
pub(super) async fn of_holders(
    server: &AskedServer<'_>,
    locks: &[LockHash],
) -> BTreeMap<String, ProcessRecord> {
    let mut numbers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let holders = locks.iter().flat_map(|lock| &lock.holders);
    for (process, number) in holders.filter_map(|it| process_and_number(&it.id)) {
        numbers.entry(process).or_default().push(number);
    }
    let (services, deadline) = (server.services, server.deadline());
    let asked = numbers.into_iter().map(|(process, mut numbers)| {
        numbers.sort_unstable();
        numbers.dedup();
        of_process(services, process, numbers, deadline)
    });
    join_all(asked).await.into_iter().flatten().flatten().collect()
}

/// What one tells of itself, and of each of these holds. In a cluster it is on another master than the locks.
async fn of_process(
    services: &NodeServices,
    process: &str,
    numbers: Vec<&str>,
    deadline: Instant,
) -> Option<Vec<(String, ProcessRecord)>> {
    let at = key::process(&services.settings.namespace, process);
    let connection = services.node.connection(&at, deadline).await.ok()?;
    let mut ask = words(&["HMGET", &at]);
    ask.arg(&FIELDS[..]);
    ask.arg(numbers.iter().map(|number| format!("h:{number}")).collect::<Vec<_>>());
    let answers = connection.ask_each(vec![words(&["TIME"]), ask], deadline).await;
    let [now, told] = <[_; 2]>::try_from(answers).ok()?;
    let (now, told) = (now.ok()?, told.ok()?);
    let (fields, holds) = elements(&told).split_at_checked(FIELDS.len())?;
    let fields: BTreeMap<_, _> = FIELDS.into_iter().zip(fields).filter_map(field).collect();
    if fields.is_empty() {
        return None;
    }
    let now = micros(&now);
    let records = numbers.iter().zip(holds).map(|(number, since)| {
        let held_for = now.and_then(|now| age(now, since));
        let record = ProcessRecord::of_fields(fields.clone(), held_for);
        (format!("{process}:{number}"), record)
    });
    Some(records.collect())
}

fn field((name, value): (&str, &Value)) -> Option<(String, String)> {
    let value = text(value)?;
    Some((name.to_owned(), value.chars().take(MOST_CHARS).collect()))
}

/// How long something is ago; none of it is in the future.
fn age(now: u64, since: &Value) -> Option<Duration> {
    let since = text(since)?.parse::<u64>().ok()?;
    Some(Duration::from_micros(now.saturating_sub(since)))
}

/// What TIME has answered, in µs.
pub(super) fn micros(time: &Value) -> Option<u64> {
    let [seconds, micros] = elements(time) else { return None };
    let number = |it| text(it)?.parse::<u64>().ok();
    number(seconds)?.checked_mul(1_000_000)?.checked_add(number(micros)?)
}

/// What is asked of a process.
const FIELDS: [&str; 7] = ["host", "pid", "user", "program", "version", "started", "note"];

/// A record of another program's making could say anything.
const MOST_CHARS: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_by_the_time_of_the_server() {
        let text = |text: &str| Value::BulkString(text.into());
        let now = micros(&Value::Array(vec![text("12"), text("345")])).unwrap();
        assert_eq!(now, 12_000_345);
        assert_eq!(age(now, &text("2000345")), Some(Duration::from_secs(10)));
        assert_eq!(age(now, &text("99000000")), Some(Duration::ZERO));
        assert_eq!((age(now, &Value::Nil), age(now, &text("x"))), (None, None));
        assert_eq!((micros(&Value::Nil), micros(&Value::Array(vec![text("12")]))), (None, None));
    }
}
