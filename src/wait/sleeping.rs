//! What ends the sleep of the first in line: a wake-up, the end of the holder's ttl, an alarm, or a cap.

use std::{pin::pin, time::Duration};

use futures::{
    StreamExt,
    future::{Either, join_all, select},
    stream::FuturesUnordered,
};

use super::{
    contender::Refusals,
    strategy::{Backoff, WaitStrategy},
    waiting::Waiting,
};
use crate::{
    by_member::{ByMember, MemberId},
    clock::{Instant, SharedClock},
    notifier::Listener,
    random::Random,
};

/// The longest sleep without looking: a lost wake-up costs no more than this.
pub(super) const POLL_CAP: Duration = Duration::from_secs(5);
/// How long a subscription is waited for before the second attempt.
const LISTEN_LIMIT: Duration = Duration::from_millis(500);

/// The first before was granted: nothing is to be had before its release or the end of its lease.
pub(super) async fn sleep_as_successor(
    listeners: &ByMember<Listener>,
    look_at: Instant,
    waiting: &Waiting<'_>,
) {
    let clock = waiting.clock;
    let longest = match waiting.strategy {
        WaitStrategy::ListenAndPoll(backoff) => backoff.longest.min(POLL_CAP),
        WaitStrategy::Listen | WaitStrategy::Poll(_) => POLL_CAP,
    };
    let until = look_at.min(clock.now() + longest) + waiting.jitter();
    let _first = select(pin!(wake_up(listeners)), clock.sleep_until(until)).await;
}

/// Completes when any of them is woken.
pub(super) async fn wake_up(listeners: &ByMember<Listener>) {
    if listeners.is_one() {
        return listeners.first().woken().await;
    }
    let wakes: FuturesUnordered<_> = listeners.values().map(Listener::woken).collect();
    let _first = wakes.into_future().await;
}

/// Waits until the refusing members can be heard. True if one of them cannot: then no wake-up may
/// come, and we poll.
pub(super) async fn hear(
    listeners: &ByMember<Listener>,
    members: &[MemberId],
    clock: &SharedClock,
) -> bool {
    let wanted = members.iter().map(|member| &listeners[*member]);
    if wanted.clone().all(Listener::is_ready) {
        return false;
    }
    let ready = join_all(wanted.clone().map(Listener::ready));
    match select(ready, clock.sleep_until(clock.now() + LISTEN_LIMIT)).await {
        Either::Left((ready, _)) => {
            // That they hear is told now, and the round sees what was before.
            wanted.for_each(Listener::forget_wake_up);
            ready.iter().any(Result::is_err)
        }
        Either::Right(_) => true,
    }
}

/// Waits until woken, as if nothing could have happened since the refusal: for the planted bug.
pub(super) async fn sleep_without_a_look(
    members: &[MemberId],
    listeners: &ByMember<Listener>,
    waiting: &Waiting<'_>,
) {
    let deaf = hear(listeners, members, waiting.clock).await;
    let longest = if deaf { waiting.backoff().longest } else { POLL_CAP };
    let by = members.iter().map(|member| (*member, None)).collect();
    until_cleared_or_alarmed(&Refusals { by, enough: 1, until: None }, listeners, longest, waiting)
        .await;
}

/// Completes when enough of the refusing members may grant now: each is cleared by a wake-up or by the
/// end of its holder's ttl, `longest` at the most. Or, with true, when something happened to any member: a server went away,
/// a client was shut down.
pub(super) async fn until_cleared_or_alarmed(
    refusals: &Refusals,
    listeners: &ByMember<Listener>,
    longest: Duration,
    waiting: &Waiting<'_>,
) -> bool {
    let clock = waiting.clock;
    let now = clock.now();
    let mut open: FuturesUnordered<_> = refusals
        .by
        .iter()
        .map(|(member, ttl)| {
            let listener = &listeners[*member];
            let until = now + ttl.map_or(longest, |ttl| longest.min(ttl + waiting.jitter()));
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

/// A pause that grows from time to time, with jitter.
#[derive(Debug)]
pub(super) struct Pause<'a> {
    random: &'a Random,
    backoff: Backoff,
    times: u32,
}

impl<'a> Pause<'a> {
    pub(super) fn new(waiting: &Waiting<'a>) -> Self {
        Self { random: waiting.random, backoff: waiting.backoff(), times: 0 }
    }

    pub(super) fn next(&mut self) -> Duration {
        let Backoff { first, longest } = self.backoff;
        let full = first.saturating_mul(1 << self.times.min(16)).min(longest);
        self.times = self.times.saturating_add(1);
        self.random.most_of(full)
    }
}
