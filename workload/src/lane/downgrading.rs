//! What a lane does with a lock that it has alone and then shares: writes, and reads on.

use checkers::history::Event;
use palisade::{LockGuard, error::DowngradeError, rw::WriteGuard};
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
                // It may have been renewed on the way: until when, the guard is not there any more to say.
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
}
