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
use tokio::time::sleep;

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
        let at_first = if self.has_met_them { OnOutage::Wait } else { OnOutage::FailAtFirst };
        let began = Instant::now();
        let decided = asked(&lock.clone().on_outage(at_first), self.patience).await;
        let left = self.patience.after(began.elapsed());
        match (decided, left) {
            (Err(young @ AcquireError::Quarantined { counts_in, .. }), left)
                if left != Patience::None && left.at_most(counts_in) == counts_in =>
            {
                note(format_args!("{young}; waiting"));
            }
            (Err(down @ AcquireError::Unavailable { .. }), Patience::For(_))
                if !self.is_held_by_another_sort(&down) => {}
            (decided, _) => return decided,
        }
        asked(&lock.on_outage(OnOutage::Wait), left).await
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

async fn asked(lock: &impl AnyLock, patience: Patience) -> Granted {
    let guard = match patience {
        Patience::None => lock.try_acquire().await?.map(Into::into),
        Patience::For(limit) => lock.try_acquire_for(limit).await?.map(Into::into),
        Patience::Forever => Some(lock.acquire().await?.into()),
    };
    Ok(guard)
}

/// How often to look whether those of another sort are gone.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(1);
