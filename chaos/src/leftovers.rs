//! What is left on a server when all workers are gone: all that should not be there.

use testkit::{RedisServer, Reply};

use crate::{
    history::Leftovers,
    traffic::{LEASED_SEMAPHORE, NAME_OF_WORKERS, PERMITS, Prize, SEMAPHORE},
};

/// The holder ids of workers that were killed begin with one of `dead`: those were not taken out of a
/// queue, and have not given back their permits.
pub(crate) fn on(
    master: usize,
    server: &RedisServer,
    prizes: &[Prize],
    dead: &[String],
) -> Leftovers {
    let channels = server.cli(&["PUBSUB", "CHANNELS"]);
    let channels = channels.lines().filter(|channel| !channel.starts_with("__sentinel__"));
    let channels = channels.map(str::to_owned).collect();
    let mut keys = server.keys();
    keys.retain(|key| !stays(key) && !is_of(key, SEMAPHORE) && !is_of(key, LEASED_SEMAPHORE));
    keys.retain(|key| !is_queue_of_dead(server, key, dead));
    for prize in prizes.iter().filter(|prize| prize.what.home() == Some(master)) {
        keys.extend(match prize.name {
            SEMAPHORE => wrong_permits(server, dead),
            LEASED_SEMAPHORE => wrong_leased_permits(server),
            _ => None,
        });
    }
    Leftovers { master, keys, channels, connections: server.connected_clients() }
}

/// How many connections of workers a server has, to which others have some of their own.
pub(crate) fn connections_of_workers(server: &RedisServer) -> u64 {
    let list = server.cli(&["CLIENT", "LIST"]);
    list.lines().filter(|line| line.contains(&format!(" name={NAME_OF_WORKERS}"))).count() as u64
}

/// A counter of tokens for a day, since a holder after the next must get a greater one still; what was made
/// of a change for a minute; what was seen at the head of a queue for five; a latch until it is at zero, and
/// that for ten; which run was the last for days; what the last leader announced.
fn stays(key: &str) -> bool {
    ["palisade_mark:", "palisade_lock_token:", "redisson_lock_token:", "palisade_once:", "latch-"]
        .iter()
        .any(|prefix| key.starts_with(prefix))
        || [":palisade_head", ":palisade_zero", ":palisade_last_run", ":palisade_leader"]
            .iter()
            .any(|suffix| key.ends_with(suffix))
}

fn is_of(key: &str, semaphore: &str) -> bool {
    key == semaphore || key.strip_prefix(&format!("{{{semaphore}}}:")).is_some()
}

fn is_queue_of_dead(server: &RedisServer, key: &str, dead: &[String]) -> bool {
    let members = if key.starts_with("redisson_lock_queue:") {
        texts(&server.command(&["LRANGE", key, "0", "-1"]))
    } else if key.starts_with("redisson_lock_timeout:") {
        texts(&server.command(&["ZRANGE", key, "0", "-1"]))
    } else {
        return false;
    };
    members.iter().all(|member| is_dead(member, dead))
}

fn is_dead(holder: &str, dead: &[String]) -> bool {
    dead.iter().any(|dead| holder.starts_with(dead))
}

/// Those that are held are of the dead, and with them all are there.
fn wrong_permits(server: &RedisServer, dead: &[String]) -> Option<String> {
    let left = server.cli(&["GET", SEMAPHORE]);
    let entries =
        texts(&server.command(&["HGETALL", &format!("{{{SEMAPHORE}}}:palisade_holders")]));
    let holders = entries.iter().step_by(2).filter(|holder| !is_dead(holder, dead)).count();
    let held = entries.iter().skip(1).step_by(2).filter_map(|held| held.parse::<u32>().ok());
    let sum = left.parse().ok().map(|left: u32| left + held.sum::<u32>());
    (holders > 0 || sum != Some(PERMITS))
        .then(|| format!("{SEMAPHORE} with {left:?} permits left and {entries:?} held"))
}

fn wrong_leased_permits(server: &RedisServer) -> Option<String> {
    let left = server.cli(&["GET", LEASED_SEMAPHORE]);
    let held =
        texts(&server.command(&["ZRANGE", &format!("{{{LEASED_SEMAPHORE}}}:timeout"), "0", "-1"]));
    let sum = left.parse().ok().map(|left: usize| left + held.len());
    (sum != Some(PERMITS as usize))
        .then(|| format!("{LEASED_SEMAPHORE} with {left:?} permits left and {held:?} held"))
}

fn texts(reply: &Reply) -> Vec<String> {
    reply.array().iter().map(Reply::to_string).collect()
}
