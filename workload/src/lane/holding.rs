//! What a lane does with a lock that it was granted: enters again, reads, works, writes, lets go.

use std::time::Duration;

use checkers::history::{Event, Manner};
use palisade::{LockGuard, LostCause, OnOutage, ReleaseError, Released};
use tokio::select;

use super::Lane;
use crate::{
    intent::{Ending, Intent},
    polls::some_polls,
    target::{Call, Grant, Target, token},
};

impl Lane {
    pub(super) async fn use_up(&self, target: &Target, guard: LockGuard, intent: &Intent) {
        let mut guards = self.reenter(target, guard, intent).await;
        let Some(guard) = guards.pop() else { return };
        let work = async {
            self.inscribe(target, &guard, intent).await;
            // The last call may still be under way when the lock is let go.
            select! {
                biased;
                () = self.read_modify_write(target, &guard, intent) => {}
                () = self.keep_calling(target, &guard, intent) => {}
            }
        };
        if intent.careless {
            work.await;
        } else {
            select! {
                biased;
                cause = guard.lost() => {
                    self.lost(&guard, &cause);
                    self.enter_the_lost(&guard, guards.len());
                }
                () = work => {}
            }
        }
        // In any order, and the hold ends with the last.
        while let Some(other) = guards.pop() {
            let told = self.leave(other).await;
            self.counted(guards.len() + 1, told, None);
        }
        self.let_go(guard, intent.ending).await;
    }

    async fn reenter(&self, target: &Target, guard: LockGuard, intent: &Intent) -> Vec<LockGuard> {
        let mut guards = vec![guard];
        for _ in 0..intent.reentries {
            let Some(first) = guards.first() else { break };
            let owned = intent.as_owner && intent.manner == Manner::Patient && first.is_held();
            let more = if owned {
                self.acquire_again(target, first, intent).await
            } else {
                first.reenter().ok()
            };
            let Some(more) = more else { break };
            self.observer.saw("grant: re-entry");
            self.counted(guards.len() + 1, None, token(&more));
            guards.push(more);
        }
        guards
    }

    /// The same lock by the same owner, at times with another lease. `None` if the hold was lost
    /// meanwhile, and what was granted is another.
    async fn acquire_again(
        &self,
        target: &Target,
        first: &LockGuard,
        intent: &Intent,
    ) -> Option<LockGuard> {
        let call = Call::TryAcquireAs(&self.owner);
        let again = match target.lock.ask(intent.lease, OnOutage::Fail, call).await.ok()?? {
            Grant::Lock(again) => again,
            Grant::Write(again) => again.into(),
            Grant::Leads(again) => again.into_guard(),
            Grant::Permits(_) => return None,
        };
        (again.holder_id() == first.holder_id()).then_some(again)
    }

    pub(super) fn lost(&self, guard: &LockGuard, cause: &LostCause) {
        self.observer.saw(match cause {
            cause if cause.is_expiry() => "lost: expired",
            LostCause::Gone => "lost: gone",
            LostCause::Taken => "lost: taken",
            LostCause::MemberGone { .. }
            | LostCause::MemberTaken { .. }
            | LostCause::MemberRestarted { .. } => "lost: a member",
            LostCause::QuorumGone | LostCause::QuorumTaken | LostCause::QuorumRestarted => {
                "lost: the quorum"
            }
            _ => "lost: otherwise",
        });
        let (section, deadline) = (self.section, self.deadline(guard));
        self.record(Event::Lost { section, cause: cause.to_string(), deadline });
    }

    /// A caller that was told of the loss enters no more.
    fn enter_the_lost(&self, guard: &LockGuard, others: usize) {
        match guard.reenter() {
            Ok(more) => self.counted(others + 2, None, token(&more)),
            Err(_lost) => self.observer.saw("refused: re-entry of what was lost"),
        }
    }

    /// As a careful user does it: asks once more right before the write, and shows a token if there
    /// is one.
    pub(super) async fn read_modify_write(
        &self,
        target: &Target,
        guard: &LockGuard,
        intent: &Intent,
    ) {
        let (section, token) = (self.section, token(guard));
        let Ok(read) = self.store.read(target.name, token) else {
            return self.record(Event::TooOld { section });
        };
        if intent.blocks {
            // As careless code does: nothing else runs on this runtime meanwhile.
            std::thread::sleep(intent.work);
        } else {
            self.work(guard, intent.work).await;
        }
        if target.shared {
            return;
        }
        self.record(Event::Writing { section, read });
        if guard.ensure_valid().is_err() {
            return self.record(Event::Withheld { section });
        }
        self.work(guard, intent.write).await;
        if self.store.write(target.name, token, section).is_err() {
            return self.record(Event::TooOld { section });
        }
        // The deadline is asked for after the write, and the record takes its time after both: a
        // write that is not later than this deadline was in time.
        self.record(Event::Wrote { section, deadline: self.deadline(guard) });
    }

    /// Notes on the way how the deadline moves, so that it is known of a process that is killed.
    pub(super) async fn work(&self, guard: &LockGuard, length: Duration) {
        let end = self.clock.now() + length;
        let mut known = self.deadline(guard);
        loop {
            let now = self.clock.now();
            let left = end.since(now);
            if left.is_zero() || self.clock.is_time_up() {
                return;
            }
            // At the deadline itself too: a process that is stopped right after is known to hold no
            // more, or how much longer.
            let due = known.since(now);
            let due = if due.is_zero() { LOOK_EVERY } else { due };
            self.clock.sleep(left.min(LOOK_EVERY).min(due)).await;
            let deadline = self.deadline(guard);
            if deadline > known {
                known = deadline;
                self.record(Event::Extended { section: self.section, deadline });
            }
            if self.clock.now() > known {
                self.observer.saw("paused past the deadline");
            }
        }
    }

    /// Gives up a guard that is not the last, half of them without a word; how many are left by the
    /// library's.
    async fn leave(&self, guard: LockGuard) -> Option<u32> {
        if self.section.number.is_multiple_of(2) {
            drop(guard);
            return None;
        }
        guard.release().await.ok().map(guards_left)
    }

    pub(super) async fn let_go(&self, guard: LockGuard, ending: Ending) {
        let (section, deadline) = (self.section, self.deadline(&guard));
        self.record(Event::Releasing { section, deadline });
        let released = match ending {
            Ending::Drop => return drop(guard),
            Ending::Orphan => {
                self.observer.orphaned(&guard);
                self.record(Event::Orphaned { section });
                return guard.orphan();
            }
            Ending::HalfRelease(polls) => match some_polls(guard.release(), polls).await {
                Some(released) => released,
                None => return,
            },
            Ending::Release => guard.release().await,
        };
        match &released {
            Err(ReleaseError::Unconfirmed { .. }) => self.observer.saw("release unconfirmed"),
            Ok(Released::PassedOn) => self.observer.passed_on(section),
            _ => {}
        }
        let (problem, still) = match released {
            Ok(released) => (None, guards_left(released)),
            Err(error) => (Some(error.to_string()), 0),
        };
        self.record(Event::Released { section, problem, still });
    }

    /// There are so many guards now.
    fn counted(&self, guards: usize, told: Option<u32>, token: Option<u64>) {
        let guards = u32::try_from(guards).unwrap_or(u32::MAX);
        self.record(Event::Counted { section: self.section, guards, told, token });
    }
}

/// By the library's word.
const fn guards_left(released: Released) -> u32 {
    match released {
        Released::StillHeld { guards } => guards,
        _ => 0,
    }
}

const LOOK_EVERY: Duration = Duration::from_millis(40);
