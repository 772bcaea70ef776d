//! The lock that `palisade run` wants: which one of its name, on which servers, and for how long it waits.

use std::{
    future::Future,
    pin::Pin,
    time::{Duration, Instant},
};

use palisade::{
    AcquireError, AnyLock, Lease, LockGuard, MultiLock, OnOutage,
    error::{ConfigError, NodeError, Vote},
    waiting::{Backoff, WaitStrategy},
};
use tokio::time::{sleep, timeout};

use super::settings::{Patience, Settings};
use crate::{args::LockArgs, note, servers::Servers, sort::Sort};

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) name: &'a str,
    pub(crate) sort: Sort,
    /// On all servers, not on a majority.
    pub(crate) all: bool,
    /// With a token, on one server too.
    is_fenced: bool,
    lease: Duration,
    patience: Patience,
    /// Whether enough servers have answered before.
    has_met_them: bool,
}

type Granted = Result<Option<LockGuard>, AcquireError>;

impl<'a> Wanted<'a> {
    pub(crate) fn of(args: &'a LockArgs, settings: &Settings) -> Self {
        let (lease, patience) = (settings.lease, settings.patience);
        Self {
            name: &args.name,
            sort: args.sort(),
            all: args.all,
            is_fenced: args.proclaim.is_some(),
            lease,
            patience,
            has_met_them: false,
        }
    }

    /// Acquires it with a renewed lease. `None`: another holds it.
    ///
    /// Too few servers are an error at once, except where a limit is given: then at its end. Once enough of
    /// them have answered, an outage is waited for as anything else is.
    pub(crate) async fn acquire(self, servers: &Servers) -> Granted {
        let began = Instant::now();
        let mut has_met_them = false;
        loop {
            let patience = self.patience.after(began.elapsed());
            let wanted = Self { patience, has_met_them, ..self };
            match wanted.ask(servers).await {
                Err(error) if self.is_held_by_another_sort(&error) => has_met_them = true,
                decided => return decided,
            }
            if wanted.patience == Patience::None {
                return Ok(None);
            }
            // Those of another sort announce what we do not hear.
            sleep(wanted.patience.at_most(LOOK_EVERY)).await;
        }
    }

    /// With one server the lock there; over several it is fenced if it can be: there a token costs nothing,
    /// while on one it would leave a counter behind for ever.
    async fn ask(self, servers: &Servers) -> Granted {
        let (name, masters) = (self.name, servers.masters());
        let clients = masters.clients();
        let queueing = || clients.iter().map(|client| client.fair_lock(name));
        let asking: Pin<Box<dyn Future<Output = Granted>>> = match (self.sort, clients, self.all) {
            (Sort::Plain, [only], _) if self.is_fenced => {
                Box::pin(self.ask_for(only.fenced_lock(name)))
            }
            (Sort::Plain, [only], _) => Box::pin(self.ask_for(only.lock(name))),
            (Sort::Fair, [only], _) => Box::pin(self.ask_for(only.fair_lock(name))),
            (Sort::Fair, _, true) => Box::pin(self.ask_for(MultiLock::new(queueing())?)),
            (Sort::Plain, _, true) => Box::pin(self.ask_for(masters.fenced_multi_lock(name))),
            // No majority has a queue: that was refused before.
            (Sort::Plain | Sort::Fair, _, false) => {
                Box::pin(self.ask_for(masters.fenced_red_lock(name)))
            }
            (Sort::Exclusive, [only], _) => Box::pin(self.ask_for(only.rw_lock(name).write())),
            (Sort::Exclusive, _, true) => Box::pin(self.ask_for(masters.multi_write_lock(name))),
            (Sort::Exclusive, _, false) => Box::pin(self.ask_for(masters.red_write_lock(name))),
            (Sort::Shared, [only], _) => Box::pin(self.ask_for(only.rw_lock(name).read())),
            (Sort::Shared, _, true) => Box::pin(self.ask_for(masters.multi_read_lock(name))),
            (Sort::Shared, _, false) => Box::pin(self.ask_for(masters.red_read_lock(name))),
        };
        asking.await
    }

    /// Servers that are too young to vote are a word at once, and then waited for as anything else is.
    async fn ask_for(self, lock: impl AnyLock) -> Granted {
        let lock = lock.with_lease(Lease::WatchdogOf(self.lease)).wait_strategy(self.strategy()?);
        let began = Instant::now();
        let guard = match (self.patience, self.first_attempt(&lock).await) {
            (Patience::None, at_once) => at_once?,
            (_, Ok(Some(guard))) => Some(guard),
            (Patience::For(limit), Err(young @ AcquireError::Quarantined { counts_in, .. }))
                if limit < counts_in =>
            {
                return Err(young);
            }
            (patience, at_once) => {
                match at_once {
                    Err(young @ AcquireError::Quarantined { .. }) => {
                        note(format_args!("{young}; waiting"));
                    }
                    Err(error) if patience == Patience::Forever && !self.has_met_them => {
                        return Err(error);
                    }
                    _ => {}
                }
                match patience {
                    Patience::For(limit) => {
                        // Of nothing it would be one attempt, for as long as that takes.
                        let left = limit.saturating_sub(began.elapsed()).max(LEAST);
                        lock.try_acquire_for(left).await?
                    }
                    _ => Some(lock.on_outage(OnOutage::Wait).acquire().await?),
                }
            }
        };
        Ok(guard.map(Into::into))
    }

    /// As long as there is time; what came of it by then is asked again.
    async fn first_attempt<L: AnyLock>(self, lock: &L) -> Result<Option<L::Guard>, AcquireError> {
        match self.patience {
            Patience::For(limit) => {
                timeout(limit, lock.try_acquire()).await.unwrap_or_else(|_elapsed| Ok(None))
            }
            Patience::None | Patience::Forever => lock.try_acquire().await,
        }
    }

    fn strategy(self) -> Result<WaitStrategy, ConfigError> {
        Ok(match self.sort {
            // They look alike, and neither announces its end where the other listens.
            Sort::Plain | Sort::Fair => {
                WaitStrategy::ListenAndPoll(Backoff::new(LOOK_EVERY, LOOK_EVERY)?)
            }
            Sort::Exclusive | Sort::Shared => WaitStrategy::Listen,
        })
    }

    /// Whether enough servers refused it since it is held there, and some of them as another sort of lock.
    fn is_held_by_another_sort(&self, error: &AcquireError) -> bool {
        let (AcquireError::Unavailable { ballot, .. } | AcquireError::Denied { ballot, .. }) =
            error
        else {
            return false;
        };
        let of_another_sort = |vote: &Vote| matches!(vote, Vote::Failed(NodeError::OtherKind));
        let is_held = |vote: &Vote| of_another_sort(vote) || matches!(vote, Vote::Refused { .. });
        let votes = || ballot.iter().map(|(_, vote)| vote);
        let (asked, held) = (votes().count(), votes().filter(|vote| is_held(vote)).count());
        let need = if self.all { asked } else { asked / 2 + 1 };
        held > asked - need && votes().any(of_another_sort)
    }
}

/// What an attempt is given that comes after the limit, to say what it met.
const LEAST: Duration = Duration::from_millis(1);
/// How often to look whether those of another sort are gone.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(1);
