//! The signals that are passed on to the command.

use std::{fs, io};

use rustix::process::{Signal, getpgrp, kill_process_group};
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

use crate::exit::{self, End};

/// Listens for a set of signals.
///
/// A signal that was ignored when the process started stays ignored: `nohup palisade …` and the
/// background jobs of a shell rely on it, and so does the command, which inherits what we ignore.
#[derive(Debug)]
pub(crate) struct Signals {
    /// One bit each.
    ignored: u64,
    streams: Vec<(Signal, Stream)>,
}

impl Signals {
    pub(crate) fn listen(wanted: &[Signal]) -> io::Result<Self> {
        let mut listening = Self { ignored: ignored()?, streams: Vec::new() };
        listening.also(wanted)?;
        Ok(listening)
    }

    /// Listens for more.
    pub(crate) fn also(&mut self, wanted: &[Signal]) -> io::Result<()> {
        for which in wanted.iter().filter(|it| self.ignored & bit(**it) == 0) {
            self.streams.push((*which, signal(SignalKind::from_raw(which.as_raw()))?));
        }
        Ok(())
    }

    /// Waits for the next of them. Cancel-safe: a signal stays noted until it is returned.
    pub(crate) async fn next(&mut self) -> Signal {
        std::future::poll_fn(|context| {
            for (which, stream) in &mut self.streams {
                if stream.poll_recv(context).is_ready() {
                    return std::task::Poll::Ready(*which);
                }
            }
            std::task::Poll::Pending
        })
        .await
    }
}

/// Ends this process by the signal, if it is to end so; else the code to exit with.
///
/// A signal that this process ignored from its start ends nothing here, and then the code says the same.
pub(crate) fn end(end: End) -> u8 {
    let signal = match end {
        End::Code(code) => return code,
        End::Signalled(signal) | End::SignalledWithJob(signal) => signal,
    };
    if ignored().is_ok_and(|ignored| ignored & bit(signal) == 0) {
        if matches!(end, End::SignalledWithJob(_)) {
            // It reaches this process too, which still listens and so outlives it until the next line.
            let _cannot_fail = kill_process_group(getpgrp(), signal);
        }
        let _does_not_return = signal_hook::low_level::emulate_default_handler(signal.as_raw());
    }
    exit::of_signal(signal.as_raw())
}

/// The signals this process ignores, one bit each.
fn ignored() -> io::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    mask(&status, "SigIgn:").ok_or_else(|| io::Error::other("no signal mask in /proc/self/status"))
}

/// A set of signals in what /proc tells of a process, one bit each.
pub(crate) fn mask(status: &str, name: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix(name))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

pub(crate) fn bit(signal: Signal) -> u64 {
    1 << (signal.as_raw() - 1)
}

/// What ends a command.
pub(crate) const ENDING: [Signal; 4] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];

/// What is listened for beside that once there is a command. Until then a stop, and what users
/// define, does to palisade what it does to any process.
pub(crate) const WHILE_RUNNING: [Signal; 4] =
    [Signal::USR1, Signal::USR2, Signal::TSTP, Signal::CONT];
