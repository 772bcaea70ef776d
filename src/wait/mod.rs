//! Waiting for a lock: all that want the same in one process stand in line. The first asks servers until it is
//! granted, or takes what this process holds when that is passed on.
//!
//! Knows neither nodes nor scripts: what wants a lock is a [`Contender`].
//!
//! ```text
//! joins ─► in line ──the one before it leaves──► first ─► attempt ──granted──► leaves the line
//!             │                                    ▲        │ refused
//!             │                                    │        ▼
//!             │                                    │     listens ─► attempt once more ─► sleeps
//!             │                                    └── a message, the holder's ttl, the poll cap, a gap ──┘
//!             └── offered the hold of this process ─► takes it; not polled in time ─► withdrawn, and passed over
//! ```
//!
//! An example. A, B and C of one process want `x`, which another process has. A is first: it asks, is refused,
//! listens, asks once more and sleeps. B and C send nothing. The release wakes A, which asks and is granted. When
//! A's guard goes, B is offered the hold, without a word to a server. B's future is parked and does not come: after
//! a moment the offer is withdrawn, C is offered it, and B stands where it stood.
//!
//! # Invariants
//! - **A wake-up is a hint**: every sleep ends with the holder's ttl or the poll cap (`head`).
//! - **An attempt follows the subscription**: what was released between the refusal and the subscription is seen.
//! - **What is offered is taken by one waiter, or given back**, under the mutex of its line (`line`).
//! - **A lock does not stay with a process** for longer than the limit while another may want it (`handover`,
//!   `others`).
//! - **A waiter that is not polled holds up no other**: it is passed over until it comes (`line`).
//!
//! # What proves them
//! `tests` here, tables at the end of `handover` and `others`. In `tests/it`: `mutex::waiting`, `handover`,
//! `waits`, `polls`, `regressions::line`, `family::crowd`. In the simulation: I4, I7, I10. Planted:
//! `no-second-look`, `handover-beyond-limit`, `offer-never-withdrawn`.
//!
//! # To change…
//! - what the first in line does: `head`; what ends its sleep: `sleeping`
//! - which waiter is woken when, and which is offered what: `line`, `places`
//! - for how long a lock stays with a process: `handover`
//! - which of those that wait for a member of several asks first: `elders`
//! - how often is asked where messages cannot be heard: `strategy`
//! - what ends a wait: `waiting`
//! - when waiters of many processes ask one by one: `acquire/turnstile`

mod contender;
mod elders;
mod handover;
mod head;
mod line;
mod lines;
mod others;
mod places;
mod sleeping;
mod strategy;
#[cfg(test)]
mod tests;
mod waiting;

use std::{
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use futures::FutureExt;

pub(crate) use contender::{Cause, Contender, Refusals, Round};
pub(crate) use elders::{ElderPlace, Elders, Rank};
pub use handover::LocalHandover;
pub(crate) use handover::Parting;
pub(crate) use line::{Line, Overdue};
pub(crate) use lines::Lines;
pub(crate) use places::{HandoverTerms, Offered};
pub use strategy::{Backoff, WaitStrategy};

pub use waiting::OnOutage;
pub(crate) use waiting::Waiting;

use self::{
    head::{Head, Trouble},
    line::{Attention, Summons},
    lines::LinePlace,
};
use crate::{by_member::MemberId, clock::SharedClock, error::AcquireError};

/// Acquires, waiting as long as `waiting` allows, or until it is `turned_away`: nothing is to be had any more.
/// `None`: held by others until then.
///
/// The first in line makes one attempt in any case. The deadline bounds that too: what was asked by then is
/// given back in the background, and a call that is dropped speaks neither against its socket nor against its
/// server.
pub(crate) async fn acquire<C: Contender>(
    contender: &mut C,
    lines: &Arc<Lines<C::Offered>>,
    waiting: &Waiting<'_>,
    turned_away: impl Future<Output = ()> + Send,
) -> Result<Option<C::Grant>, AcquireError> {
    let (key, takes) = (waiting.key, waiting.takes);
    let place = match waiting.needs_order {
        true => Some(lines.join(key, takes)),
        false => lines.join_others(key, takes),
    };
    let place = place.map(|taken| attended(taken, waiting));
    let mut round = None;
    if place.as_ref().is_none_or(LinePlace::is_first) {
        let asking = pin!(contender.round(Cause::Arrival));
        round = first_round(place.as_ref(), asking, waiting).await;
        if round.is_none() {
            return Err((waiting.unanswered)());
        }
    }
    if place.is_none()
        && let Some(Round::Granted(grant)) = round
    {
        return Ok(Some(grant));
    }
    let place = place.unwrap_or_else(|| attended(lines.join(key, takes), waiting));
    let (mut trouble, mut refused_by) = (Trouble::default(), None);
    if let Some(round) = round {
        let mut head =
            Head { contender: &mut *contender, place: &place, waiting, trouble: &mut trouble };
        match round {
            Round::Granted(grant) => {
                head.won(false);
                return Ok(Some(grant));
            }
            Round::Failed(error) => return Err(error),
            Round::Late(error) => head.late(error),
            Round::Outage(error) => head.trouble(error, None).map_or(Ok(()), Err)?,
            Round::NotYet { error, counts_in } => {
                head.trouble(error, Some(counts_in)).map_or(Ok(()), Err)?;
            }
            Round::Refused(refusals) => {
                refused_by = Some(refusals.members());
                trouble.has_met_them = true;
            }
        }
    } else if let Some((error, counts_in)) = contender.foreseen()
        && waiting.ends_within(counts_in)
    {
        // It is not held: those before us in line wait for the same votes, for longer than we may.
        return Err(error);
    }
    // On the heap: most acquires never wait, and their callers' futures should not pay for it.
    let mut persist = Box::pin(stand_in_line(contender, &place, waiting, refused_by, &mut trouble));
    let granted = tokio::select! {
        biased;
        granted = waiting.in_time(persist.as_mut()) => granted,
        () = turned_away => Some(Err(AcquireError::Draining)),
    };
    drop(persist);
    match granted {
        Some(result) => result.map(Some),
        // Neither granted nor refused: the caller must learn that it was not a matter of waiting.
        None => trouble.outage.or_else(|| place.line().trouble()).map_or(Ok(None), Err),
    }
}

/// The attempt that is made before anything is waited for. `None` if the caller's time was up first.
async fn first_round<T: Offered, F: Future>(
    place: Option<&LinePlace<T>>,
    asking: Pin<&mut F>,
    waiting: &Waiting<'_>,
) -> Option<F::Output> {
    match place {
        Some(place) => waiting.in_time(pin!(place.busy_with(asking))).await,
        None => waiting.in_time(asking).await,
    }
}

fn attended<T: Offered>(
    (place, attends): (LinePlace<T>, bool),
    waiting: &Waiting<'_>,
) -> LinePlace<T> {
    if attends {
        (waiting.attend)(look_after(place.line().clone(), waiting.clock.clone()).boxed());
    }
    place
}

/// Passes the first in line over if it does not come when it is called, as long as others wait behind it:
/// a future that is not polled is not to keep a free lock from them.
async fn look_after<T: Offered>(line: Arc<Line<T>>, clock: SharedClock) {
    while let Some(attention) = line.look_after_first() {
        let pause = match attention {
            Attention::Later => CALL_EVERY,
            Attention::Soon => COMES_WITHIN,
        };
        clock.sleep_until(clock.now() + pause).await;
    }
}

/// How often the first in line is called.
const CALL_EVERY: Duration = Duration::from_secs(1);
/// How long the next one has to come once the one before did not.
const COMES_WITHIN: Duration = Duration::from_millis(50);

/// Waits for its turn, and tries until granted then, or until it is offered the lock.
async fn stand_in_line<C: Contender>(
    contender: &mut C,
    place: &LinePlace<C::Offered>,
    waiting: &Waiting<'_>,
    mut refused_by: Option<Vec<MemberId>>,
    trouble: &mut Trouble,
) -> Result<C::Grant, AcquireError> {
    loop {
        if !place.is_first() {
            // What it keeps is not looked after until it is the first: others would miss that for a
            // lease.
            place.busy_with(pin!(contender.give_back())).await;
        }
        let offered = match place.summons().await {
            Summons::Closed => return Err(AcquireError::Shutdown),
            Summons::Offer(offered) => offered,
            Summons::First => {
                let mut head = Head { contender: &mut *contender, place, waiting, trouble };
                // On the heap: many wait, and one of them asks.
                let led = match head.succeed().await {
                    Ok(()) => Box::pin(head.lead(refused_by.take())).await,
                    Err(offered) => Err(offered),
                };
                match led {
                    Ok(result) => return result,
                    Err(offered) => offered,
                }
            }
        };
        let taken = contender.take_over(offered).await;
        place.has_taken();
        if let Some(grant) = taken {
            place.line().granted(|| Some(waiting.clock.now() + waiting.keeps_out?));
            return Ok(grant);
        }
    }
}
