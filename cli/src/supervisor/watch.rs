//! What the supervisor does while the command runs, and until its group is dead.

use std::{ffi::OsString, io, ops::ControlFlow, os::fd::OwnedFd, time::Duration};

use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid},
};
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

use super::{
    launch,
    link::{Link, Received},
    messages::{Cause, Ending, Fate, Order, Report},
    schedule::{Schedule, Step},
    unit::{Sent, Unit, Way},
};
use crate::{
    boottime::{self, Alarm},
    processes,
    signals::{ENDING, Signals},
    tell,
};

/// What the supervisor knows.
#[derive(Debug)]
pub(super) struct Watch {
    schedule: Schedule,
    alarm: Alarm,
    signals: Signals,
    children: Stream,
    unit: Unit,
    /// Those that the command was not sent a second time.
    spared: Vec<Signal>,
    /// The command, leader of its group, once it exists. It is never reaped here: see
    /// [`processes`].
    command: Option<Pid>,
    /// Whether the command's process has stopped itself, ready to begin.
    began: bool,
    /// What the command came to. The rest of its group may live on for a moment.
    fate: Option<Fate>,
    /// Until then what the command has left in its group may leave it.
    leaving: Option<Duration>,
    cause: Cause,
    left_behind: usize,
}

/// What can happen.
#[derive(Debug)]
enum Event {
    Order(Order),
    PalisadeEnded,
    /// A child has stopped, ended, or came to us as an orphan and ended.
    Child,
    Signal(Signal),
    /// The alarm rang, or it is time to look at the remains of the group.
    Look,
}

impl Watch {
    /// Listens already, so that nothing is missed of a command that is started next.
    pub(super) fn new(deadline: Duration, grace: Duration) -> io::Result<Self> {
        let mut signals = Signals::listen(&ENDING)?;
        signals.also(&[Signal::USR1, Signal::USR2])?;
        signals.also(&KEPT_OUT)?;
        Ok(Self {
            schedule: Schedule::new(deadline, grace),
            alarm: Alarm::new()?,
            signals,
            children: signal(SignalKind::child())?,
            unit: Unit::default(),
            spared: Vec::new(),
            command: None,
            began: false,
            fate: None,
            leaving: None,
            cause: Cause::Itself,
            left_behind: 0,
        })
    }

    pub(super) fn start(&mut self, command: &[OsString], stdin: Option<OwnedFd>) -> io::Result<()> {
        self.command = Some(launch::start(stdin, command)?);
        Ok(())
    }

    /// Watches until the group is dead.
    ///
    /// # Errors
    /// The system refused something; the group was sent SIGKILL.
    pub(super) async fn run(&mut self, link: &Link) -> io::Result<Ending> {
        let ending = self.until_dead(link).await;
        if ending.is_err() {
            self.send(Signal::KILL);
        }
        ending
    }

    async fn until_dead(&mut self, link: &Link) -> io::Result<Ending> {
        let mut link = Some(link);
        loop {
            // Orders first: a deadline that has moved counts, however late we come to read of it,
            // as after being stopped ourselves.
            while let Some(received) = link.and_then(Link::receive_now) {
                if self.heed(order(received?)?, &mut link)?.is_break() {
                    return self.kill().await;
                }
            }
            match self.schedule.due(boottime::now()) {
                Step::Kill => return self.kill().await,
                Step::Ask => {
                    self.ask(link);
                    continue;
                }
                Step::Wait(until) => self.alarm.set(until)?,
            }
            if self.fate.is_some() && !self.others_live()? {
                return self.finish().await;
            }
            let event = self.next_event(link).await?;
            if self.heed(event, &mut link)?.is_break() {
                return self.kill().await;
            }
        }
    }

    async fn next_event(&mut self, link: Option<&Link>) -> io::Result<Event> {
        let held = self.unit.due_at().map(|until| until.saturating_sub(boottime::now()));
        tokio::select! {
            received = next_message(link) => order(received?),
            _signal = self.children.recv() => Ok(Event::Child),
            signal = self.signals.next() => Ok(Event::Signal(signal)),
            rung = self.alarm.rings() => rung.map(|()| Event::Look),
            // The end of members of the group that are not our children is not told to us.
            () = tokio::time::sleep(processes::GLANCE), if self.fate.is_some() => Ok(Event::Look),
            () = tokio::time::sleep(held.unwrap_or_default()), if held.is_some() => Ok(Event::Look),
        }
    }

    /// Does what an event calls for. `Break`: the lock is gone.
    fn heed(&mut self, event: Event, link: &mut Option<&Link>) -> io::Result<ControlFlow<()>> {
        match event {
            Event::Order(Order::Deadline(deadline)) => self.schedule.deadline_moved(deadline),
            Event::Order(Order::Signal(signal)) => self.pass_on(signal, Way::Palisade),
            Event::Order(Order::Kill) => {
                self.blame(Cause::Gone);
                return Ok(ControlFlow::Break(()));
            }
            Event::Signal(signal) if KEPT_OUT.contains(&signal) => {}
            Event::Signal(signal) => self.pass_on(signal, Way::Supervisor),
            Event::PalisadeEnded => {
                *link = None;
                self.carry_on_alone();
            }
            Event::Child => self.look_at_children(*link)?,
            Event::Look => {
                if let Some(signal) = self.unit.due(boottime::now()) {
                    self.send(signal);
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// SIGTERM, and SIGCONT so that a stopped group gets to see it.
    fn ask(&mut self, link: Option<&Link>) {
        if self.fate.is_none() {
            self.blame(Cause::Deadline);
            report(link, &Report::Asked);
        }
        self.send(Signal::TERM);
        self.send(Signal::CONT);
    }

    /// The group is dead. What left it is a daemon if the command has ended by itself; if it was
    /// ended, that was for the sake of everything it has started.
    async fn finish(&mut self) -> io::Result<Ending> {
        if self.cause == Cause::Itself { Ok(self.ending(Vec::new())) } else { self.kill().await }
    }

    async fn kill(&mut self) -> io::Result<Ending> {
        self.blame(Cause::Deadline);
        let mut undead = processes::extinguish(self.command, &[]).await?;
        undead.truncate(MOST_NAMED);
        if self.fate.is_none() {
            self.fate = self.status(WaitIdOptions::EXITED)?.as_ref().and_then(fate);
        }
        Ok(self.ending(undead))
    }

    /// Notes why the command is ended, unless it has ended or is being ended already.
    fn blame(&mut self, cause: Cause) {
        if self.cause == Cause::Itself && self.fate.is_none() {
            self.cause = cause;
        }
    }

    fn ending(&self, undead: Vec<i32>) -> Ending {
        Ending {
            fate: self.fate.unwrap_or(Fate::Signalled(Signal::KILL.as_raw())),
            cause: self.cause,
            left_behind: self.left_behind,
            undead,
        }
    }

    fn carry_on_alone(&mut self) {
        if self.fate.is_none() {
            tell("killed; the command is asked to end too");
            self.blame(Cause::Orphaned);
        }
        self.schedule.end_now(boottime::now());
    }

    fn look_at_children(&mut self, link: Option<&Link>) -> io::Result<()> {
        if self.fate.is_some() {
            return Ok(());
        }
        if let Some(status) = self.status(WaitIdOptions::EXITED)? {
            self.fate = fate(&status);
            self.await_the_rest();
            return Ok(());
        }
        if let Some(status) = self.status(WaitIdOptions::STOPPED)? {
            self.stopped(&status, link)?;
        }
        self.reap_orphans()
    }

    /// The command has ended by itself. What it left running in its group would run without the lock, so it is
    /// ended first: but a daemon's parent may end before the daemon has a session of its own.
    fn await_the_rest(&mut self) {
        let patience =
            if matches!(self.fate, Some(Fate::Exited(_))) { TO_LEAVE } else { Duration::ZERO };
        self.leaving = Some(boottime::now() + patience);
    }

    /// Whether any of the group is alive, now that the command has ended; ends it if it had time to leave.
    fn others_live(&mut self) -> io::Result<bool> {
        let living = self.living()?;
        if living > 0 && self.leaving.take_if(|until| boottime::now() >= *until).is_some() {
            self.left_behind = living;
            self.schedule.end_now(boottime::now());
        }
        Ok(living > 0)
    }

    fn stopped(&mut self, status: &WaitIdStatus, link: Option<&Link>) -> io::Result<()> {
        if let Some(command) = self.command {
            // Now for good, to be told of the next stop.
            waitid(WaitId::Pid(command), WaitIdOptions::STOPPED | WaitIdOptions::NOHANG)?;
            if std::mem::replace(&mut self.began, true) {
                let signal = status.stopping_signal().and_then(Signal::from_named_raw);
                report(link, &Report::Stopped(signal.unwrap_or(Signal::STOP)));
            } else {
                report(link, &Report::Ready(command));
            }
        }
        Ok(())
    }

    /// The command's status, without reaping it.
    fn status(&self, of: WaitIdOptions) -> io::Result<Option<WaitIdStatus>> {
        let Some(command) = self.command else { return Ok(None) };
        waited(command, of)
    }

    /// Reaps the processes that came to us because their parents ended, but never the command.
    fn reap_orphans(&self) -> io::Result<()> {
        if self.command.is_some_and(processes::is_only_child) {
            return Ok(());
        }
        for child in processes::children()?.into_iter().filter(|it| !it.alive) {
            if let Some(pid) = Pid::from_raw(child.pid).filter(|pid| Some(*pid) != self.command) {
                waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG)?;
            }
        }
        Ok(())
    }

    /// How many of the group are alive, now that the command has ended.
    fn living(&self) -> io::Result<usize> {
        match self.command {
            Some(group) if !processes::is_only_child(group) => {
                Ok(processes::living_members(group)?.len())
            }
            _ => Ok(0),
        }
    }

    /// Passes a signal on to the command, unless it has got it with the rest of its unit.
    fn pass_on(&mut self, signal: Signal, way: Way) {
        if !ENDING.contains(&signal) {
            return self.send(signal);
        }
        match self.unit.hear(signal, way, boottime::now()) {
            None => {}
            Some(Sent::ToOne(signal)) => self.send(signal),
            Some(Sent::ToBoth(signal)) if self.has_got(signal) => self.spared.push(signal),
            Some(Sent::ToBoth(signal)) => self.send(signal),
        }
    }

    /// Whether the command seems to have got a signal that was sent to both of us: one that does not catch it
    /// would be dead. Once: what was meant for the two of us alone gets through when it is repeated.
    fn has_got(&self, signal: Signal) -> bool {
        let catches = self.command.is_some_and(|command| processes::catches(command, signal));
        catches && !self.spared.contains(&signal)
    }

    fn send(&self, signal: Signal) {
        if let Some(group) = self.command {
            // A group without a process to signal is no error.
            let _nobody_left = kill_process_group(group, signal);
        }
    }
}

/// What a child of ours has to tell, without reaping it.
fn waited(pid: Pid, of: WaitIdOptions) -> io::Result<Option<WaitIdStatus>> {
    match waitid(WaitId::Pid(pid), of | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT) {
        // A child that died since it was last asked has no stops to tell, which the kernel calls
        // having no such child.
        Err(Errno::CHILD) if !of.contains(WaitIdOptions::EXITED) => Ok(None),
        other => Ok(other?),
    }
}

async fn next_message(link: Option<&Link>) -> io::Result<Option<Received>> {
    match link {
        Some(link) => link.receive().await,
        None => std::future::pending().await,
    }
}

/// A message, or the end of the link, as an event.
fn order(received: Option<Received>) -> io::Result<Event> {
    match received {
        Some(Received { message, .. }) => {
            message.parse().map(Event::Order).map_err(io::Error::other)
        }
        None => Ok(Event::PalisadeEnded),
    }
}

fn report(link: Option<&Link>, what: &Report) {
    if let Some(link) = link {
        // If palisade has ended, the link says so by itself.
        let _nobody_listens = link.send(&what.to_string(), None);
    }
}

fn fate(status: &WaitIdStatus) -> Option<Fate> {
    let exited = status.exit_status().map(Fate::Exited);
    exited.or_else(|| status.terminating_signal().map(Fate::Signalled))
}

/// So long a process may take from its parent's end to `setsid`: a loaded machine gives it its turn late.
const TO_LEAVE: Duration = Duration::from_secs(1);

/// So many undead fit into a message.
const MOST_NAMED: usize = 32;

/// Signals that would stop the supervisor, and with it the only thing that ends the group in time.
const KEPT_OUT: [Signal; 3] = [Signal::TSTP, Signal::TTIN, Signal::TTOU];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_child_has_nothing_to_tell_to_one_who_asks_for_stops() {
        let mut child = std::process::Command::new("true").spawn().expect("true is there");
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a number");
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).expect("it ends");
        assert!(waited(pid, WaitIdOptions::STOPPED).expect("no error").is_none());
        let both = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        assert!(waited(pid, both).expect("no error").is_some_and(|status| status.exited()));
        child.wait().expect("not reaped before");
    }
}
