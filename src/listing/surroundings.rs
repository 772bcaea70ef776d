//! What stands beside locks: queues, counters, timers of readers, and how many processes listen.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use redis::{Cmd, Value};

use super::{
    asked::{AskedServer, about, beside, count, elements, text},
    contents::LockHash,
};
use crate::{
    error::NodeError,
    kind::{Access, SortOfLock},
    socket::words,
    wire::{Publishing, key},
};

/// What is beside one lock.
#[derive(Debug)]
pub(super) struct Surroundings {
    pub(super) sort: SortOfLock,
    pub(super) waiting: Option<u64>,
    /// The ttl of each holder, in their order, where that is another one than the lock's; zero of a dead reader.
    pub(super) timers: Vec<Option<Duration>>,
}

/// Of each of these locks, in their order.
pub(super) async fn of_locks(
    server: &AskedServer<'_>,
    locks: &[LockHash],
) -> Result<Vec<Surroundings>, NodeError> {
    let listeners = listeners(server, locks).await?;
    let mut around = Vec::new();
    let commands = locks.iter().flat_map(commands).collect();
    let mut answers = server.ask(commands).await.into_iter();
    for (lock, listeners) in locks.iter().zip(listeners) {
        around.push(match lock.side {
            Some(_) => {
                let mut timers = Vec::new();
                for holder in &lock.holders {
                    let asked = timers_of(lock, holder).map(|_| beside(answers.next()));
                    // All of them: the next answer is another holder's.
                    timers.push(longest(asked.collect::<Result<Vec<_>, _>>()?));
                }
                Surroundings { sort: SortOfLock::ReadWrite, waiting: listeners, timers }
            }
            None => {
                let [queue, line, counters] = [(); 3].map(|()| beside(answers.next()));
                alone(listeners, queue?.as_ref(), line?.as_ref(), counters?.as_ref())
            }
        });
    }
    Ok(around)
}

/// What is asked of one.
fn commands(lock: &LockHash) -> Vec<Cmd> {
    let name = &lock.key;
    if lock.side.is_some() {
        let timers = lock.holders.iter().flat_map(|holder| timers_of(lock, holder));
        return timers.map(|timer| about("PTTL", &timer)).collect();
    }
    vec![
        words(&["LRANGE", &key::fair_queue(name), "0", MOST_WAITERS]),
        about("ZCARD", &key::turn_line(name)),
        words(&["EXISTS", &key::lock_counter(name), &key::member_counter(name)]),
    ]
}

/// Of a lock of one holder.
fn alone(
    listeners: Option<u64>,
    queue: Option<&Value>,
    line: Option<&Value>,
    counters: Option<&Value>,
) -> Surroundings {
    let queue = queue.map_or(&[][..], elements);
    let ids = queue.iter().filter_map(text);
    let processes: BTreeSet<_> = ids.map(|id| id.split(':').next().unwrap_or_default()).collect();
    let sort = if !queue.is_empty() {
        SortOfLock::Fair
    } else if counters.is_some_and(|it| count(it) > 0) {
        SortOfLock::Fenced
    } else {
        SortOfLock::Lock
    };
    let in_queue = u64::try_from(processes.len()).unwrap_or(0);
    // Those in line listen for their turn alone.
    let in_line = line.map_or(0, count);
    let waiting = listeners.map(|listeners| listeners + in_line + in_queue);
    Surroundings { sort, waiting, timers: Vec::new() }
}

/// The timers of a reader: Redisson has one for each re-entry.
fn timers_of(lock: &LockHash, holder: &crate::kind::Holder) -> impl Iterator<Item = String> {
    let times = if holder.access == Access::Read { holder.count.clamp(1, MOST_TIMERS) } else { 0 };
    let first = key::rw_timer(&lock.key, &holder.id);
    let all = first.strip_suffix('1').unwrap_or_default().to_owned();
    (1..=times).map(move |n| format!("{all}{n}"))
}

/// How long the longest of a reader's timers runs: `None` if that is not known, or it has none.
fn longest(timers: Vec<Option<Value>>) -> Option<Duration> {
    let mut longest = None;
    for timer in timers {
        let Some(Value::Int(ms @ (0.. | -2))) = timer else { return None };
        longest = longest.max(Some(Duration::from_millis(u64::try_from(ms).unwrap_or(0))));
    }
    longest
}

/// How many processes listen for the release of each.
async fn listeners(
    server: &AskedServer<'_>,
    locks: &[LockHash],
) -> Result<Vec<Option<u64>>, NodeError> {
    let channels = locks.iter().map(|lock| match lock.side {
        Some(_) => key::rw_channel(&lock.key),
        None => key::lock_channel(&lock.key),
    });
    listening(server, &channels.collect::<Vec<_>>()).await
}

/// How many listen on each channel; not known in a cluster whose servers do not publish by shard.
pub(super) async fn listening(
    server: &AskedServer<'_>,
    channels: &[Arc<str>],
) -> Result<Vec<Option<u64>>, NodeError> {
    let node = &server.services.node;
    let numsub = match node.publishing() {
        Publishing::Broadcast if node.is_cluster() => return Ok(vec![None; channels.len()]),
        Publishing::Broadcast => "NUMSUB",
        Publishing::Sharded => "SHARDNUMSUB",
    };
    // One command for each: in a cluster they are in as many slots.
    let answers = server.ask_of(channels, |channel| words(&["PUBSUB", numsub, channel])).await;
    let mut all = Vec::new();
    for answer in answers {
        all.push(beside(Some(answer))?.and_then(|it| elements(&it).get(1).map(count)));
    }
    Ok(all)
}

/// The last place in a queue that is looked at.
const MOST_WAITERS: &str = "255";
/// So many timers of one reader are looked at.
const MOST_TIMERS: u64 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_and_counters_tell_the_sort_and_who_waits() {
        let ids = ["a:1", "a:2", "b:1"].map(|id| Value::BulkString(id.into()));
        let (queue, none) = (Value::Array(ids.into()), Value::Array(vec![]));
        let (zero, two) = (Value::Int(0), Value::Int(2));
        let sort = |queue, counters| alone(Some(0), Some(queue), Some(&zero), counters).sort;
        assert_eq!(sort(&queue, Some(&two)), SortOfLock::Fair);
        assert_eq!(sort(&none, Some(&two)), SortOfLock::Fenced);
        assert_eq!(sort(&none, Some(&zero)), SortOfLock::Lock);
        assert_eq!(sort(&none, None), SortOfLock::Lock);
        assert_eq!(alone(Some(1), Some(&queue), Some(&two), None).waiting, Some(5));
        assert_eq!(alone(Some(1), None, None, None).waiting, Some(1));
        assert_eq!(alone(None, Some(&queue), Some(&two), None).waiting, None);
    }

    #[test]
    fn readers_live_as_long_as_their_longest_timer() {
        let ms = |ms| Some(Duration::from_millis(ms));
        let longest =
            |timers: &[Option<i64>]| longest(timers.iter().map(|it| it.map(Value::Int)).collect());
        assert_eq!(longest(&[Some(5), Some(9), Some(-2)]), ms(9));
        assert_eq!(longest(&[Some(-2)]), ms(0));
        assert_eq!(longest(&[Some(-2), Some(-1)]), None);
        assert_eq!(longest(&[Some(5), None]), None);
    }
}
