//! Permits of a semaphore in place of a lock: as many jobs at once as there are slots.

use std::{
    convert::Infallible,
    time::{Duration, Instant},
};

use palisade::{
    AcquireError, ExpirableSemaphore, Lease, LockGuard, OnOutage,
    error::{ChangeError, InspectError},
};
use tokio::time::sleep;

use super::{
    settings::{Patience, Settings},
    waiting::BEFORE_SAYING,
    wanted::LOOK_EVERY,
};
use crate::{
    args::RunArgs,
    exit::{self, End, Failure},
    note, refusal, said,
    servers::Servers,
    signals::Signals,
    sort::Sort,
};

/// What only one server can do, and how many of how many permits can be had.
pub(super) fn check(args: &RunArgs, servers: usize) -> Result<(), Failure> {
    let needs = match args.permits {
        Some(_) => Some("--permits needs one server"),
        None => {
            (args.sort() == Sort::Fair && !args.all).then_some("--fair needs one server or --all")
        }
    };
    if let (Some(needs), 2..) = (needs, servers) {
        return Err(Failure::usage(format_args!(
            "{needs}: {servers} of them would each keep a count or a queue of their own"
        )));
    }
    match args.permits.zip(args.of) {
        Some((count, of)) if count > of => {
            Err(Failure::usage(format_args!("--permits {count} of {of} are never to be had")))
        }
        _ => Ok(()),
    }
}

/// Some permits of all.
#[derive(Debug)]
pub(crate) struct Slots<'a> {
    args: &'a RunArgs,
    semaphore: ExpirableSemaphore,
    count: u32,
    of: u32,
    patience: Patience,
}

impl<'a> Slots<'a> {
    /// What is asked for, if it is permits: on the only server.
    pub(crate) fn wanted(
        args: &'a RunArgs,
        settings: &Settings,
        servers: &Servers,
    ) -> Option<Self> {
        let ((count, of), [only]) = (args.permits.zip(args.of)?, servers.masters().clients())
        else {
            return None;
        };
        let semaphore = only.expirable_semaphore(&args.name);
        let semaphore = semaphore.with_lease(Lease::WatchdogOf(settings.lease));
        Some(Self { args, semaphore, count, of, patience: settings.patience })
    }

    /// Acquires them, or says why not.
    pub(crate) async fn acquire(&self, signals: &mut Signals) -> Result<LockGuard, Failure> {
        tokio::select! {
            granted = self.set_and_ask() => granted,
            signal = signals.next() => Err(Failure::signalled(signal)),
            never = self.say_who_has_them() => match never {},
        }
    }

    async fn set_and_ask(&self) -> Result<LockGuard, Failure> {
        let began = Instant::now();
        // A server that is down is waited for by the limit, as it is with locks.
        while let Err(failure) = self.set().await {
            if failure.end() != End::Code(exit::UNAVAILABLE) || !self.is_patient_at(began.elapsed())
            {
                return Err(failure);
            }
            sleep(self.patience.after(began.elapsed()).at_most(LOOK_EVERY)).await;
        }
        match self.ask(self.patience.after(began.elapsed())).await {
            Ok(Some(guard)) => Ok(guard),
            Ok(None) => Err(self.held_elsewhere().await),
            Err(error) => Err(refusal::of_acquire(&error, true)),
        }
    }

    /// Whether a limit was given that is not over yet.
    fn is_patient_at(&self, time: Duration) -> bool {
        matches!(self.patience.after(time), Patience::For(_))
    }

    /// Sets how many there are, unless somebody has; who did must have meant the same.
    async fn set(&self) -> Result<(), Failure> {
        let failed = |error: ChangeError| Failure::new(refusal::of_change(&error), said(&error));
        if self.semaphore.try_set_permits(self.of).await.map_err(failed)? {
            return Ok(());
        }
        let failed = |error: InspectError| Failure::new(refusal::of_inspect(&error), said(&error));
        match self.semaphore.total().await.map_err(failed)? {
            Some(total) if total != i64::from(self.of) => Err(Failure::usage(format_args!(
                "{} has {total} permits, not {}: --of must be the same for all",
                self.args.name, self.of
            ))),
            _ => Ok(()),
        }
    }

    /// The server has answered before: an outage is waited for from here on.
    async fn ask(&self, patience: Patience) -> Result<Option<LockGuard>, AcquireError> {
        let semaphore = self.semaphore.clone().on_outage(OnOutage::Wait);
        let guard = match patience {
            Patience::None => semaphore.try_acquire_many(self.count).await?,
            Patience::For(limit) => semaphore.try_acquire_many_for(self.count, limit).await?,
            Patience::Forever => Some(semaphore.acquire_many(self.count).await?),
        };
        Ok(guard.map(Into::into))
    }

    async fn say_who_has_them(&self) -> Infallible {
        sleep(BEFORE_SAYING).await;
        if self.patience != Patience::None
            && let Some(told) = self.told().await
        {
            note(format_args!("waiting for {}: {told}", self.args.name));
        }
        std::future::pending().await
    }

    async fn held_elsewhere(&self) -> Failure {
        let (code, name) = (self.args.conflict_exit_code, &self.args.name);
        if code == 0 {
            return Failure::silent(code);
        }
        let told = self.told().await.unwrap_or_else(|| "too few permits are left".to_owned());
        Failure::new(code, format_args!("{name}: {told}"))
    }

    async fn told(&self) -> Option<String> {
        let left = self.semaphore.permits().await.ok()?;
        Some(format!("{} of {} permits are left", left.max(0), self.of))
    }
}
