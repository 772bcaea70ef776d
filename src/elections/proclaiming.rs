//! Writing what a leader announces to enough servers.

use std::time::Duration;

use futures::{StreamExt, stream::FuturesUnordered};

use super::{announced::named, script::Announcement};
use crate::{
    by_member::MemberId,
    error::{ConfigError, GuardedError},
    guard::LockGuard,
    kind::FencingToken,
};

/// One announcement of a leader.
pub(super) struct Proclaiming<'a> {
    pub(super) guard: &'a LockGuard,
    pub(super) token: FencingToken,
    pub(super) number: u64,
    pub(super) value: &'a [u8],
}

impl Proclaiming<'_> {
    /// Returns as soon as a majority has it. Said again it changes nothing, so what is unknown is asked again.
    pub(super) async fn carry_out(&self) -> Result<(), GuardedError> {
        let members = self.guard.turn().claim().members();
        let need = members.len() / 2 + 1;
        let mut open: Vec<MemberId> = members.ids().collect();
        let mut pause = FIRST_PAUSE;
        loop {
            let enough = need - (members.len() - open.len());
            let failed = self.ask(&open, enough).await;
            let Some(failed) = failed else { return Ok(()) };
            let may_pass = failed.iter().any(|(_, error)| error.may_pass_if_repeated());
            // That it leads is said once: its user waits for that.
            let is_last = pause > LAST_PAUSE || self.number == 0;
            if is_last || !may_pass || self.guard.ensure_valid().is_err() {
                return Err(self.worst(failed));
            }
            let clock = &self.guard.turn().claim().process().clock;
            clock.sleep_until(clock.now() + pause).await;
            pause *= 2;
            open = failed.into_iter().map(|(member, _)| member).collect();
        }
    }

    /// `None` once so many of them have it; otherwise those that have not, and why.
    async fn ask(&self, open: &[MemberId], enough: usize) -> Option<Vec<(MemberId, GuardedError)>> {
        let asked = open.iter().map(async |member| (*member, self.announce_at(*member).await));
        let mut asked: FuturesUnordered<_> = asked.collect();
        let (mut done, mut failed) = (0, Vec::new());
        while let Some((member, answer)) = asked.next().await {
            match answer {
                Ok(()) => done += 1,
                Err(error) => failed.push((member, error)),
            }
            if done >= enough {
                return None;
            }
        }
        Some(failed)
    }

    async fn announce_at(&self, member: MemberId) -> Result<(), GuardedError> {
        let claim = self.guard.turn().claim();
        let leader = named(claim.holder(), &claim.holder_at(member), self.token);
        let (number, value) = (self.number, self.value);
        Announcement { leader: &leader, number, value }.write(self.guard, member).await
    }

    /// What weighs most of what went wrong: that it leads no more, then that something may stand.
    fn worst(&self, failed: Vec<(MemberId, GuardedError)>) -> GuardedError {
        let mut errors: Vec<GuardedError> = failed.into_iter().map(|(_, error)| error).collect();
        let ended = errors.iter().position(|error| matches!(error, GuardedError::NotHeld { .. }));
        let open = || errors.iter().position(|error| matches!(error, GuardedError::Unknown { .. }));
        let at = ended.or_else(open).unwrap_or(0);
        match self.guard.ensure_valid() {
            Err(lost) if ended.is_none() => lost.into(),
            _ => errors.swap_remove(at),
        }
    }
}

/// Whether a value is not too long.
pub(super) fn check_value(value: &[u8]) -> Result<(), ConfigError> {
    if value.len() <= MOST_OF_VALUE {
        return Ok(());
    }
    let reason = format!("has {} bytes; at most {MOST_OF_VALUE} are announced", value.len());
    Err(ConfigError::InvalidSetting { setting: "value", reason: reason.into() })
}

const MOST_OF_VALUE: usize = 1_024;

/// Between attempts, of which there are four: less than a second in all.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_millis(200);
