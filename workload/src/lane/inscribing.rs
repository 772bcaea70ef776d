//! What a lane does that writes lines beside its lock, by scripts that the server executes only while it holds that.

use checkers::history::{Event, InscriptionAnswer};
use palisade::{LockGuard, error::GuardedError, guarded::Script};

use super::Lane;
use crate::{
    intent::Intent,
    target::{Target, token},
};

/// Where lines stand that are written beside a lock.
#[must_use]
pub fn inscriptions(lock: &str) -> String {
    format!("{{{lock}}}:inscriptions")
}

impl Lane {
    /// One line after the other. It does not ask before whether it still holds the lock: that is for the server.
    pub(super) async fn inscribe(&self, target: &Target, guard: &LockGuard, intent: &Intent) {
        let Some(token) = token(guard) else { return };
        let append = Script::new("return redis.call('RPUSH', KEYS[1], ARGV[1])");
        let (section, at) = (self.section, inscriptions(target.name));
        for number in 1..=intent.inscriptions {
            let line = format!("{token} {section} {number}");
            self.record(Event::Inscribing { section, token, line: line.clone() });
            let known = self.deadline(guard);
            let told = guard.script(&append).key(&at).arg(&line).invoke::<i64>().await;
            let (answer, seen) = match told {
                Ok(_) => (InscriptionAnswer::Done, "line: written"),
                Err(GuardedError::Lost(_)) => (InscriptionAnswer::Refused, "line: lost before"),
                Err(GuardedError::NotHeld { .. }) => (InscriptionAnswer::Refused, "line: refused"),
                Err(GuardedError::NotDone { .. } | GuardedError::Config(_)) => {
                    (InscriptionAnswer::Refused, "line: not sent")
                }
                Err(_) => (InscriptionAnswer::Unknown, "line: written or not"),
            };
            self.observer.saw(seen);
            self.record(Event::Inscribed { section, line, answer });
            // A renewal may have been answered meanwhile.
            let deadline = self.deadline(guard);
            if deadline > known {
                self.record(Event::Extended { section, deadline });
            }
            self.work(guard, intent.work / 2).await;
        }
    }
}
