//! While the command runs: tells the supervisor how long the lock is safe, passes signals and the
//! terminal on, and stands in for the supervisor should that fail.

use std::{io, os::fd::AsFd, process::Child, time::Duration};

use palisade::{LockGuard, LostCause};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpgrp, kill_process_group, waitid};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::{alarm::HeldAlarm, outcome::Outcome, settings::Settings};
use crate::{
    boottime::{self, Alarm},
    duration,
    exit::Failure,
    processes,
    signals::Signals,
    supervisor::{Link, Order, Received, Report, SAFETY},
    tell,
    terminal::{self, Terminal},
};

/// What palisade knows of the command it runs.
pub(crate) struct Watch<'a> {
    guard: &'a LockGuard,
    grace: Duration,
    link: Link,
    supervisor: Child,
    /// The command's group, once it exists.
    group: Option<Pid>,
    /// Children we had before: of a shell that became us by exec. None of our business.
    spared: Vec<i32>,
    signals: Signals,
    looks: Interval,
    /// The deadline the supervisor was told last.
    told: Duration,
    /// When it is to have ended, whatever becomes of the lock.
    ends_at: Option<Duration>,
    /// Rings when the supervisor should have killed the group and has not.
    overdue: Alarm,
    lost: Option<LostCause>,
    terminal: Option<Terminal>,
    /// Whether the command is to have the terminal whenever our job has it.
    wants_terminal: bool,
    /// Whether the command's stop was asked for by a signal to us.
    asked_to_stop: bool,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(
        guard: &'a LockGuard,
        settings: &Settings,
        link: Link,
        supervisor: Child,
        signals: Signals,
        spared: Vec<i32>,
    ) -> io::Result<Self> {
        let mut looks = interval(settings.look_every());
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self {
            guard,
            grace: settings.grace,
            link,
            supervisor,
            group: None,
            spared,
            signals,
            looks,
            told: Duration::ZERO,
            ends_at: None,
            overdue: Alarm::new()?,
            lost: None,
            terminal: Terminal::open(),
            wants_terminal: terminal::is_wanted_from_the_start(),
            asked_to_stop: false,
        })
    }

    /// Has the command started, and watches until it and its group are dead. Leaves the supervisor to
    /// be [reaped](reap).
    pub(crate) async fn run(
        mut self,
        alarm: &mut HeldAlarm<'_>,
    ) -> (Result<Outcome, Failure>, Child) {
        self.ends_at = alarm.ends_at();
        let outcome = match self.begin() {
            Ok(()) => self.watch(alarm).await,
            Err(error) => Err(broken(error)),
        };
        if outcome.is_err() {
            // Whatever does not work here any more: the command must not go on without us.
            let _the_first_error_counts = self.stand_in(false, alarm.pid()).await;
        }
        if let Some(terminal) = &mut self.terminal {
            terminal.take_back();
            if !matches!(&outcome, Ok(outcome) if outcome.ended_well()) {
                terminal.repair();
            }
        }
        (outcome, self.supervisor)
    }

    /// The first word to the supervisor, with our standard input for the command.
    fn begin(&self) -> io::Result<()> {
        let deadline = Order::Deadline(self.deadline());
        self.link.send(&deadline.to_string(), Some(io::stdin().as_fd()))
    }

    async fn watch(&mut self, alarm: &mut HeldAlarm<'_>) -> Result<Outcome, Failure> {
        loop {
            tokio::select! {
                // What the supervisor says comes first: after we were stopped everything is due at
                // once, and it may have acted in our place.
                biased;
                received = self.link.receive() => match received.map_err(broken)? {
                    Some(Received { message, .. }) => {
                        let report = message.parse().map_err(|e| broken(io::Error::other(e)))?;
                        if let Some(outcome) = self.hear(report) {
                            return Ok(outcome);
                        }
                    }
                    None => return self.stand_in(false, alarm.pid()).await,
                },
                rung = self.overdue.rings() => {
                    rung.map_err(broken)?;
                    return self.stand_in(true, alarm.pid()).await;
                }
                cause = self.guard.lost(), if self.lost.is_none() => {
                    self.lose(cause).map_err(broken)?;
                }
                signal = self.signals.next() => self.obey(signal),
                _tick = self.looks.tick() => {
                    self.pass_on_deadline().map_err(broken)?;
                    alarm.look();
                }
            }
        }
    }

    /// Does what a report calls for; the outcome, if it was the last one.
    fn hear(&mut self, report: Report) -> Option<Outcome> {
        match report {
            Report::Ready(group) => {
                self.group = Some(group);
                self.lend_terminal();
                self.order(Order::Signal(Signal::CONT));
            }
            Report::Stopped(signal) => self.command_stopped(signal),
            Report::Asked if self.is_held_too_long() => tell(format_args!(
                "{} is held for as long as --max-hold allows: the command is asked to end, and killed in {}",
                self.guard.name(),
                duration::show(self.grace)
            )),
            Report::Asked => {
                let why = self.guard.not_renewed().map(|trouble| format!("{trouble}; "));
                tell(format_args!(
                    "{} cannot be renewed: {}the command is asked to end, and killed in {}",
                    self.guard.name(),
                    why.unwrap_or_default(),
                    duration::show(self.grace)
                ))
            }
            Report::Failed(why) => return Some(Outcome::NotStarted { why }),
            Report::Ended(ending) => {
                let at_terminal = self.terminal.as_ref().is_some_and(Terminal::is_lent);
                let held_too_long = self.is_held_too_long();
                let lost = self.lost.take();
                return Some(Outcome::Ended { ending, lost, at_terminal, held_too_long });
            }
        }
        None
    }

    /// Tells the supervisor the deadline, if it has moved. An order that does not get through is
    /// no danger: the supervisor goes by the last deadline it was told.
    fn pass_on_deadline(&mut self) -> io::Result<()> {
        let deadline = self.deadline();
        if deadline != self.told && self.lost.is_none() {
            self.told = deadline;
            self.order(Order::Deadline(deadline));
        }
        if self.lost.is_none() {
            self.overdue.set(self.overdue_at())?;
        }
        Ok(())
    }

    /// Until when the command may run, as far as is known now.
    fn deadline(&self) -> Duration {
        let deadline = self.guard.deadline().since_origin();
        self.ends_at.map_or(deadline, |ends_at| deadline.min(ends_at))
    }

    /// When the supervisor should have killed the group for sure. The end of --max-hold is not that of the lock: a
    /// supervisor that is late for it does no harm.
    fn overdue_at(&self) -> Duration {
        let by_lock = self.guard.deadline().since_origin().saturating_sub(SAFETY / 2);
        self.ends_at.map_or(by_lock, |ends_at| by_lock.min(ends_at.saturating_add(LATE)))
    }

    /// Whether the end that the supervisor was told last is that of --max-hold, and not the lock's.
    fn is_held_too_long(&self) -> bool {
        self.ends_at == Some(self.told)
    }

    fn lose(&mut self, cause: LostCause) -> io::Result<()> {
        self.lost = Some(cause);
        self.order(Order::Kill);
        self.overdue.set(boottime::now() + SAFETY)
    }

    fn obey(&mut self, signal: Signal) {
        if signal == Signal::CONT {
            self.lend_terminal();
        }
        self.asked_to_stop |= signal == Signal::TSTP;
        self.order(Order::Signal(signal));
    }

    /// Does as the command does, so that the shell sees its job stop.
    fn command_stopped(&mut self, signal: Signal) {
        let for_terminal = [Signal::TTIN, Signal::TTOU].contains(&signal);
        if for_terminal && self.is_in_foreground() {
            self.wants_terminal = true;
            self.lend_terminal();
            return self.order(Order::Signal(Signal::CONT));
        }
        let by_us = std::mem::take(&mut self.asked_to_stop);
        let by_terminal = for_terminal || self.terminal.as_ref().is_some_and(Terminal::is_lent);
        if !by_us && !by_terminal {
            // The command was stopped by hand, and will be continued so.
            return;
        }
        if processes::is_orphaned(getpgrp()).unwrap_or(true) {
            // No shell could continue us. Where we were not asked to stop the command, the kernel
            // would not have stopped it either, had it been in our place.
            if !by_us {
                self.undo_stop(for_terminal);
            }
            return;
        }
        if let Some(terminal) = &mut self.terminal {
            terminal.take_back();
        }
        // All of our job, as the terminal's own stop would. It goes on here after SIGCONT.
        let _cannot_fail = kill_process_group(getpgrp(), Signal::STOP);
    }

    fn undo_stop(&self, for_terminal: bool) {
        if for_terminal {
            // It would ask for the terminal again for ever.
            self.order(Order::Signal(Signal::HUP));
        }
        self.order(Order::Signal(Signal::CONT));
    }

    fn is_in_foreground(&self) -> bool {
        self.terminal.as_ref().is_some_and(Terminal::is_ours)
    }

    fn lend_terminal(&mut self) {
        if let (true, Some(terminal), Some(group)) =
            (self.wants_terminal, &mut self.terminal, self.group)
        {
            terminal.lend(group);
        }
    }

    /// Ends the command in the supervisor's place: it has died, or does not act in time.
    async fn stand_in(&mut self, overdue: bool, alarm: Option<i32>) -> Result<Outcome, Failure> {
        // Its children become ours.
        let _has_ended = self.supervisor.kill();
        self.spared.extend(alarm);
        let undead = processes::extinguish(self.group, &self.spared).await.map_err(broken)?;
        let lost = self.lost.take();
        Ok(Outcome::StoodIn { overdue, lost, undead })
    }

    fn order(&self, order: Order) {
        // To a supervisor that is stopped, or has ended: both are noticed otherwise.
        let _not_heard = self.link.send(&order.to_string(), None);
    }
}

/// How late a supervisor may be that ends a command for --max-hold.
const LATE: Duration = Duration::from_secs(5);

/// Leaves no zombies to an init that may not reap them, as in many a container.
pub(crate) async fn reap(mut supervisor: Child) {
    // It ends right after its last word; the dead it has left become our children.
    processes::until_ended(&mut supervisor, SAFETY).await;
    while let Ok(Some(_)) = waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {}
}

fn broken(error: io::Error) -> Failure {
    Failure::system("cannot watch the command", error)
}
