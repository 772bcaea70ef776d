//! One page of keys: which of them are locks, and all that is shown of these.

use std::{collections::BTreeMap, time::Duration};

use super::{
    asked::AskedServer,
    contents::{self, LockHash},
    counters,
    found::FoundLocks,
    listed_lock::{ListedHolder, ListedLock},
    records,
    surroundings::{self, Surroundings},
    walk::Finds,
};
use crate::{error::NodeError, presence::ProcessRecord};

impl Finds for FoundLocks {
    async fn look(&mut self, server: &AskedServer<'_>, keys: Vec<String>) -> Result<(), NodeError> {
        let (locks, unread) = contents::locks(server, keys).await?;
        self.unread += unread;
        if locks.is_empty() {
            return Ok(());
        }
        let around = surroundings::of_locks(server, &locks).await?;
        let records = records::of_holders(server, &locks).await;
        for (lock, around) in locks.into_iter().zip(around) {
            let name = server.services.name_of(&lock.key).to_owned();
            self.note(listed(name, lock, around, &records));
        }
        Ok(())
    }

    async fn look_at_named(
        &mut self,
        server: &AskedServer<'_>,
        key: String,
    ) -> Result<(), NodeError> {
        self.look(server, vec![key.clone()]).await?;
        if self.is_empty() { counters::look(server, &key, self).await } else { Ok(()) }
    }
}

fn listed(
    name: String,
    lock: LockHash,
    around: Surroundings,
    records: &BTreeMap<String, ProcessRecord>,
) -> ListedLock {
    let Surroundings { sort, waiting, timers } = around;
    let timers = timers.into_iter().chain(std::iter::repeat(None));
    let holders = lock.holders.into_iter().zip(timers).map(|(mut holder, timer)| {
        let is_dead = timer == Some(Duration::ZERO);
        holder.ttl = timer.or(holder.ttl);
        let process = records.get(&holder.id).cloned();
        ListedHolder { holder, votes: 1, process, is_dead }
    });
    let holders = holders.collect();
    ListedLock { name, sort, votes: 1, left: None, holders, more_holders: lock.unseen, waiting }
}
