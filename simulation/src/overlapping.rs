//! Locks that have some of their members in common, and not the same ones: each member is on a server of its
//! own, one has a queue, and some are wanted by themselves, too.

use std::sync::Arc;

use checkers::history::{Key, Kind};
use palisade::{Client, Member, MultiLock, error::ConfigError};
use workload::{Contended, Target};

/// All of them. The first member is on the server `first`, each other on the next one.
pub(crate) fn all(clients: &[Client], first: usize) -> Result<Vec<Target>, ConfigError> {
    WANTED.iter().map(|name| target(clients, first, name)).collect()
}

fn target(clients: &[Client], first: usize, name: &'static str) -> Result<Target, ConfigError> {
    let (mut keys, mut members, mut last) = (Vec::new(), Vec::new(), None);
    for letter in name.chars() {
        let master = (first + letter as usize - 'a' as usize) % clients.len();
        let key = format!("part-{letter}");
        let client = clients.get(master).ok_or(ConfigError::NoMembers)?;
        let (member, lock): (Member, Arc<dyn Contended>) = match letter {
            QUEUED => (client.fair_lock(&key).into(), Arc::new(client.fair_lock(&key))),
            _ => (client.lock(&key).into(), Arc::new(client.lock(&key))),
        };
        members.push(member);
        last = Some(lock);
        keys.push(Key { name: key, master });
    }
    let mut on: Vec<_> = keys.iter().map(|key| key.master).collect();
    on.sort_unstable();
    on.dedup();
    let (kind, lock): (_, Arc<dyn Contended>) = match last {
        Some(only) if members.len() == 1 => (Kind::Lock, only),
        _ => (Kind::MultiLock, Arc::new(MultiLock::new(members)?)),
    };
    Ok(Target { name, kind, on, shared: false, share: None, queued: false, keys, lock })
}

/// By their members.
const WANTED: [&str; 7] = ["cab", "cab", "bcd", "abde", "b", "c", "a"];
const QUEUED: char = 'b';
