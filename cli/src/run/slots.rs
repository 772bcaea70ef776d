//! Permits of a semaphore in place of a lock: as many jobs at once as there are slots.

use std::{
    cell::Cell,
    future::pending,
    time::{Duration, Instant},
};

use palisade::{
    AcquireError, ExpirableSemaphore, Lease, OnOutage,
    error::{ChangeError, InspectError},
    semaphore::ExpirableGuard,
};
use tokio::time::sleep;

use super::{
    settings::{Patience, Settings},
    waiting::{BEFORE_SAYING, BETWEEN_LINES},
    wanted::LOOK_EVERY,
};
use crate::{
    args::LockArgs,
    env,
    exit::{self, End, Failure},
    hold::Hold,
    note, refusal, said,
    servers::Servers,
    signals::Signals,
    sort::Sort,
};

/// What only one server can do, and how many of how many permits can be had.
pub(crate) fn check(args: &LockArgs, servers: usize) -> Result<(), Failure> {
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
    args: &'a LockArgs,
    semaphore: ExpirableSemaphore,
    count: u32,
    of: u32,
    patience: Patience,
    /// Whether the server has said that there are permits.
    are_set: Cell<bool>,
}

impl<'a> Slots<'a> {
    /// What is asked for, if it is permits: on the only server.
    pub(crate) fn wanted(
        args: &'a LockArgs,
        settings: &Settings,
        servers: &Servers,
    ) -> Option<Self> {
        let ((count, of), [only]) = (args.permits.zip(args.of)?, servers.masters().clients())
        else {
            return None;
        };
        let semaphore = only.expirable_semaphore(&args.name);
        let semaphore = semaphore.with_lease(Lease::WatchdogOf(settings.lease));
        let are_set = Cell::new(false);
        Some(Self { args, semaphore, count, of, patience: settings.patience, are_set })
    }

    /// Acquires them, or says why not.
    pub(crate) async fn acquire(&self, signals: &mut Signals) -> Result<Hold, Failure> {
        tokio::select! {
            granted = self.set_and_ask() => granted,
            signal = signals.next() => Err(Failure::signalled(signal)),
            failure = self.look_meanwhile() => Err(failure),
        }
    }

    async fn set_and_ask(&self) -> Result<Hold, Failure> {
        let began = Instant::now();
        // A server that is down is waited for by the limit, as it is with locks.
        while let Err(failure) = self.set().await {
            if failure.end() != End::Code(exit::UNAVAILABLE) || !self.is_patient_at(began.elapsed())
            {
                return Err(failure);
            }
            sleep(self.patience.after(began.elapsed()).at_most(LOOK_EVERY)).await;
        }
        self.refuse_our_own().await?;
        match self.ask(self.patience.after(began.elapsed())).await {
            Ok(Some(guard)) => {
                let ids = guard.permit_ids().collect();
                Ok(Hold { guard: guard.into(), ids })
            }
            Ok(None) => Err(self.held_elsewhere().await),
            Err(error) => Err(refusal::of_acquire(&error, true)),
        }
    }

    /// Whether a limit was given that is not over yet.
    fn is_patient_at(&self, time: Duration) -> bool {
        matches!(self.patience.after(time), Patience::For(_))
    }

    /// Sets how many there are, unless that was done; it must have been the same number.
    async fn set(&self) -> Result<(), Failure> {
        let failed = |error: ChangeError| Failure::new(refusal::of_change(&error), said(&error));
        if !self.semaphore.try_set_permits(self.of).await.map_err(failed)?
            && let Some(total) = self.total().await?
        {
            self.check_total(total)?;
        }
        self.are_set.set(true);
        Ok(())
    }

    async fn total(&self) -> Result<Option<i64>, Failure> {
        self.semaphore.total().await.map_err(|error| unanswered(&error))
    }

    fn check_total(&self, total: i64) -> Result<(), Failure> {
        let (name, of) = (&self.args.name, self.of);
        if total == i64::from(of) {
            return Ok(());
        }
        Err(Failure::usage(format_args!(
            "{name} has {total} permits, not {of}: --of must be the same for all; `palisade permits` sets another number"
        )))
    }

    /// Those of a palisade we were started from are only given back after we have ended.
    async fn refuse_our_own(&self) -> Result<(), Failure> {
        let outer = env::outer_holders();
        if outer.is_empty() {
            return Ok(());
        }
        let held = self.semaphore.holders().await.map_err(|error| unanswered(&error))?;
        let ours = held.iter().filter(|permit| outer.contains(&permit.id)).count();
        let (count, of, name) = (self.count, self.of, &self.args.name);
        if ours + usize::try_from(count).unwrap_or(usize::MAX) <= usize::try_from(of).unwrap_or(0) {
            return Ok(());
        }
        Err(Failure::usage(format_args!(
            "{ours} of the {of} permits of {name} are already held by the palisade that this command runs \
             under: waiting for {count} would never end"
        )))
    }

    /// The server has answered before: an outage is waited for from here on.
    async fn ask(&self, patience: Patience) -> Result<Option<ExpirableGuard>, AcquireError> {
        let semaphore = self.semaphore.clone().on_outage(OnOutage::Wait);
        match patience {
            Patience::None => semaphore.try_acquire_many(self.count).await,
            Patience::For(limit) => semaphore.try_acquire_many_for(self.count, limit).await,
            Patience::Forever => semaphore.acquire_many(self.count).await.map(Some),
        }
    }

    /// Says what is to be said while they are waited for. Completes only if waiting is pointless.
    async fn look_meanwhile(&self) -> Failure {
        if self.patience == Patience::None {
            return pending().await;
        }
        let name = &self.args.name;
        let (mut is_left_said, mut outage_said) = (false, None::<Instant>);
        let mut pause = BEFORE_SAYING;
        loop {
            sleep(pause).await;
            pause = BETWEEN_LOOKS;
            match self.look(&mut is_left_said).await {
                Ok(Some(told)) => note(format_args!("waiting for {name}: {told}")),
                Ok(None) => {}
                Err(outage) if outage.end() == End::Code(exit::UNAVAILABLE) => {
                    if outage_said.is_none_or(|at| at.elapsed() >= BETWEEN_LINES) {
                        outage_said = Some(Instant::now());
                        note(format_args!("waiting: {}", outage.message().unwrap_or_default()));
                    }
                }
                Err(pointless) => return pointless,
            }
        }
    }

    /// How many are left, which is said once. If the server has lost them they are set anew: no other process might do it.
    async fn look(&self, is_left_said: &mut bool) -> Result<Option<String>, Failure> {
        match self.total().await? {
            Some(total) if *is_left_said => self.check_total(total).map(|()| None),
            Some(total) => {
                self.check_total(total)?;
                let told = self.told().await;
                *is_left_said = told.is_some();
                Ok(told)
            }
            None if self.are_set.get() => {
                self.set().await?;
                let all = self.of;
                Ok(Some(format!("the server has lost its permits; they were set anew, all {all}")))
            }
            // They are about to be.
            None => Ok(None),
        }
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

fn unanswered(error: &InspectError) -> Failure {
    Failure::new(refusal::of_inspect(error), said(error))
}

/// How often to look whether the server still knows of the permits.
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);
