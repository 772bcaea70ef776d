//! Waiting for zero: look → listen → look again → sleep until something may have changed.
//!
//! A message is a hint, whatever it says: nothing but the count lets a waiter through. The second
//! look closes the window between the first and the confirmed subscription.

use std::{pin::pin, time::Duration};

use futures::future::select;

use super::CountDownLatch;
use crate::{
    clock::Instant,
    error::{InspectError, NodeError, Phase},
    telling,
    wait::OnOutage,
};

impl CountDownLatch {
    /// Whether it was seen at zero before `deadline`.
    pub(super) async fn wait_until(&self, deadline: Option<Instant>) -> Result<bool, InspectError> {
        match deadline {
            None if self.checked_look().await? == Some(true) => return Ok(true),
            None => {}
            Some(deadline) => {
                if let Some(is_open) = self.first_look(deadline).await? {
                    return Ok(is_open);
                }
            }
        }
        // On the heap: many never wait, and their callers' futures should not pay for it.
        let waited = Box::pin(telling::woken_aside(self.listen_until_open()));
        let Some(deadline) = deadline else { return waited.await.map(|()| true) };
        tokio::select! {
            biased;
            waited = waited => waited.map(|()| true),
            () = self.counter.services.process.clock.sleep_until(deadline) => Ok(false),
        }
    }

    /// The first look, for no longer than the caller has time: what came of it, if that is an answer.
    async fn first_look(&self, deadline: Instant) -> Result<Option<bool>, InspectError> {
        let clock = &self.counter.services.process.clock;
        tokio::select! {
            biased;
            looked = self.checked_look() => Ok(looked?.filter(|is_open| *is_open)),
            () = clock.sleep_until(deadline) => {
                let late = NodeError::TimedOut { phase: Phase::Answering };
                if self.waits_for_better_times(&late) {
                    return Ok(Some(false));
                }
                Err(self.counter.failed(late))
            }
        }
    }

    /// Looks once, at a latch that may be waited for.
    pub(super) async fn checked_look(&self) -> Result<Option<bool>, InspectError> {
        self.check_slot().await?;
        self.is_open().await
    }

    async fn listen_until_open(&self) -> Result<(), InspectError> {
        let services = &self.counter.services;
        let listener = services.notifier.listen(self.latch.channel());
        self.sleep_no_longer(LISTEN_LIMIT, async { drop(listener.ready().await) }).await;
        loop {
            let longest = match self.is_open().await? {
                Some(true) => return Ok(()),
                Some(false) if listener.is_ready() => POLL_CAP,
                // No message may come, or the look had no answer.
                Some(false) | None => services.process.random.most_of(RETRY),
            };
            self.sleep_no_longer(longest + self.jitter(), listener.woken()).await;
        }
    }

    /// Looks once. `None` if the server cannot be asked and is to be waited for.
    async fn is_open(&self) -> Result<Option<bool>, InspectError> {
        match self.counter.read().await {
            Ok(count) => Ok(Some(count.is_none_or(|count| count <= 0))),
            Err(InspectError::Node { source, .. }) if self.waits_for_better_times(&source) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn waits_for_better_times(&self, error: &NodeError) -> bool {
        self.on_outage == OnOutage::Wait && error.is_transient()
    }

    async fn sleep_no_longer(&self, longest: Duration, event: impl Future<Output = ()>) {
        let clock = &self.counter.services.process.clock;
        let _first = select(pin!(event), clock.sleep_until(clock.now() + longest)).await;
    }

    /// Added to a sleep that many may have begun together.
    fn jitter(&self) -> Duration {
        let range = Duration::from_millis(1)..Duration::from_millis(10);
        self.counter.services.process.random.within(range)
    }
}

/// The longest sleep without looking: a lost message costs no more than this.
const POLL_CAP: Duration = Duration::from_secs(5);
/// How long a subscription is waited for before the second look.
const LISTEN_LIMIT: Duration = Duration::from_millis(500);
/// The pause between two looks where no message can come.
const RETRY: Duration = Duration::from_millis(100);
