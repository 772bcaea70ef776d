//! What the first in line does: attempt → listen → attempt again → sleep until something may have
//! changed. What this process holds it is offered at any time, and takes between two attempts.
//!
//! A wake-up is a hint, never a grant. The second attempt closes the window between a refusal and
//! the confirmed subscription. Expiry publishes nothing, so every sleep ends with the holder's ttl,
//! and in any case with the poll cap.

use std::{mem::replace, pin::pin, sync::Arc, time::Duration};

use futures::future::{Either, select};

use super::{
    contender::{Cause, Contender, Refusals, Round},
    line::{HeadSignal, messages},
    lines::LinePlace,
    others::Others,
    sleeping::{
        POLL_CAP, Pause, hear, sleep_as_successor, sleep_without_a_look, until_cleared_or_alarmed,
        wake_up,
    },
    strategy::WaitStrategy,
    waiting::{OnOutage, Waiting},
};
use crate::{
    by_member::{ByMember, MemberId},
    clock::Instant,
    error::AcquireError,
    logging::LOCK,
    notifier::Listener,
    telling,
};

/// The first in line, as long as it is.
pub(super) struct Head<'a, C: Contender> {
    pub(super) contender: &'a mut C,
    pub(super) place: &'a LinePlace<C::Offered>,
    pub(super) waiting: &'a Waiting<'a>,
    pub(super) trouble: &'a mut Trouble,
}

/// What keeps an acquire from an answer.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    pub(super) outage: Option<AcquireError>,
    /// Whether enough servers have answered.
    pub(super) has_met_them: bool,
    /// Whether it has said that it waits until votes count: a wait of a minute without a word seems to hang.
    has_said_not_yet: bool,
}

/// What the first in line was offered: it goes on with that.
pub(super) type Interrupted<C, T> = Result<T, Arc<<C as Contender>::Offered>>;

impl<C: Contender> Head<'_, C> {
    /// Waits for its turn behind another of this process that has the lock, if it hears of what becomes of
    /// that.
    pub(super) async fn succeed(&mut self) -> Interrupted<C, ()> {
        let listeners = self.listeners();
        if let Some(look_at) = self.place.line().take_look_at()
            && listeners.values().all(Listener::is_ready)
        {
            self.sleep(sleep_as_successor(&listeners, look_at, self.waiting)).await?;
        }
        Ok(())
    }

    /// Tries until granted. A waiter that was `refused_by` some members already listens to those.
    pub(super) async fn lead(
        &mut self,
        refused_by: Option<Vec<MemberId>>,
    ) -> Interrupted<C, Result<C::Grant, AcquireError>> {
        let mut listeners = self.listeners();
        let mut refused_by = refused_by.unwrap_or_else(|| listeners.ids().collect());
        let (mut pause, mut heard_by_then) = (Pause::new(self.waiting), messages(&listeners));
        if planted!(NoSecondLook) {
            sleep_without_a_look(&refused_by, &listeners, self.waiting).await;
        }
        loop {
            if !self.contender.hears_by(&listeners, true) {
                listeners = self.listeners();
            }
            listeners = match self.until_turn(listeners).await? {
                Some(same) => same,
                None => {
                    let anew = self.listeners();
                    heard_by_then = messages(&anew);
                    anew
                }
            };
            let heard = hear(&listeners, &refused_by, self.waiting.clock);
            let deaf = self.unless_offered(heard).await?;
            let they_let_it_pass = self.until_allowed(&listeners).await?;
            let was_woken = messages(&listeners) > heard_by_then;
            heard_by_then = messages(&listeners);
            let relies_on_it = was_woken && self.waiting.strategy.relies_on_messages();
            let cause = if relies_on_it { Cause::Message } else { Cause::Turn };
            // On the heap: a waiter that sleeps between two rounds has no need of its room.
            let mut round = Box::pin(self.contender.round(cause));
            let came = self.place.busy_with(round.as_mut()).await;
            drop(round);
            let mut alarmed = false;
            match came {
                Round::Granted(grant) => {
                    self.won(they_let_it_pass);
                    return Ok(Ok(grant));
                }
                Round::Refused(refusals) => {
                    self.refused();
                    refused_by = refusals.members();
                    if !self.contender.hears_by(&listeners, true) {
                        continue;
                    }
                    alarmed =
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
            let stagger = self.contender.stagger(alarmed);
            if !stagger.is_zero() {
                self.sleep_for(stagger).await?;
            }
        }
    }

    // keeps: wake-up-is-hint
    /// Sleeps until enough of the refusing members may grant, or, with true, something happened to any member.
    async fn sleep_as_refused(
        &mut self,
        refusals: &Refusals,
        listeners: &ByMember<Listener>,
        deaf: bool,
        pause: &mut Pause<'_>,
    ) -> Interrupted<C, bool> {
        if refusals.enough == 0 {
            self.sleep_for(pause.next()).await?;
        }
        let longest = match self.waiting.strategy {
            _ if deaf => pause.next(),
            WaitStrategy::ListenAndPoll(_) => pause.next().min(POLL_CAP),
            WaitStrategy::Listen | WaitStrategy::Poll(_) => POLL_CAP + self.waiting.jitter(),
        };
        let left = |until: Instant| until.saturating_since(self.waiting.clock.now());
        let longest = longest.min(refusals.until.map_or(Duration::MAX, left));
        let cleared = until_cleared_or_alarmed(refusals, listeners, longest, self.waiting);
        Ok(self.sleep(cleared).await? == Some(true))
    }

    /// An attempt that was not answered. The error, if better times are not to be waited for.
    pub(super) fn trouble(
        &mut self,
        error: AcquireError,
        counts_in: Option<Duration>,
    ) -> Option<AcquireError> {
        let ends = match counts_in {
            None => self.waiting.on_outage == OnOutage::Fail,
            Some(counts_in) => self.waiting.ends_within(counts_in),
        };
        let at_first =
            self.waiting.on_outage == OnOutage::FailAtFirst && !self.trouble.has_met_them;
        if ends || at_first {
            return Some(error);
        }
        if let AcquireError::Quarantined { lock, .. } = &error
            && !replace(&mut self.trouble.has_said_not_yet, true)
        {
            let (lock, error) = (lock.clone(), error.clone());
            telling::event(move || {
                tracing::warn!(
                    target: LOCK, %lock, %error,
                    "an acquire waits until votes count; where all servers are new, `palisade bless`, \
                     Client::bless or Masters::bless makes them count at once"
                );
            });
        }
        self.late(error);
        None
    }

    /// An attempt that came to nothing, and is to be made again.
    pub(super) fn late(&mut self, error: AcquireError) {
        self.place.line().note_trouble(Some(&error));
        self.trouble.outage = Some(error);
    }

    /// The servers granted.
    pub(super) fn won(&mut self, they_let_it_pass: bool) {
        let (Some(line), clock) = (self.place.line_if_any(), self.waiting.clock) else { return };
        line.granted(|| Some(clock.now() + self.waiting.keeps_out?));
        if they_let_it_pass {
            line.others(Others::let_it_pass);
        }
    }

    pub(super) fn refused(&mut self) {
        let line = self.place.line();
        line.was_others();
        line.others(Others::took_it);
        line.note_trouble(None);
        (self.trouble.outage, self.trouble.has_met_them) = (None, true);
    }

    /// One for each member: those of the first before, if they are the same.
    fn listeners(&mut self) -> Arc<ByMember<Listener>> {
        let line = self.place.line();
        if let Some(left) = line.listeners().filter(|left| self.contender.hears_by(left, false)) {
            return left;
        }
        let own = Arc::new(self.contender.listen());
        line.leave_listeners(&own);
        own
    }

    /// Waits until the lock may be asked for, if it was released here. Whether it was left to others
    /// that did not take it.
    async fn until_allowed(&self, listeners: &ByMember<Listener>) -> Interrupted<C, bool> {
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

    /// Waits for its turn among those of other processes, if it must. Releases would wake all of them, so it hears of
    /// none meanwhile: then there are no listeners any more.
    async fn until_turn(
        &mut self,
        listeners: Arc<ByMember<Listener>>,
    ) -> Interrupted<C, Option<Arc<ByMember<Listener>>>> {
        let Some(turn) = self.contender.turn() else { return Ok(Some(listeners)) };
        drop(listeners);
        self.place.line().forget_listeners();
        match select(pin!(self.place.offer()), pin!(turn)).await {
            Either::Left((what, _)) => Err(what),
            Either::Right(((), _)) => Ok(None),
        }
    }

    async fn sleep_for(&self, time: Duration) -> Interrupted<C, ()> {
        let clock = self.waiting.clock;
        self.sleep(clock.sleep_until(clock.now() + time)).await.map(drop)
    }

    /// Sleeps, and no longer once the lock is released here.
    async fn sleep<T>(&self, sleep: impl Future<Output = T>) -> Interrupted<C, Option<T>> {
        match select(pin!(self.place.word()), pin!(sleep)).await {
            Either::Left((HeadSignal::Offer(what), _)) => Err(what),
            Either::Left((HeadSignal::Released, _)) => Ok(None),
            Either::Right((done, _)) => Ok(Some(done)),
        }
    }

    async fn unless_offered<T>(&self, work: impl Future<Output = T>) -> Interrupted<C, T> {
        match select(pin!(self.place.offer()), pin!(work)).await {
            Either::Left((what, _)) => Err(what),
            Either::Right((done, _)) => Ok(done),
        }
    }
}
