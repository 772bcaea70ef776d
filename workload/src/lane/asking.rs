//! How a lane asks for a lock: in every way there is.

use std::pin::pin;

use checkers::history::{Event, Manner, Refusal};
use palisade::{AcquireError, OnOutage};
use tokio::select;

use super::Lane;
use crate::{
    intent::Intent,
    polls::some_polls,
    target::{Call, Grant, Target},
};

impl Lane {
    pub(super) async fn ask(&self, target: &Target, intent: &Intent) -> Result<Grant, Refusal> {
        let (on_outage, call) = match intent.manner {
            Manner::Patient if intent.as_owner => (OnOutage::Wait, Call::AcquireAs(&self.owner)),
            Manner::Patient | Manner::Dropped => (OnOutage::Wait, Call::Acquire),
            Manner::FailFast => (OnOutage::Fail, Call::Acquire),
            Manner::Limited => (OnOutage::Wait, Call::TryAcquireFor(intent.patience)),
            Manner::Once => (OnOutage::Fail, Call::TryAcquire),
        };
        let asking = target.lock.ask(intent.lease, on_outage, call);
        let answer = match intent.manner {
            Manner::Dropped => self.drop_unless_soon(asking, intent).await?,
            Manner::Patient => self.park_meanwhile(asking, intent).await,
            _ => asking.await,
        };
        let limited = matches!(intent.manner, Manner::Limited);
        let refused = |error| match error {
            // Its own limit may have been too short for any answer: no outage of servers.
            AcquireError::Unavailable { .. } if limited => {
                self.observer.saw("refused: limit");
                Refusal::Held
            }
            other => self.refusal(&other),
        };
        answer.map_err(refused)?.ok_or(Refusal::Held)
    }

    /// After a while, or after so many polls.
    async fn drop_unless_soon<T>(
        &self,
        asking: impl Future<Output = T>,
        intent: &Intent,
    ) -> Result<T, Refusal> {
        let (answer, dropped) = match intent.polls {
            Some(polls) => (some_polls(asking, polls).await, "fault: future dropped at a poll"),
            None => {
                let answer = select! {
                    biased;
                    answer = asking => Some(answer),
                    () = self.clock.sleep(intent.patience) => None,
                };
                (answer, "fault: future dropped")
            }
        };
        answer.ok_or_else(|| {
            self.observer.saw(dropped);
            Refusal::Dropped
        })
    }

    /// As a future does that is kept beside another one.
    async fn park_meanwhile<T>(&self, asking: impl Future<Output = T>, intent: &Intent) -> T {
        let Some((polls, time)) = intent.parks else { return asking.await };
        let mut asking = pin!(asking);
        if let Some(answer) = some_polls(asking.as_mut(), polls).await {
            return answer;
        }
        let from = self.clock.now();
        self.clock.sleep(time).await;
        self.observer.saw("waiter not polled");
        self.record(Event::Parked { section: self.section, from });
        asking.await
    }

    pub(super) fn refusal(&self, error: &AcquireError) -> Refusal {
        match error {
            AcquireError::Unavailable { ballot, .. } | AcquireError::Denied { ballot, .. } => {
                Refusal::Outage(ballot.to_string())
            }
            AcquireError::Quarantined { .. } => {
                self.observer.saw("refused: quarantine");
                Refusal::Outage(error.to_string())
            }
            // A server that was flushed has none until they are set again.
            AcquireError::NotSet { .. } => Refusal::Held,
            other => Refusal::Unexpected(other.to_string()),
        }
    }
}
