//! The controlling terminal: lent to the command's group, taken back when it stops or ends.

use std::{
    fs::{File, OpenOptions},
    io,
};

use nix::sys::signal::{SigSet, SigmaskHow, Signal as Masked};
use rustix::{
    process::{Pid, getpgrp},
    termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp},
};

use crate::processes;

/// The terminal of our session.
pub(crate) struct Terminal {
    tty: File,
    /// The process it was lent to.
    lent: Option<Pid>,
    /// How it was set when it was lent.
    modes: Option<Termios>,
}

impl Terminal {
    /// The controlling terminal; `None` where there is none: under cron, systemd, ssh without -t.
    pub(crate) fn open() -> Option<Self> {
        let tty = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        Some(Self { tty, lent: None, modes: None })
    }

    /// Whether our own job is in the foreground.
    pub(crate) fn is_ours(&self) -> bool {
        tcgetpgrp(&self.tty).is_ok_and(|foreground| foreground == getpgrp())
    }

    /// Whether the command has it.
    pub(crate) fn is_lent(&self) -> bool {
        self.lent.is_some_and(|group| tcgetpgrp(&self.tty).is_ok_and(|it| it == group))
    }

    /// Makes `group` the foreground, if we are: a job in the background has nothing to lend.
    pub(crate) fn lend(&mut self, group: Pid) {
        if self.is_ours() && undisturbed(|| tcsetpgrp(&self.tty, group)).is_ok() {
            self.modes = self.modes.take().or_else(|| tcgetattr(&self.tty).ok());
            self.lent = Some(group);
        }
    }

    /// Puts us back into the foreground, unless a shell has given the terminal to another job.
    pub(crate) fn take_back(&mut self) {
        let Some(group) = self.lent.take() else { return };
        let Ok(foreground) = tcgetpgrp(&self.tty) else { return };
        // A shell run as the command leaves the terminal to a group of its own that died with it.
        let dead = || processes::living_members(foreground).is_ok_and(|alive| alive.is_empty());
        if foreground == group || dead() {
            let _terminal_hung_up = undisturbed(|| tcsetpgrp(&self.tty, getpgrp()));
        }
    }

    /// Sets the terminal as it was before the command had it: one that was killed in the middle
    /// of a full screen cannot do it itself.
    pub(crate) fn repair(&mut self) {
        if let Some(modes) = self.modes.take().filter(|_| self.is_ours()) {
            // Now: output that ^S holds back would have to drain first.
            let _terminal_hung_up =
                undisturbed(|| tcsetattr(&self.tty, OptionalActions::Now, &modes));
        }
    }
}

/// Does something to the terminal that the kernel would stop us for in the background.
///
/// It does not stop a process that ignores or blocks SIGTTOU. A handler does not help: the call
/// fails with EINTR or, restarted, never ends.
pub(crate) fn undisturbed<T>(act: impl FnOnce() -> T) -> T {
    let mut ttou = SigSet::empty();
    ttou.add(Masked::SIGTTOU);
    let before = ttou.thread_swap_mask(SigmaskHow::SIG_BLOCK);
    let done = act();
    if let Ok(before) = before {
        let _a_valid_mask = before.thread_set_mask();
    }
    done
}

/// Whether the command will look for its user on the terminal: it reads there and writes there.
///
/// In `palisade run … | less` it does not, and less needs the terminal: the command gets it when
/// it first asks for it.
pub(crate) fn is_wanted_from_the_start() -> bool {
    use io::IsTerminal;
    io::stdin().is_terminal() && io::stdout().is_terminal()
}
