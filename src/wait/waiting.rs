//! Where an acquire waits, until when, and with how much patience.

use std::{ops::Range, pin::Pin, sync::Arc, time::Duration};

use futures::future::BoxFuture;

use super::{
    places::HandoverTerms,
    strategy::{Backoff, WaitStrategy},
};
use crate::{
    clock::{Instant, SharedClock},
    error::AcquireError,
    random::Random,
};

/// How often nodes whose votes do not count yet are asked whether they do.
const LOOK_AGAIN: Range<Duration> = Duration::from_millis(800)..Duration::from_millis(1_200);

/// The pauses of a waiter that wants to listen and cannot.
const RETRY: Backoff =
    Backoff { first: Duration::from_millis(10), longest: Duration::from_millis(200) };

/// Whether an acquire waits for servers that do not answer.
///
/// # Examples
/// ```
/// # fn main() -> Result<(), palisade::error::ConfigError> {
/// use palisade::{Client, OnOutage};
///
/// let client = Client::connect_lazy("redis://127.0.0.1:6379")?;
/// let patient = client.lock("nightly").on_outage(OnOutage::Wait);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnOutage {
    /// Fails at once, with what each server said. A waiter behind others of the same process learns
    /// of it when its turn comes.
    #[default]
    Fail,
    /// Keeps trying until the servers are back, or the time is up.
    Wait,
    /// Fails at once until enough servers have answered, also if their votes do not count yet: at first it is mostly a
    /// mistake in the settings. From then on as [`Wait`](Self::Wait).
    FailAtFirst,
}

/// Where and until when to wait.
pub(crate) struct Waiting<'a> {
    pub(crate) clock: &'a SharedClock,
    pub(crate) random: &'a Random,
    /// All that want the same wait in one line.
    pub(crate) key: &'a Arc<str>,
    /// Whether those of this process that want the same are to ask one after the other, even if none waits
    /// yet. Those that keep no other out need no order among themselves.
    pub(crate) needs_order: bool,
    /// On what terms it takes over what others of this process hold; `None` if it does not.
    pub(crate) takes: Option<HandoverTerms>,
    /// How long a grant lasts if it is not renewed; `None` if it keeps no other out.
    pub(crate) keeps_out: Option<Duration>,
    pub(crate) deadline: Option<Instant>,
    pub(crate) on_outage: OnOutage,
    pub(crate) strategy: WaitStrategy,
    /// What is said if the time was up before any server answered.
    pub(crate) unanswered: &'a (dyn Fn() -> AcquireError + Send + Sync),
    /// Has something done where it goes on whatever becomes of the caller's runtime.
    pub(crate) attend: &'a (dyn Fn(BoxFuture<'static, ()>) + Send + Sync),
}

impl Waiting<'_> {
    /// Whether the caller's time is up before that much more has passed.
    pub(super) fn ends_within(&self, time: Duration) -> bool {
        self.deadline.is_some_and(|deadline| deadline < self.clock.now() + time)
    }

    /// Does something, but for no longer than the caller has time. `None` if that was too short.
    ///
    /// # Cancel safety
    /// That of `work`, which is dropped at the deadline too.
    pub(super) async fn in_time<F: Future>(&self, work: Pin<&mut F>) -> Option<F::Output> {
        let Some(deadline) = self.deadline else { return Some(work.await) };
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.clock.sleep_until(deadline) => None,
        }
    }

    /// Waits until the votes count, but not for long: a blessing may say that they do.
    pub(super) async fn look_again(&self, counts_in: Duration) {
        let pause = self.random.within(LOOK_AGAIN).min(counts_in) + self.jitter();
        self.clock.sleep_until(self.clock.now() + pause).await;
    }

    /// The pauses between attempts where no wake-up comes.
    pub(super) fn backoff(&self) -> Backoff {
        match self.strategy {
            WaitStrategy::Listen => RETRY,
            WaitStrategy::Poll(backoff) | WaitStrategy::ListenAndPoll(backoff) => backoff,
        }
    }

    /// Added to a sleep that many may have begun together.
    pub(super) fn jitter(&self) -> Duration {
        self.random.within(Duration::from_millis(1)..Duration::from_millis(10))
    }
}
