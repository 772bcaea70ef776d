//! A supervisor without palisade: the test speaks for palisade over the pipe.

use std::{
    io::{self, IoSlice},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixDatagram,
    },
    process::{Child, ChildStderr, ChildStdout, Command, Stdio},
    time::Duration,
};

use rustix::{
    net::{
        AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags,
        SocketType, sendmsg, socketpair,
    },
    time::{ClockId, clock_gettime},
};

use super::{LIMIT, PALISADE};

pub(crate) struct Supervisor {
    link: UnixDatagram,
    pub(crate) process: Child,
}

impl Supervisor {
    /// Starts one over a shell's command line, with the lock safe for `lease` from now.
    pub(crate) fn start(lease: Duration, grace: Duration, script: &str) -> Self {
        Self::start_command(lease, grace, &["sh", "-c", script], None)
    }

    pub(crate) fn start_command(
        lease: Duration,
        grace: Duration,
        command: &[&str],
        stdin: Option<OwnedFd>,
    ) -> Self {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .expect("a socket pair");
        let process = Command::new(PALISADE)
            .args(["__supervise", &format!("--grace={}", grace.as_nanos()), "--"])
            .args(command)
            .stdin(theirs)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary is there");
        let link = UnixDatagram::from(ours);
        link.set_read_timeout(Some(LIMIT)).expect("a time limit");
        let this = Self { link, process };
        this.send_with(&format!("deadline {}", (boot_time() + lease).as_nanos()), stdin);
        this
    }

    /// The command's group, once it is ready; then lets it begin.
    pub(crate) fn begin(&self) -> i32 {
        let ready = self.hear();
        let group = ready.strip_prefix("ready ").and_then(|pid| pid.parse().ok());
        self.send("signal 18");
        group.unwrap_or_else(|| panic!("not ready: {ready}"))
    }

    pub(crate) fn safe_for(&self, lease: Duration) {
        self.send(&format!("deadline {}", (boot_time() + lease).as_nanos()));
    }

    pub(crate) fn send(&self, order: &str) {
        self.send_with(order, None);
    }

    fn send_with(&self, order: &str, carried: Option<OwnedFd>) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let carried: Vec<_> = carried.iter().map(AsFd::as_fd).collect();
        if !carried.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(&carried));
        }
        sendmsg(&self.link, &[IoSlice::new(order.as_bytes())], &mut control, SendFlags::NOSIGNAL)
            .expect("the supervisor listens");
    }

    /// The next report; empty once the supervisor has ended.
    pub(crate) fn hear(&self) -> String {
        let mut bytes = [0; 512];
        let length = loop {
            match self.link.recv(&mut bytes) {
                // A read with a time limit is not restarted after a signal.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // It ended without reading our last order; what it has said is still there.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
                received => break received.expect("a report in time"),
            }
        };
        String::from_utf8_lossy(bytes.get(..length).expect("received")).into_owned()
    }

    /// Ends the part of palisade as SIGKILL would.
    pub(crate) fn hang_up(self) -> Child {
        self.process
    }

    pub(crate) fn stdout(&mut self) -> ChildStdout {
        self.process.stdout.take().expect("taken once")
    }

    pub(crate) fn stderr(&mut self) -> ChildStderr {
        self.process.stderr.take().expect("taken once")
    }
}

fn boot_time() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(now.tv_sec.try_into().expect("positive"), now.tv_nsec.try_into().expect("small"))
}
