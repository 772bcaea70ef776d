//! What a lane does with a lock that it has alone and then shares: writes, and reads on.

use checkers::{history::Event, time::Time};
use palisade::{
    LockGuard,
    error::{DowngradeError, LockLost, LostCause},
    rw::WriteGuard,
};
use tokio::select;

use super::Lane;
use crate::{intent::Intent, target::Target};

impl Lane {
    pub(super) async fn write_and_read_on(
        &self,
        target: &Target,
        guard: WriteGuard,
        intent: &Intent,
    ) {
        let lost = select! {
            biased;
            cause = guard.lost() => Some(cause),
            () = self.read_modify_write(target, &guard, intent) => None,
        };
        if let Some(cause) = lost {
            self.lost(&guard, &cause);
            return self.let_go(guard.into(), intent.ending).await;
        }
        let (section, deadline) = (self.section, self.deadline(&guard));
        // Others may read before we hear that they may.
        self.record(Event::Downgrading { section });
        let guard: LockGuard = match guard.downgrade().await {
            Ok(guard) => guard.into(),
            Err(DowngradeError::WriteGuards { guard, .. }) => guard.into(),
            Err(DowngradeError::Lost(lost)) => {
                let deadline = self.deadline_of_lost(&lost, deadline);
                self.record(Event::Extended { section, deadline });
                let cause = lost.cause.to_string();
                self.record(Event::Lost { section, cause, deadline });
                self.record(Event::Releasing { section, deadline });
                let problem = Some(lost.to_string());
                return self.record(Event::Released { section, problem, still: 0 });
            }
            Err(other) => panic!("no other reason is known: {other}"),
        };
        self.observer.saw("downgraded");
        // It may have been renewed meanwhile.
        self.record(Event::Extended { section, deadline: self.deadline(&guard) });
        select! {
            biased;
            cause = guard.lost() => self.lost(&guard, &cause),
            () = self.work(&guard, intent.work) => {}
        }
        self.let_go(guard, intent.ending).await;
    }

    /// A downgrade renews the lease where it is confirmed, so it ran out later, maybe: how much later, the guard is not
    /// there any more to say.
    fn deadline_of_lost(&self, lost: &LockLost, before: Time) -> Time {
        if lost.cause == LostCause::Expired { before.max(self.clock.now()) } else { before }
    }
}
