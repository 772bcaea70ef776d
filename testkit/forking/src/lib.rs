//! A real `fork()`.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// A child that runs `work` and ends with its code, 101 if it panics.
///
/// It has no thread but the one that forked, so `work` may wait for none of the others: that is what
/// the tests are about. It ends without a word: nothing is dropped, and nothing runs at its exit.
///
/// # Errors
/// The system refuses another process.
pub fn fork(work: impl FnOnce() -> u8) -> io::Result<Child> {
    // SAFETY: the child may only do what is safe after a fork of a process with threads. Allocation
    // is (glibc and musl see to it); the rest is for `work` to keep.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let code = catch_unwind(AssertUnwindSafe(work)).unwrap_or(101);
            // SAFETY: it has no preconditions.
            unsafe { libc::_exit(code.into()) }
        }
        pid => Ok(Child { pid }),
    }
}

/// A child that was not waited for yet.
#[derive(Debug)]
#[must_use = "it stays a zombie until it is waited for"]
pub struct Child {
    pid: libc::pid_t,
}

impl Child {
    /// Its code once it has ended, `None` if a signal ended it.
    ///
    /// # Errors
    /// It cannot be waited for.
    pub fn wait(self) -> io::Result<Option<i32>> {
        let mut status = 0;
        // SAFETY: `status` is ours and outlives the call.
        if unsafe { libc::waitpid(self.pid, &raw mut status, 0) } == -1 {
            return Err(io::Error::last_os_error());
        }
        Ok(libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)))
    }
}
