//! Waiting for zero: look → listen → look again → sleep until something may have changed.
//!
//! What lets a waiter through is decided in `since`. The second look closes the window between the first and the
//! confirmed subscription.

use std::{
    ops::ControlFlow::{self, Break, Continue},
    pin::pin,
    time::Duration,
};

use futures::future::select;

use super::{
    CountDownLatch,
    script::{LatchState, ZERO},
    since::Since,
};
use crate::{
    clock::Instant,
    error::{InspectError, NodeError, Phase},
    socket::Answer,
    telling,
    wait::OnOutage,
};

impl CountDownLatch {
    /// Whether it was at zero before `deadline`.
    pub(super) async fn wait_until(&self, deadline: Option<Instant>) -> Result<bool, InspectError> {
        let first = match deadline {
            None => self.checked_look().await?,
            Some(deadline) => match self.first_look(deadline).await? {
                Continue(first) => first,
                Break(()) => return Ok(false),
            },
        };
        if first.as_ref().is_some_and(|first| first.reply.is_at_zero()) {
            return Ok(true);
        }
        let met = self.having_met();
        // On the heap: many never wait, and their callers' futures should not pay for it.
        let waited = Box::pin(telling::woken_aside(met.listen_until_open(first)));
        let Some(deadline) = deadline else { return waited.await.map(|()| true) };
        tokio::select! {
            biased;
            waited = waited => waited.map(|()| true),
            () = self.counter.services.process.clock.sleep_until(deadline) => Ok(false),
        }
    }

    /// The same once its server has answered.
    fn having_met(&self) -> Self {
        let on_outage = match self.on_outage {
            OnOutage::FailAtFirst => OnOutage::Wait,
            other => other,
        };
        self.clone().on_outage(on_outage)
    }

    /// The first look, for no longer than the caller has time: it breaks off if that is over.
    async fn first_look(
        &self,
        deadline: Instant,
    ) -> Result<ControlFlow<(), Option<Answer<LatchState>>>, InspectError> {
        let clock = &self.counter.services.process.clock;
        tokio::select! {
            biased;
            looked = self.checked_look() => looked.map(Continue),
            () = clock.sleep_until(deadline) => {
                let late = NodeError::TimedOut { phase: Phase::Answering };
                if self.waits_for_better_times(&late) {
                    return Ok(Break(()));
                }
                Err(self.counter.failed(late))
            }
        }
    }

    /// Looks once, at a latch that may be waited for.
    pub(super) async fn checked_look(&self) -> Result<Option<Answer<LatchState>>, InspectError> {
        self.check_slot().await?;
        self.look().await
    }

    async fn listen_until_open(
        &self,
        first: Option<Answer<LatchState>>,
    ) -> Result<(), InspectError> {
        let services = &self.counter.services;
        let listener = services.notifier.listen_for(self.latch.channel(), ZERO);
        let mut since = first.map(|first| Since::began(&first, listener.matches()));
        self.sleep_no_longer(LISTEN_LIMIT, async { drop(listener.ready().await) }).await;
        loop {
            let looked = self.look().await?;
            let heard = listener.matches();
            let longest = match looked {
                Some(seen) => {
                    let since = since.get_or_insert_with(|| Since::began(&seen, heard));
                    if since.lets_through(&seen, heard) {
                        return Ok(());
                    }
                    if listener.is_ready() { POLL_CAP } else { self.retry() }
                }
                None => self.retry(),
            };
            self.sleep_no_longer(longest + self.jitter(), listener.woken()).await;
        }
    }

    /// Looks once. `None` if the server cannot be asked and is to be waited for.
    async fn look(&self) -> Result<Option<Answer<LatchState>>, InspectError> {
        match self.counter.ask_when(&self.latch.look()).await {
            Ok(seen) => Ok(Some(seen)),
            Err(InspectError::Node { source, .. }) if self.waits_for_better_times(&source) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// How long to sleep where no message may come, or the look had no answer.
    fn retry(&self) -> Duration {
        self.counter.services.process.random.most_of(RETRY)
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
