//! What a lane has a server do within a hold, by scripts that it executes only while that stands.

use std::{future, time::Duration};

use checkers::history::{Event, SectionId};
use palisade::{LockGuard, error::GuardedError, guarded::Script};

use super::Lane;
use crate::{intent::Intent, target::Target};

impl Lane {
    /// One call after the other, until this is dropped: then the last is left to itself. No call asks before whether the
    /// lock is still held: that is for the server.
    pub(super) async fn keep_calling(&self, target: &Target, guard: &LockGuard, intent: &Intent) {
        if !intent.calls || target.shared {
            return future::pending().await;
        }
        loop {
            self.call_guarded(guard).await;
            self.clock.sleep(CALL_EVERY).await;
        }
    }

    async fn call_guarded(&self, guard: &LockGuard) {
        let (section, lock, script) = (self.section, guard.name(), Script::new(CALL));
        let call = guard.script(&script).key(lock).key(calls(lock));
        let call = call.arg(section.to_string()).arg(guard.holder_id()).arg(KEPT).arg(KEPT_MS);
        let told = call.invoke::<Vec<String>>().await;
        self.observer.saw(match &told {
            Ok(_) => "guarded call: executed",
            Err(GuardedError::Lost(_) | GuardedError::NotHeld { .. }) => "guarded call: refused",
            Err(GuardedError::NotDone { .. }) => "guarded call: not sent",
            Err(_) => "guarded call: executed or not",
        });
        if let Ok(lines) = told {
            let calls = lines.iter().map(|line| {
                parse(line).unwrap_or_else(|| panic!("not written by a call: {line:?}"))
            });
            self.record(Event::CalledGuarded { section, calls: calls.collect() });
        }
    }
}

/// Where the last calls stand, in the slot of their lock.
fn calls(lock: &str) -> String {
    if lock.contains('{') { format!("{lock}:calls") } else { format!("{{{lock}}}:calls") }
}

/// Of which section a call was, and whether its hold stood.
fn parse(line: &str) -> Option<(SectionId, bool)> {
    let (section, stands) = line.split_once(' ')?;
    Some((section.parse().ok()?, stands == "1"))
}

/// Leaves its name behind those of the calls before, and whether the hold stands: of a lock on one server, held in whichever way.
const CALL: &str = "
local lock, calls = KEYS[1], KEYS[2]
local caller, holder, kept, kept_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local held = redis.call('HEXISTS', lock, holder)
local written = redis.call('HEXISTS', lock, holder .. ':write')
redis.call('RPUSH', calls, caller .. ' ' .. math.max(held, written))
redis.call('LTRIM', calls, -kept, -1)
redis.call('PEXPIRE', calls, kept_ms)
return redis.call('LRANGE', calls, 0, -1)
";
const CALL_EVERY: Duration = Duration::from_millis(30);
/// How many calls stand there at most: one that comes late is behind the first of the next holder.
const KEPT: u64 = 16;
/// For longer than servers are away. Where all have ended nothing is left.
const KEPT_MS: u64 = 1_000;
