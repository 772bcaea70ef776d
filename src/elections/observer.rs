//! Following which candidate leads: look → listen → look again when something may have changed.

use std::{fmt, time::Duration};

use futures::future::{join_all, select, select_all};

use super::{
    announced::Leader,
    looking::{Sighting, check, look},
    newest::NewestLeader,
};
use crate::{
    acquire::Target, clock::Instant, error::InspectError, notifier::Listener, telling,
    voting::Voter, wire::key,
};

/// What an [`Observer`] knows.
///
/// # Examples
/// ```
/// use palisade::election::Observation;
///
/// fn line(seen: &Observation) -> String {
///     let known = if seen.stale_since.is_some() { "last seen" } else { "leads" };
///     match &seen.leader {
///         Some(leader) => format!("{known}: {leader}"),
///         None => format!("{known}: none"),
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Observation {
    /// The candidate that led when the servers were last asked.
    pub leader: Option<Leader>,
    /// When they last told, if they have not answered since. `None`: what is said of the leader is as new as the
    /// network allows.
    pub stale_since: Option<Instant>,
}

/// Follows which candidate leads: made by [`Election::observe`](super::Election::observe).
///
/// It shows the newest term, never an older one after it, and may leave out those between. What it shows is a hint, for
/// finding the leader: that some candidate still leads is known to that candidate alone. It does nothing while it is not
/// asked, but keep its subscriptions.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// let election = client.election("scheduler");
/// let mut observer = election.observe();
/// assert_eq!(observer.changed().await?.leader, None);
/// let leadership = election.campaign().await?;
/// let seen = observer.changed().await?.leader.ok_or("one leads")?;
/// assert_eq!(seen.token, Some(leadership.token()));
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
pub struct Observer {
    target: Target,
    /// Empty until it is asked for the first time.
    listeners: Vec<Listener>,
    newest: NewestLeader,
    /// Whether anything was shown.
    has_shown: bool,
    stale_since: Option<Instant>,
    /// Whether to look without waiting for anything.
    is_due: bool,
    /// When it began to ask the last time.
    asked: Option<Instant>,
    /// When the servers told the last time.
    told: Option<Instant>,
    /// When to look though nothing is heard.
    next: Instant,
}

impl Observer {
    pub(super) fn new(target: Target) -> Self {
        let next = target.now();
        Self {
            target,
            listeners: Vec::new(),
            newest: NewestLeader::default(),
            has_shown: false,
            stale_since: None,
            is_due: true,
            asked: None,
            told: None,
            next,
        }
    }

    /// Waits until there is something new, and tells it. The first time it tells at once what is now.
    ///
    /// While servers are out of reach it tells so once, by [`stale_since`](Observation::stale_since), and goes on.
    ///
    /// # Errors
    /// [`InspectError`] for what does not pass by itself: a name that cannot work, a right that is missing, a key of
    /// another type, a client that was shut down. It may be asked again, and then waits a second before it looks.
    ///
    /// # Cancel safety
    /// Nothing is lost: what had changed is told by the next call.
    pub async fn changed(&mut self) -> Result<Observation, InspectError> {
        // On the heap: it holds what was asked of each server.
        Box::pin(telling::woken_aside(self.next_change())).await?;
        self.has_shown = true;
        Ok(Observation { leader: self.newest.leader().cloned(), stale_since: self.stale_since })
    }

    async fn next_change(&mut self) -> Result<(), InspectError> {
        check(&self.target.members)?;
        self.listen().await;
        loop {
            self.sleep_until_due().await;
            let began = self.target.now();
            self.asked = Some(began);
            let looked = look(&self.target.members).await;
            self.is_due = false;
            let is_new = match looked {
                Ok(looked) => self.learn(looked, began),
                Err(error) => {
                    self.next = self.target.now() + self.target.random().most_of(RETRY);
                    if !error.is_transient() {
                        return Err(error);
                    }
                    self.grow_stale()
                }
            };
            if is_new {
                return Ok(());
            }
        }
    }

    /// Listens to what is announced, and to releases. What it may have missed before that is found by the first look.
    async fn listen(&mut self) {
        if self.asked.is_some() {
            return;
        }
        if self.listeners.is_empty() {
            let channels = |of: &Voter| {
                let channels = [key::leader_channel(of.kind.name()), of.kind.channel().clone()];
                channels.map(|channel| of.services.notifier.listen(channel))
            };
            self.listeners = self.target.members.values().flat_map(channels).collect();
        }
        let all = join_all(self.listeners.iter().map(Listener::ready));
        let clock = &self.target.process().clock;
        let limit = clock.sleep_until(self.target.now() + LISTEN_LIMIT);
        let _first = select(Box::pin(all), limit).await;
    }

    /// Sleeps until something was heard or the time has come, and for some moments after the last look: what happens in
    /// one go is found by one.
    async fn sleep_until_due(&mut self) {
        let clock = &self.target.process().clock;
        if !self.is_due {
            let woken =
                select_all(self.listeners.iter().map(|listener| Box::pin(listener.woken())));
            let _first = select(woken, clock.sleep_until(self.next)).await;
            self.is_due = true;
        }
        if let Some(asked) = self.asked {
            clock.sleep_until(asked + PACE).await;
        }
    }

    /// Whether there is something new in what was told to a look that began then.
    fn learn(&mut self, Sighting { leader, ends_in }: Sighting, began: Instant) -> bool {
        self.told = Some(began);
        let hears = self.listeners.iter().all(Listener::is_ready);
        let longest = if hears { POLL_CAP } else { RETRY };
        let pause = ends_in.unwrap_or(longest).clamp(SHORTEST, longest);
        let jitter = self.target.random().within(Duration::ZERO..pause / 10);
        self.next = self.target.now() + pause + jitter;
        let was_stale = self.stale_since.take().is_some();
        self.newest.learn(leader) || was_stale || !self.has_shown
    }

    /// Whether it was not stale before.
    fn grow_stale(&mut self) -> bool {
        if self.stale_since.is_some() {
            return false;
        }
        self.stale_since = Some(self.told.unwrap_or_else(|| self.target.now()));
        true
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer")
            .field("lock", &self.target.lock_name())
            .field("leader", &self.newest.leader())
            .field("stale_since", &self.stale_since)
            .finish_non_exhaustive()
    }
}

/// The shortest time between two looks, but for timers.
const PACE: Duration = Duration::from_millis(25);
/// The shortest sleep until a hold's end, which may be renewed just then.
const SHORTEST: Duration = Duration::from_millis(250);
/// The longest sleep without looking: a lost message costs no more than this.
const POLL_CAP: Duration = Duration::from_secs(15);
/// How long subscriptions are waited for before the first look.
const LISTEN_LIMIT: Duration = Duration::from_millis(500);
/// The pause before another look where no message can come, or a look had no answer.
const RETRY: Duration = Duration::from_secs(1);
