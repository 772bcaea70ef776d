//! What the first in line does: attempt → listen → attempt again → sleep until something may have
//! changed. What this process holds it is offered at any time, and takes between two attempts.
//!
//! A wake-up is a hint, never a grant. The second attempt closes the window between a refusal and
//! the confirmed subscription; expiry publishes nothing, so every sleep ends with the holder's
//! ttl, and in any case with the poll cap.

use std::{pin::pin, sync::Arc, time::Duration};

use futures::{
    StreamExt,
    future::{Either, join_all, select},
    stream::FuturesUnordered,
};

use super::{
    contender::{Contender, Refusals, Round},
    line::{HeadSignal, messages},
    others::Others,
    places::Offered,
    queue::LinePlace,
    strategy::{Backoff, WaitStrategy},
    waiting::{OnOutage, Waiting},
};
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

/// The first in line, as long as it is.
pub(super) struct Head<'a, C> {
    pub(super) contender: &'a mut C,
    pub(super) place: &'a LinePlace,
    pub(super) waiting: &'a Waiting<'a>,
    /// What keeps it from an answer.
    pub(super) outage: &'a mut Option<AcquireError>,
}

/// What the first in line was offered: it goes on with that.
pub(super) type Interrupted<T> = Result<T, Arc<dyn Offered>>;

impl<C: Contender> Head<'_, C> {
    /// Waits for its turn behind another of this process that has the lock, if it hears of what becomes of
    /// that.
    pub(super) async fn succeed(&mut self) -> Interrupted<()> {
        let listeners = self.listeners();
        if let Some(look_at) = self.place.line().take_look_at()
            && listeners.values().all(Listener::is_ready)
        {
            self.sleep(sleep_as_successor(&listeners, look_at, self.waiting)).await?;
        }
        Ok(())
    }

    /// Tries until granted. Whoever was `refused_by` some members already listens to those.
    pub(super) async fn lead(
        &mut self,
        refused_by: Option<Vec<MemberId>>,
    ) -> Interrupted<Result<C::Grant, AcquireError>> {
        self.contender.lines_up();
        let mut listeners = self.listeners();
        let mut refused_by = refused_by.unwrap_or_else(|| listeners.ids().collect());
        let (mut pause, mut heard_by_then) = (Pause::new(self.waiting), messages(&listeners));
        if planted!(NoSecondLook) {
            sleep_without_a_look(&refused_by, &listeners, self.waiting).await;
        }
        loop {
            if self.contender.is_told_elsewhere() {
                listeners = self.listeners();
            }
            if self.contender.keeps_turn().is_zero() {
                listeners = self.until_turn(listeners).await?;
                heard_by_then = messages(&listeners);
            }
            let heard = hear(&listeners, &refused_by, self.waiting.clock);
            let deaf = self.unless_offered(heard).await?;
            let they_let_it_pass = self.until_allowed(&listeners).await?;
            let was_woken = messages(&listeners) > heard_by_then;
            heard_by_then = messages(&listeners);
            // On the heap: who sleeps between two rounds has no need of its room.
            let mut round = Box::pin(self.contender.round());
            let came = self.place.busy_with(round.as_mut()).await;
            drop(round);
            match came {
                Round::Granted(grant) => {
                    self.won(they_let_it_pass);
                    return Ok(Ok(grant));
                }
                Round::Refused(refusals) => {
                    self.refused();
                    refused_by = refusals.members();
                    if was_woken && self.waiting.strategy.relies_on_messages() {
                        self.contender.outrun();
                    }
                    if self.contender.is_told_elsewhere() {
                        continue;
                    }
                    self.sleep_as_refused(&refusals, &listeners, deaf, &mut pause).await?;
                }
                Round::Failed(error) => return Ok(Err(error)),
                Round::Late(error) => {
                    self.late(error);
                    self.sleep_for(self.waiting.jitter()).await?;
                }
                Round::Outage(error) => {
                    if let Some(error) = self.trouble(error, None) {
                        return Ok(Err(error));
                    }
                    self.sleep_for(pause.next()).await?;
                }
                Round::NotYet { error, counts_in } => {
                    if let Some(error) = self.trouble(error, Some(counts_in)) {
                        return Ok(Err(error));
                    }
                    self.unless_offered(self.waiting.look_again(counts_in)).await?;
                }
            }
            // Timers count in milliseconds: to sleep for nothing would take one.
            let stagger = self.contender.stagger();
            if !stagger.is_zero() {
                self.sleep_for(stagger).await?;
            }
        }
    }

    /// Sleeps until enough of the refusing members may grant, or something happened to any member.
    async fn sleep_as_refused(
        &mut self,
        refusals: &Refusals,
        listeners: &ByMember<Listener>,
        deaf: bool,
        pause: &mut Pause<'_>,
    ) -> Interrupted<()> {
        if refusals.enough == 0 {
            self.sleep_for(pause.next()).await?;
        }
        let longest = self.longest_sleep(deaf, pause);
        let cleared = until_cleared_or_alarmed(refusals, listeners, longest, self.waiting);
        if self.sleep(cleared).await? == Some(true) {
            self.contender.alarmed();
        }
        Ok(())
    }

    /// An attempt that was not answered. The error, if nobody is to wait for better times.
    pub(super) fn trouble(
        &mut self,
        error: AcquireError,
        counts_in: Option<Duration>,
    ) -> Option<AcquireError> {
        let ends = match counts_in {
            None => self.waiting.on_outage == OnOutage::Fail,
            Some(counts_in) => self.waiting.ends_within(counts_in),
        };
        if ends {
            return Some(error);
        }
        if counts_in.is_some() {
            self.contender.say_not_yet(&error);
        }
        self.late(error);
        None
    }

    /// An attempt that came to nothing, and is to be made again.
    pub(super) fn late(&mut self, error: AcquireError) {
        self.place.line().note_trouble(Some(&error));
        *self.outage = Some(error);
    }

    /// The servers granted.
    pub(super) fn won(&mut self, they_let_it_pass: bool) {
        let (Some(line), clock) = (self.place.line_if_any(), self.waiting.clock) else { return };
        line.granted(|| Some(clock.now() + self.contender.keeps_out()?));
        if they_let_it_pass {
            line.others(Others::let_it_pass);
        }
    }

    pub(super) fn refused(&mut self) {
        let line = self.place.line();
        line.was_others();
        line.others(Others::took_it);
        line.note_trouble(None);
        *self.outage = None;
    }

    /// One for each member: those of the first before, if they are the same.
    fn listeners(&mut self) -> Arc<ByMember<Listener>> {
        let (line, contender) = (self.place.line(), &mut *self.contender);
        if let Some(left) = line.listeners(|left| contender.hears_by(left)) {
            return left;
        }
        let own = Arc::new(contender.listen());
        line.leave_listeners(&own);
        own
    }

    /// Waits until the lock may be asked for, if it was released here. Whether it was left to others who
    /// did not take it.
    async fn until_allowed(&self, listeners: &ByMember<Listener>) -> Interrupted<bool> {
        let Some(released) = self.place.line().take_released() else { return Ok(false) };
        let clock = self.waiting.clock;
        let is_left_to_others = clock.now() < released.ask_from;
        if is_left_to_others {
            let others_had_it = async {
                while !released.others_had_it(listeners) {
                    wake_up(listeners).await;
                }
            };
            let others_had_it = pin!(others_had_it);
            let is_time = clock.sleep_until(released.ask_from);
            self.unless_offered(select(others_had_it, is_time)).await?;
        }
        // What woke them was our own release.
        listeners.values().for_each(Listener::forget_wake_up);
        Ok(is_left_to_others && !released.others_had_it(listeners))
    }

    // keeps: wake-up-is-hint
    fn longest_sleep(&self, deaf: bool, pause: &mut Pause<'_>) -> Duration {
        let longest = match self.waiting.strategy {
            _ if deaf => pause.next(),
            WaitStrategy::ListenAndPoll(_) => pause.next().min(POLL_CAP),
            WaitStrategy::Listen | WaitStrategy::Poll(_) => POLL_CAP + self.waiting.jitter(),
        };
        longest.min(self.contender.keeps_turn())
    }

    /// Waits for its turn among those of other processes. Releases would wake all of them: it hears of none
    /// meanwhile.
    async fn until_turn(
        &mut self,
        listeners: Arc<ByMember<Listener>>,
    ) -> Interrupted<Arc<ByMember<Listener>>> {
        drop(listeners);
        self.place.line().forget_listeners();
        match select(pin!(self.place.offer()), pin!(self.contender.turn())).await {
            Either::Left((what, _)) => return Err(what),
            Either::Right(((), _)) => {}
        }
        Ok(self.listeners())
    }

    async fn sleep_for(&self, time: Duration) -> Interrupted<()> {
        let clock = self.waiting.clock;
        self.sleep(clock.sleep_until(clock.now() + time)).await.map(drop)
    }

    /// Sleeps, and no longer once the lock is released here.
    async fn sleep<T>(&self, sleep: impl Future<Output = T>) -> Interrupted<Option<T>> {
        match select(pin!(self.place.word()), pin!(sleep)).await {
            Either::Left((HeadSignal::Offer(what), _)) => Err(what),
            Either::Left((HeadSignal::Released, _)) => Ok(None),
            Either::Right((done, _)) => Ok(Some(done)),
        }
    }

    async fn unless_offered<T>(&self, work: impl Future<Output = T>) -> Interrupted<T> {
        match select(pin!(self.place.offer()), pin!(work)).await {
            Either::Left((what, _)) => Err(what),
            Either::Right((done, _)) => Ok(done),
        }
    }
}

/// The first before was granted: nothing is to be had before its release or the end of its lease.
async fn sleep_as_successor(
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
async fn wake_up(listeners: &ByMember<Listener>) {
    if listeners.is_one() {
        return listeners.first().woken().await;
    }
    let wakes: FuturesUnordered<_> = listeners.values().map(Listener::woken).collect();
    let _first = wakes.into_future().await;
}

/// Waits until the refusing members can be heard. True if one of them cannot: then no wake-up may
/// come, and we poll.
async fn hear(listeners: &ByMember<Listener>, members: &[MemberId], clock: &SharedClock) -> bool {
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
async fn sleep_without_a_look(
    members: &[MemberId],
    listeners: &ByMember<Listener>,
    waiting: &Waiting<'_>,
) {
    let deaf = hear(listeners, members, waiting.clock).await;
    let longest = if deaf { waiting.backoff().longest } else { POLL_CAP };
    let by = members.iter().map(|member| (*member, None)).collect();
    until_cleared_or_alarmed(&Refusals { by, enough: 1 }, listeners, longest, waiting).await;
}

/// Completes when enough of the refusing members may grant now: each is cleared by a wake-up or by the
/// end of its holder's ttl, `longest` at the most. Or, with true, when something happened to any member: a server went away,
/// a client was shut down.
async fn until_cleared_or_alarmed(
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
struct Pause<'a> {
    random: &'a Random,
    backoff: Backoff,
    times: u32,
}

impl<'a> Pause<'a> {
    fn new(waiting: &Waiting<'a>) -> Self {
        Self { random: waiting.random, backoff: waiting.backoff(), times: 0 }
    }

    fn next(&mut self) -> Duration {
        let Backoff { first, longest } = self.backoff;
        let full = first.saturating_mul(1 << self.times.min(16)).min(longest);
        self.times = self.times.saturating_add(1);
        self.random.most_of(full)
    }
}
