//! What a lane does with a lock that it was granted: reads, works, writes, lets go.

use checkers::history::{Event, Manner};
use palisade::{LockGuard, LostCause, OnOutage, Released};
use tokio::select;

use super::{Lane, some_polls};
use crate::{
    intent::{Ending, Intent},
    targets::{self, Target},
};

impl Lane {
    pub(super) async fn use_up(&self, target: &Target, guard: LockGuard, intent: &Intent) {
        let section = self.section;
        let mut guards = self.reenter(target, guard, intent).await;
        let Some(guard) = guards.pop() else { return };
        if intent.careless {
            self.read_modify_write(target, &guard, intent).await;
        } else {
            select! {
                biased;
                cause = guard.lost() => {
                    self.lost(&guard, &cause);
                    self.enter_the_lost(&guard, guards.len());
                }
                () = self.read_modify_write(target, &guard, intent) => {}
            }
        }
        // In any order, and the hold ends with the last.
        while let Some(inner) = guards.pop() {
            let told = self.leave(inner).await;
            let left = u32::try_from(guards.len()).unwrap_or(0);
            self.record(Event::Counted { section, guards: left + 1, told, token: None });
        }
        self.let_go(guard, intent.ending).await;
    }

    /// Gives up a guard that is not the last; how many are left by the library's word.
    async fn leave(&self, inner: LockGuard) -> Option<u32> {
        if self.section.number.is_multiple_of(2) {
            drop(inner);
            return None;
        }
        let released = inner.release().await.ok()?;
        self.stage.log.saw("released: not the last guard");
        Some(guards_left(released))
    }

    /// Whoever was told of the loss enters no more.
    fn enter_the_lost(&self, guard: &LockGuard, others: usize) {
        let Ok(more) = guard.reenter() else {
            return self.stage.log.saw("refused: re-entry of what was lost");
        };
        let (section, token) = (self.section, targets::token(&more));
        let guards = u32::try_from(others + 2).unwrap_or(0);
        self.record(Event::Counted { section, guards, told: None, token });
    }

    async fn reenter(&self, target: &Target, guard: LockGuard, intent: &Intent) -> Vec<LockGuard> {
        let mut guards = vec![guard];
        for i in 0..intent.reentries {
            let owned = intent.as_owner && intent.manner == Manner::Patient;
            let more = match guards.first() {
                // The same lock by the same owner, at times with another lease.
                Some(first) if owned && first.is_held() => {
                    let lock = target.lock.with(intent.lease, OnOutage::Fail);
                    targets::try_acquire_again(&*lock, &self.owner, first).await
                }
                Some(first) => first.reenter().ok(),
                None => None,
            };
            let Some(more) = more else { break };
            self.stage.log.saw("grant: re-entry");
            let (section, token) = (self.section, targets::token(&more));
            let count = u32::try_from(i + 2).unwrap_or(0);
            self.record(Event::Counted { section, guards: count, told: None, token });
            guards.push(more);
        }
        guards
    }

    fn lost(&self, guard: &LockGuard, cause: &LostCause) {
        self.stage.log.saw(match cause {
            LostCause::Expired => "lost: expired",
            LostCause::Gone => "lost: gone",
            LostCause::Taken => "lost: taken",
            LostCause::MemberGone { .. } | LostCause::MemberTaken { .. } => "lost: a member",
            LostCause::QuorumGone | LostCause::QuorumTaken => "lost: the quorum",
            _ => "lost: otherwise",
        });
        let (section, deadline) = (self.section, self.deadline(guard));
        self.record(Event::Lost { section, cause: cause.to_string(), deadline });
    }

    /// As a careful user does it without tokens: asks once more right before the write.
    async fn read_modify_write(&self, target: &Target, guard: &LockGuard, intent: &Intent) {
        let section = self.section;
        let token = targets::token(guard);
        let Ok(read) = self.stage.store.read(target.name, token) else {
            return self.too_old();
        };
        self.work(guard, intent.work_us).await;
        self.record(Event::Writing { section, read });
        if guard.ensure_valid().is_err() {
            self.stage.log.saw("write withheld");
            return self.record(Event::Withheld { section });
        }
        self.work(guard, intent.write_us).await;
        if self.stage.store.write(target.name, token, section).is_err() {
            return self.too_old();
        }
        let deadline = self.deadline(guard);
        if self.stage.world.now() > deadline {
            self.stage.log.saw("write too late");
        }
        self.record(Event::Wrote { section, deadline });
    }

    /// The store has seen the token of a later holder.
    fn too_old(&self) {
        self.stage.log.saw("write refused for its token");
        self.record(Event::TooOld { section: self.section });
    }

    /// Notes on the way how the deadline moves, so that it is known of a process that is killed.
    async fn work(&self, guard: &LockGuard, length_us: u64) {
        let end = self.stage.world.now_us() + length_us;
        let mut known = self.deadline(guard);
        loop {
            let left = end.saturating_sub(self.stage.world.now_us());
            if left == 0 {
                return;
            }
            // At the deadline itself too: whoever is stopped right after is known to hold no more,
            // or how much longer.
            let due = known.as_micros().saturating_sub(self.stage.world.now_us());
            let due = if due == 0 { LOOK_EVERY_US } else { due };
            self.clock.sleep(left.min(LOOK_EVERY_US).min(due)).await;
            let deadline = self.deadline(guard);
            if deadline > known {
                known = deadline;
                self.record(Event::Extended { section: self.section, deadline });
            }
            if self.stage.world.now() > known {
                self.stage.log.saw("paused past the deadline");
            }
        }
    }

    async fn let_go(&self, guard: LockGuard, ending: Ending) {
        let (section, deadline) = (self.section, self.deadline(&guard));
        self.record(Event::Releasing { section, deadline });
        let released = match ending {
            Ending::Drop => return drop(guard),
            Ending::Orphan => {
                self.stage.log.saw("orphaned");
                self.record(Event::Orphaned { section });
                self.stage.network.excuse(guard.holder_id());
                return guard.orphan();
            }
            Ending::HalfRelease(polls) => match some_polls(guard.release(), polls).await {
                Some(released) => released,
                None => return,
            },
            Ending::Release => guard.release().await,
        };
        if let Err(palisade::ReleaseError::Unconfirmed { .. }) = &released {
            self.stage.log.saw("release unconfirmed");
        }
        let (problem, still) = match released {
            Ok(released) => (None, guards_left(released)),
            Err(error) => (Some(error.to_string()), 0),
        };
        self.record(Event::Released { section, problem, still });
    }
}

/// By the library's word.
const fn guards_left(released: Released) -> u32 {
    match released {
        Released::StillHeld { guards } => guards,
        _ => 0,
    }
}

const LOOK_EVERY_US: u64 = 40_000;
