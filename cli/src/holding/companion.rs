//! The process for which a lock is held, which is none of our own: named by a descriptor, since another may get its
//! number once it has ended.

use rustix::{
    io::Errno,
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal, test_kill_process},
};
use tokio::net::unix::pipe::Receiver;

use crate::exit::Failure;

/// One process, for as long as it is.
#[derive(Debug)]
pub(crate) struct Companion {
    pid: i32,
    /// Readable once it has ended: read like a pipe, as [`Alarm`](crate::boottime::Alarm) is.
    end: Receiver,
}

impl Companion {
    /// The one of this number now. `kills`: it is to be ended by us, should it come to that.
    pub(crate) fn of(pid: i32, kills: bool) -> Result<Self, Failure> {
        let number = Pid::from_raw(pid).filter(|_| pid > 0);
        let opened = number.ok_or(Errno::SRCH).and_then(|it| pidfd_open(it, PidfdFlags::NONBLOCK));
        let end = match opened {
            Ok(end) => end,
            Err(Errno::SRCH | Errno::INVAL) => {
                return Err(Failure::usage(format_args!(
                    "--with-pid {pid}: there is no such process"
                )));
            }
            Err(error) => return Err(Failure::system(format_args!("--with-pid {pid}"), error)),
        };
        if kills && number.is_some_and(|it| test_kill_process(it) == Err(Errno::PERM)) {
            return Err(Failure::usage(format_args!(
                "--kill: process {pid} runs as another user, and cannot be ended"
            )));
        }
        let end = Receiver::from_owned_fd_unchecked(end)
            .map_err(|error| Failure::system(format_args!("--with-pid {pid}"), error))?;
        Ok(Self { pid, end })
    }

    /// Completes once it has ended.
    pub(crate) async fn ended(&self) -> Result<(), Failure> {
        let ended = self.end.readable().await;
        ended.map_err(|error| Failure::system(format_args!("--with-pid {}", self.pid), error))
    }

    /// Sends it a signal; one that has ended hears none.
    pub(crate) fn signal(&self, signal: Signal) -> Result<(), Failure> {
        match pidfd_send_signal(&self.end, signal) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(Failure::system(format_args!("--kill {}", self.pid), error)),
        }
    }
}
