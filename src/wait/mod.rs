//! Waiting for a lock: attempt → listen → attempt again → sleep until something may have changed.
//!
//! Knows neither nodes nor scripts: whoever wants a lock is a [`Contender`].
//!
//! A wake-up is a hint, never a grant. The second attempt closes the window between a refusal and
//! the confirmed subscription; expiry publishes nothing, so every sleep ends with the holder's
//! ttl, and in any case with the poll cap.

mod contender;
mod queue;

use std::{ops::Range, pin::pin, sync::Arc, task::Poll, time::Duration};

use futures::{
    StreamExt,
    future::{Either, join_all, select},
    poll,
    stream::FuturesUnordered,
};

pub(crate) use contender::{Contender, Refusals, Round};
pub(crate) use queue::{Queues, Turn};

use crate::{
    by_member::{ByMember, MemberId},
    clock::{Instant, SharedClock},
    error::AcquireError,
    notifier::Listener,
    random::Random,
};

/// The longest sleep without looking: a lost wake-up costs no more than this.
const POLL_CAP: Duration = Duration::from_secs(5);
/// How long a subscription is waited for before the second attempt.
const LISTEN_LIMIT: Duration = Duration::from_millis(500);
/// The pause between attempts where no wake-up can come grows between these.
const RETRY_MIN: Duration = Duration::from_millis(10);
const RETRY_MAX: Duration = Duration::from_millis(100);
/// How often nodes whose votes do not count yet are asked whether they do.
const LOOK_AGAIN: Range<Duration> = Duration::from_millis(800)..Duration::from_millis(1_200);

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
    /// Fails at once, with what each server said. Whoever stands in line behind others of the same
    /// process learns of it when its turn comes.
    #[default]
    Fail,
    /// Keeps trying until the servers are back, or the time is up.
    Wait,
}

/// Where and until when to wait.
#[derive(Debug)]
pub(crate) struct Waiting<'a> {
    pub(crate) clock: &'a SharedClock,
    pub(crate) random: &'a Random,
    pub(crate) queues: &'a Arc<Queues>,
    /// Who wants the same waits in one queue.
    pub(crate) key: &'a Arc<str>,
    pub(crate) deadline: Option<Instant>,
    pub(crate) on_outage: OnOutage,
}

/// Acquires, waiting as long as `waiting` allows. `None`: held by others until then.
///
/// The first attempt is made in any case, without the queue if nobody stands there.
pub(crate) async fn acquire<C: Contender>(
    mut contender: C,
    waiting: Waiting<'_>,
) -> Result<Option<C::Grant>, AcquireError> {
    let mut outage = None;
    let mut refused_by = None;
    if waiting.queues.is_empty(waiting.key) {
        match contender.round().await {
            Round::Granted(grant) => return Ok(Some(grant)),
            Round::Failed(error) => return Err(error),
            Round::Outage(error) if waiting.on_outage == OnOutage::Fail => return Err(error),
            Round::Outage(error) => outage = Some(error),
            Round::NotYet { error, counts_in } if waiting.ends_within(counts_in) => {
                return Err(error);
            }
            Round::NotYet { error, .. } => {
                contender.say_not_yet(&error);
                outage = Some(error);
            }
            Round::Refused(refusals) => refused_by = Some(refusals.members()),
        }
    } else if let Some((error, counts_in)) = contender.not_yet()
        && waiting.ends_within(counts_in)
    {
        // Nobody holds it: those before us in line wait for the same votes, for longer than we may.
        return Err(error);
    }
    let deadline = waiting.deadline;
    // On the heap: most acquires never wait, and their callers' futures should not pay for it.
    let persist = Box::pin(stand_in_line(&mut contender, &waiting, refused_by, &mut outage));
    let granted = match deadline {
        None => Some(persist.await),
        Some(deadline) => tokio::select! {
            biased;
            result = persist => Some(result),
            () = waiting.clock.sleep_until(deadline) => None,
        },
    };
    match (granted, outage) {
        (Some(result), _) => result.map(Some),
        // Neither granted nor refused: the caller must learn that it was not a matter of waiting.
        (None, Some(outage)) => Err(outage),
        (None, None) => Ok(None),
    }
}

/// Takes a place in the queue and tries until granted once it is our turn.
async fn stand_in_line<C: Contender>(
    contender: &mut C,
    waiting: &Waiting<'_>,
    refused_by: Option<Vec<MemberId>>,
    outage: &mut Option<AcquireError>,
) -> Result<C::Grant, AcquireError> {
    let place = waiting.queues.join(waiting.key);
    let mut in_line = pin!(place.turn());
    let mut turn = match poll!(&mut in_line) {
        Poll::Ready(turn) => turn,
        Poll::Pending => {
            // Those before us would wait for it, and nobody looks after it until our turn.
            contender.give_back().await;
            in_line.await
        }
    };
    if let Some(look_at) = turn.look_at.take() {
        sleep_as_successor(&turn, look_at, waiting).await;
    }
    // One's own, in the order of one's own members: who stands in the same queue may have named them
    // in another. Those of the head before go after these have come, so the subscription stays.
    let turn = &mut *turn;
    let listeners = &*turn.listeners.insert(contender.listen());
    let mut refused_by = refused_by.unwrap_or_else(|| listeners.ids().collect());
    let mut pause = Pause { random: waiting.random, times: 0 };
    if planted!(NoSecondLook) {
        sleep_as_refused(&refused_by, listeners, waiting).await;
    }
    loop {
        let deaf = hear(listeners, &refused_by, waiting.clock).await;
        match contender.round().await {
            Round::Granted(grant) => {
                // Who cannot hear of the release is not to wait for it.
                let lease = contender.keeps_out().filter(|_| !deaf);
                turn.look_at = lease.map(|lease| waiting.clock.now() + lease);
                return Ok(grant);
            }
            Round::Failed(error) => return Err(error),
            Round::Outage(error) if waiting.on_outage == OnOutage::Fail => return Err(error),
            Round::Outage(error) => {
                *outage = Some(error);
                waiting.clock.sleep_until(waiting.clock.now() + pause.next()).await;
            }
            Round::NotYet { error, counts_in } if waiting.ends_within(counts_in) => {
                return Err(error);
            }
            Round::NotYet { error, counts_in } => {
                contender.say_not_yet(&error);
                *outage = Some(error);
                waiting.look_again(counts_in).await;
            }
            Round::Refused(refusals) => {
                *outage = None;
                refused_by = refusals.members();
                if deaf || refusals.enough == 0 {
                    waiting.clock.sleep_until(waiting.clock.now() + pause.next()).await;
                }
                if until_cleared_or_alarmed(&refusals, listeners, deaf, waiting).await {
                    contender.alarmed();
                }
            }
        }
        let stagger = contender.stagger();
        // Timers count in milliseconds: to sleep for nothing would take one.
        if !stagger.is_zero() {
            waiting.clock.sleep_until(waiting.clock.now() + stagger).await;
        }
    }
}

/// The head before us was granted: nothing is to be had before its release or the end of its lease.
async fn sleep_as_successor(turn: &Turn, look_at: Instant, waiting: &Waiting<'_>) {
    let clock = waiting.clock;
    let left = turn.listeners.iter().flat_map(ByMember::values);
    let wakes: FuturesUnordered<_> = left.map(Listener::woken).collect();
    let wake = wakes.into_future();
    let until = look_at.min(clock.now() + POLL_CAP) + waiting.jitter();
    let _first = select(pin!(wake), clock.sleep_until(until)).await;
}

/// Waits until the refusing members can be heard. True if one of them cannot: then no wake-up may
/// come, and we poll.
async fn hear(listeners: &ByMember<Listener>, members: &[MemberId], clock: &SharedClock) -> bool {
    let wanted = members.iter().map(|member| &listeners[*member]);
    let ready = join_all(wanted.map(Listener::ready));
    match select(ready, clock.sleep_until(clock.now() + LISTEN_LIMIT)).await {
        Either::Left((ready, _)) => ready.iter().any(Result::is_err),
        Either::Right(_) => true,
    }
}

/// Waits until woken, as if nothing could have happened since the refusal: for the planted bug.
async fn sleep_as_refused(
    members: &[MemberId],
    listeners: &ByMember<Listener>,
    waiting: &Waiting<'_>,
) {
    let deaf = hear(listeners, members, waiting.clock).await;
    let by = members.iter().map(|member| (*member, None)).collect();
    until_cleared_or_alarmed(&Refusals { by, enough: 1 }, listeners, deaf, waiting).await;
}

/// Completes when enough of the refusing members may grant now: each is cleared by a wake-up or by the
/// end of its holder's ttl. Or, with true, when something happened to any member: a server went away,
/// a client was shut down.
async fn until_cleared_or_alarmed(
    refusals: &Refusals,
    listeners: &ByMember<Listener>,
    deaf: bool,
    waiting: &Waiting<'_>,
) -> bool {
    let clock = waiting.clock;
    let now = clock.now();
    let mut open: FuturesUnordered<_> = refusals
        .by
        .iter()
        .map(|(member, ttl)| {
            let listener = &listeners[*member];
            let cap = if deaf { RETRY_MAX } else { POLL_CAP };
            let until = now + ttl.unwrap_or(cap).min(cap) + waiting.jitter();
            async move {
                let _first = select(pin!(listener.woken()), clock.sleep_until(until)).await;
            }
        })
        .collect();
    let cleared = async {
        for _ in 0..refusals.enough {
            if open.next().await.is_none() {
                return;
            }
        }
    };
    let alarms: FuturesUnordered<_> = listeners.values().map(Listener::alarmed).collect();
    matches!(select(pin!(cleared), alarms.into_future()).await, Either::Right(_))
}

impl Waiting<'_> {
    /// Whether the caller's time is up before that much more has passed.
    fn ends_within(&self, time: Duration) -> bool {
        self.deadline.is_some_and(|deadline| deadline < self.clock.now() + time)
    }

    /// Waits until the votes count, but not for long: somebody may say that they do.
    async fn look_again(&self, counts_in: Duration) {
        let pause = self.random.within(LOOK_AGAIN).min(counts_in) + self.jitter();
        self.clock.sleep_until(self.clock.now() + pause).await;
    }

    /// Added to a sleep that many may have begun together.
    fn jitter(&self) -> Duration {
        self.random.within(Duration::from_millis(1)..Duration::from_millis(10))
    }
}

/// A pause that grows from time to time, with jitter.
#[derive(Debug)]
struct Pause<'a> {
    random: &'a Random,
    times: u32,
}

impl Pause<'_> {
    fn next(&mut self) -> Duration {
        let full = RETRY_MIN.saturating_mul(1 << self.times.min(8)).min(RETRY_MAX);
        self.times += 1;
        self.random.most_of(full)
    }
}
