//! The place of one waiter at a turnstile, on one server.

use std::{
    future::pending,
    mem,
    pin::pin,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures::future::{Either, select};

use super::{
    leaving::Leaving,
    script::{Leave, Pass, Passed, TURN, may_not},
    watching::until_silent,
};
use crate::{
    clock::Instant,
    error::{NodeError, Phase},
    logging::NODE,
    notifier::Listener,
    process::NodeServices,
    telling,
    voting::Voter,
    wire::key,
};

/// The place of one waiter at the turnstile of a lock on one server, given up when dropped.
#[derive(Debug)]
pub(super) struct TurnstilePlace {
    services: Arc<NodeServices>,
    name: Arc<str>,
    id: Arc<str>,
    /// When it came.
    since: Instant,
    /// Where it is told.
    listener: Listener,
    /// Where releases are announced.
    channel: Arc<str>,
    /// To what is announced there, as long as it is the first in line.
    releases: Option<Listener>,
    /// How often it was told that it is its turn, and how often anything.
    told: u64,
    heard: u64,
    /// Whether a release passed that the waiter with the turn did not use.
    was_let_pass: bool,
    /// Until when it has the turn, if it does.
    turn_until: Option<Instant>,
}

/// What came of waiting for a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// It has it.
    Over,
    /// It has not come, and one is to ask all the same, to be told later.
    ForLong,
    /// This server cannot tell.
    InVain,
}

impl TurnstilePlace {
    /// Sends nothing but a subscription.
    pub(super) fn of(member: &Voter) -> Self {
        let (services, name) = (member.services.clone(), member.kind.name().clone());
        let (id, since) = (services.process.fresh_holder(), services.now());
        let listener = services.notifier.listen_for(key::turn_channel(&name, &id), YOUR_TURN);
        let channel = member.kind.channel().clone();
        let (releases, turn_until) = (None, None);
        Self {
            services,
            name,
            id,
            since,
            listener,
            channel,
            releases,
            told: 0,
            heard: 0,
            was_let_pass: false,
            turn_until,
        }
    }

    /// Until when it has the turn, and need not say so again; `None` if it has it not.
    pub(super) fn turn_ends(&self) -> Option<Instant> {
        self.turn_until.map(|until| until - TURN / 2)
    }

    /// Waits for the turn, or renews it.
    ///
    /// # Cancel safety
    /// Its place stays, until it is dropped.
    pub(super) async fn wait(&mut self) -> Wait {
        let give_up = self.services.now() + self.services.process.random.most_of(self.patience());
        if let Err(error) = self.listen().await {
            return self.in_vain(&error);
        }
        while self.services.now() < give_up {
            let asked = self.services.now();
            match self.pass(asked).await {
                Ok(Passed::Now) => {
                    self.turn_until = Some(asked + TURN);
                    return Wait::Over;
                }
                Ok(Passed::Later { place, ttl }) => {
                    (self.turn_until, self.was_let_pass) = (None, false);
                    let look_again = asked + self.until_look(place, ttl);
                    self.stand_by(place);
                    if let Some(end) = self.stand_until(look_again.min(give_up)).await {
                        return end;
                    }
                }
                Err(error) => return self.in_vain(&error),
            }
        }
        Wait::ForLong
    }

    /// Stands in line. `None` when it is time to look.
    async fn stand_until(&mut self, look_again: Instant) -> Option<Wait> {
        loop {
            match self.heard_before(look_again).await {
                LineNews::Turn => return Some(Wait::Over),
                LineNews::First => self.stand_by(1),
                LineNews::LetPass => {
                    self.was_let_pass = true;
                    return Some(Wait::ForLong);
                }
                LineNews::Silence => return Some(Wait::InVain),
                LineNews::Nothing => return None,
            }
        }
    }

    /// A client whose user lacks a right says so once, and waits as if there were no turnstiles.
    fn in_vain(&self, error: &NodeError) -> Wait {
        if may_not(error) && !self.services.has_no_turnstiles.swap(true, Ordering::Relaxed) {
            let (node, error) = (self.services.node_id().clone(), error.clone());
            telling::event(move || {
                tracing::info!(
                    target: NODE, %node, %error,
                    "waiters of many processes are woken all at once: the user lacks rights that `palisade acl` \
                     prints"
                );
            });
        }
        Wait::InVain
    }

    /// It would not be told before that, and be taken for gone.
    async fn listen(&self) -> Result<(), NodeError> {
        let clock = &self.services.process.clock;
        match select(pin!(self.listener.ready()), clock.sleep_until(clock.now() + LISTEN_LIMIT))
            .await
        {
            Either::Left((ready, _)) => {
                self.listener.forget_wake_up();
                ready
            }
            Either::Right(_) => Err(NodeError::TimedOut { phase: Phase::Answering }),
        }
    }

    async fn pass(&self, asked: Instant) -> Result<Passed, NodeError> {
        if !self.services.in_line.begin(self.id.clone(), self.name.clone()) {
            return Err(NodeError::Closed);
        }
        let pass = Pass::new(&self.name, &self.id);
        let deadline = asked + self.services.settings.node_timeout;
        let answer = self.services.node.call(&self.name, &pass, deadline).await;
        answer.map(|(_, answer)| answer.reply)
    }

    /// The first in line hears of releases, too.
    fn stand_by(&mut self, place: u32) {
        if place > 1 {
            self.releases = None;
        } else if self.releases.is_none() {
            self.releases = Some(self.services.notifier.listen(self.channel.clone()));
        }
    }

    /// How long its turn is waited for now. What has waited long asks seldom.
    fn patience(&self) -> Duration {
        self.services.now().saturating_since(self.since).clamp(LONGEST, LONGEST_OF_ALL)
    }

    /// The waiter with the turn may be gone when it ends. One far behind leaves it to others to find out.
    fn until_look(&self, place: u32, ttl: Duration) -> Duration {
        let others = (APART * place.saturating_sub(1)).clamp(LEAST_APART, MOST_APART);
        ttl + self.services.process.random.within(Duration::ZERO..others)
    }

    /// Waits until it is told that it is its turn, or until a release that the waiter with the turn let pass, as long as
    /// the server answers.
    async fn heard_before(&mut self, look_again: Instant) -> LineNews {
        let clock = &self.services.process.clock;
        let let_pass = async {
            let Some(releases) = &self.releases else { return pending().await };
            let before = releases.messages();
            while releases.messages() == before {
                releases.woken().await;
            }
            clock.sleep_until(clock.now() + LET_PASS).await;
        };
        let news = tokio::select! {
            biased;
            () = self.listener.woken() => LineNews::Nothing,
            () = let_pass => LineNews::LetPass,
            () = clock.sleep_until(look_again) => LineNews::Nothing,
            () = until_silent(&self.services, &self.name, self.since) => LineNews::Silence,
        };
        let (told, heard) = (self.listener.matches(), self.listener.messages());
        let is_told = told > mem::replace(&mut self.told, told);
        let has_heard = heard > mem::replace(&mut self.heard, heard);
        if is_told {
            self.turn_until = Some(self.services.now() + TURN);
            return LineNews::Turn;
        }
        if has_heard { LineNews::First } else { news }
    }
}

/// What ends the wait in line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineNews {
    /// That it is its turn.
    Turn,
    /// That it is the first in line.
    First,
    /// That the lock was released, and no more: the waiter with the turn may be gone.
    LetPass,
    /// None any more: the server does not answer.
    Silence,
    Nothing,
}

impl Drop for TurnstilePlace {
    fn drop(&mut self) {
        if !self.services.process.home.is_here() {
            return;
        }
        // The next in line would come to nothing until the turn of one that is gone has ended.
        let said = Leave::new(&self.name, &self.id, self.was_let_pass);
        let leaving = Leaving::of(&self.services, &self.name, said);
        // A shutdown may have said it.
        if self.services.in_line.end(&self.id).is_some() {
            leaving.begin();
        }
    }
}

/// What the one is told that has the turn. The first in line is told another word.
const YOUR_TURN: &str = "0";
/// How long a turn is waited for at first before one asks without it, and later on: a lost one costs no more than this.
const LONGEST: Duration = Duration::from_secs(10);
const LONGEST_OF_ALL: Duration = Duration::from_secs(30);
/// How long a subscription is waited for.
const LISTEN_LIMIT: Duration = Duration::from_millis(500);
/// How far from each other two in line look whether the turn is free.
const APART: Duration = Duration::from_secs(1);
const LEAST_APART: Duration = Duration::from_millis(100);
const MOST_APART: Duration = Duration::from_secs(5);
/// How long after a release the first in line asks if it was not told: by then the waiter with the turn has
/// asked, and passed it on.
const LET_PASS: Duration = Duration::from_millis(100);
