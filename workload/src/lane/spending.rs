//! What a lane does with permits that have no lease: works, and gives them back.

use std::time::Duration;

use checkers::history::Event;
use palisade::{ReleaseError, semaphore::SemaphoreGuard};

use super::Lane;
use crate::{
    intent::{Ending, Intent},
    polls::some_polls,
};

impl Lane {
    pub(super) async fn spend(&self, guard: SemaphoreGuard, intent: &Intent) {
        let (section, deadline) = (self.section, self.clock.now() + NEVER);
        self.observer.saw("grant: permits without a lease");
        self.record(Event::Granted { section, deadline, token: None });
        self.clock.sleep(intent.work).await;
        self.record(Event::Releasing { section, deadline });
        let released = match intent.ending {
            Ending::Drop => return drop(guard),
            Ending::HalfRelease(polls) => match some_polls(guard.release(), polls).await {
                Some(released) => released,
                None => return,
            },
            // Nothing else would give back what is forgotten.
            Ending::Release | Ending::Orphan => guard.release().await,
        };
        if let Err(ReleaseError::Unconfirmed { .. }) = released {
            self.observer.saw("release unconfirmed");
        }
        let problem = released.err().map(|error| error.to_string());
        self.record(Event::Released { section, problem, still: 0 });
    }
}

/// Longer than any run.
const NEVER: Duration = Duration::from_secs(24 * 3_600);
