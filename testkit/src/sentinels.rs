//! Sentinels that watch over a master.

#![expect(clippy::indexing_slicing, reason = "a harness may panic")]

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::builder::{START_LIMIT, redis_server};
use crate::port::PortClaim;
use crate::process::Process;
use crate::resp::{Connection, Reply};
use crate::scratch::Scratch;

/// Sentinels that agree on where a master is, and promote a replica when it is gone. They call it
/// [`SERVICE`](Self::SERVICE).
#[derive(Debug)]
pub struct Sentinels {
    sentinels: Vec<Sentinel>,
}

#[derive(Debug)]
struct Sentinel {
    // The process ends before its folder and its port are given up.
    process: Process,
    port: PortClaim,
    _scratch: Scratch,
}

impl Sentinels {
    /// What they call the master.
    pub const SERVICE: &str = "orders";

    /// Starts `n` of them, and waits until they know each other and the master's replicas. More than half
    /// have to agree that it is gone, which they find half a second after its last word.
    ///
    /// # Panics
    /// One does not start, or they do not find each other.
    #[must_use]
    pub fn over(master: SocketAddr, replicas: usize, n: usize) -> Self {
        let sentinels: Vec<_> = (0..n).map(|_| Sentinel::start(master, n / 2 + 1, "")).collect();
        let all = Self { sentinels };
        all.until("they know each other and all replicas", |sentinel| {
            let told = sentinel.field("num-other-sentinels").zip(sentinel.field("num-slaves"));
            told == Some(((n - 1).to_string(), replicas.to_string()))
        });
        all
    }

    /// One that is asked with a password.
    ///
    /// # Panics
    /// It does not start.
    #[must_use]
    pub fn guarded(master: SocketAddr, password: &str) -> Self {
        Self { sentinels: vec![Sentinel::start(master, 1, &format!("requirepass {password}\n"))] }
    }

    /// Where they listen.
    #[must_use]
    pub fn addrs(&self) -> Vec<SocketAddr> {
        self.sentinels.iter().map(Sentinel::addr).collect()
    }

    /// The same as text.
    #[must_use]
    pub fn hosts(&self) -> Vec<String> {
        self.addrs().iter().map(ToString::to_string).collect()
    }

    /// SIGKILL for one of them.
    pub fn kill(&mut self, n: usize) {
        self.sentinels[n].process.kill();
    }

    /// SIGSTOP for one of them.
    pub fn freeze(&mut self, n: usize) {
        self.sentinels[n].process.freeze();
    }

    /// The port of the master as the first of them has it.
    ///
    /// # Panics
    /// It does not answer.
    #[must_use]
    pub fn master(&self) -> u16 {
        let port = self.sentinels[0].field("port").expect("a sentinel knows its master");
        port.parse().expect("a port is a number")
    }

    /// Has them make a replica the master, and waits until they all say so.
    ///
    /// # Panics
    /// They do not.
    pub fn fail_over(&self) {
        let before = self.master();
        // Not so soon after the last one, they say.
        self.until("they agree to a failover", |sentinel| {
            sentinel.addr() != self.sentinels[0].addr()
                || sentinel.ask(&["SENTINEL", "FAILOVER", Self::SERVICE]).to_string() == "OK"
        });
        self.until_moved_from(before);
    }

    /// Has them replace a master that is gone, and waits until they all say so. They would find it out by
    /// themselves, but who of them may lead takes an election, and one that nobody wins costs six seconds.
    ///
    /// # Panics
    /// They do not within a minute.
    pub fn replace(&self, gone: u16) {
        self.until(MOVED, |sentinel| {
            let done = sentinel.is_moved_from(gone);
            if !done && sentinel.addr() == self.sentinels[0].addr() {
                // Refused while it is being done.
                sentinel.try_ask(&["SENTINEL", "FAILOVER", Self::SERVICE]);
            }
            done
        });
    }

    fn until_moved_from(&self, port: u16) {
        self.until(MOVED, |sentinel| sentinel.is_moved_from(port));
    }

    fn until(&self, what: &str, done: impl Fn(&Sentinel) -> bool) {
        let deadline = Instant::now() + LIMIT;
        while !self.sentinels.iter().all(&done) {
            assert!(Instant::now() < deadline, "never happened: {what}");
            thread::sleep(POLL);
        }
    }
}

impl Sentinel {
    fn start(master: SocketAddr, quorum: usize, more: &str) -> Self {
        let (port, scratch) = (PortClaim::new(), Scratch::new());
        let (service, host) = (Sentinels::SERVICE, master.ip());
        let settings = format!(
            "port {}\nbind 127.0.0.1\ndir {}\nlogfile {}\n\
             sentinel monitor {service} {host} {} {quorum}\n\
             sentinel down-after-milliseconds {service} 500\n\
             sentinel failover-timeout {service} 3000\n{more}",
            port.port(),
            scratch.path().display(),
            scratch.log().display(),
            master.port()
        );
        let file = scratch.path().join("sentinel.conf");
        fs::write(&file, settings).expect("a sentinel's settings can be written");
        let mut command = Command::new(redis_server());
        command.arg(&file).arg("--sentinel").stdin(Stdio::null()).stdout(Stdio::null());
        let process = Process::spawn(command.stderr(scratch.open_log()));
        let process = process.expect("redis-server can be run");
        let sentinel = Self { process, port, _scratch: scratch };
        let deadline = Instant::now() + START_LIMIT;
        while sentinel.try_ask(&["PING"]).is_none() {
            assert!(Instant::now() < deadline, "a sentinel does not start");
            thread::sleep(POLL);
        }
        sentinel
    }

    fn addr(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port.port()).into()
    }

    fn try_ask(&self, words: &[&str]) -> Option<Reply> {
        Connection::open(self.addr(), ANSWER_LIMIT).ok()?.command(words).ok()
    }

    fn ask(&self, words: &[&str]) -> Reply {
        self.try_ask(words).expect("a sentinel answers")
    }

    fn is_moved_from(&self, port: u16) -> bool {
        self.field("port").is_some_and(|now| now != port.to_string())
    }

    /// One of the words that it has for the master.
    fn field(&self, name: &str) -> Option<String> {
        let told = self.try_ask(&["SENTINEL", "MASTER", Sentinels::SERVICE])?;
        let words: Vec<_> = told.array().iter().map(ToString::to_string).collect();
        words.chunks(2).find(|pair| pair[0] == name).map(|pair| pair[1].clone())
    }
}

const MOVED: &str = "the master is another";
const POLL: Duration = Duration::from_millis(10);
const LIMIT: Duration = Duration::from_secs(60);
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
