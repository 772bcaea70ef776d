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
use crate::server::RedisServer;

/// Sentinels that agree on where a master is, and promote a replica when it is gone. They call it
/// [`SERVICE`](Self::SERVICE).
#[derive(Debug)]
pub struct Sentinels {
    sentinels: Vec<Sentinel>,
}

#[derive(Debug)]
struct Sentinel {
    /// Whether it was killed.
    is_dead: bool,
    // The process ends before its folder and its port are given up.
    process: Process,
    port: PortClaim,
    scratch: Scratch,
}

impl Sentinels {
    /// What they call the master.
    pub const SERVICE: &str = "orders";

    /// Starts `n` of them, and waits until they know each other and the master's replicas. They take no
    /// server for dead that is only slow, as all are on a busy machine: they have to be told.
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

    /// SIGKILL for one of them. From now on nothing is expected of it.
    pub fn kill(&mut self, n: usize) {
        self.sentinels[n].is_dead = true;
        self.sentinels[n].process.kill();
    }

    /// Starts one that was killed, with all that it knew.
    ///
    /// # Panics
    /// It does not start.
    pub fn restart(&mut self, n: usize) {
        let sentinel = &mut self.sentinels[n];
        sentinel.process = launch(&sentinel.scratch);
        sentinel.is_dead = false;
        sentinel.wait_until_it_answers();
    }

    /// Has them ask servers for their roles ten times a second in place of every ten seconds, so that they
    /// choose by what is, and not by what was. Redis 7 and later; others go on as they were.
    pub fn hasten(&self) {
        for sentinel in &self.sentinels {
            drop(sentinel.ask(&["SENTINEL", "DEBUG", "INFO-PERIOD", "100"]));
        }
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
        // One that was begun may come to nothing.
        self.replace(self.master());
    }

    /// Has all of them forget the master, and then watch over the one at this address, as if they had never known
    /// another.
    ///
    /// # Panics
    /// They do not know each other within a minute.
    pub fn watch_anew(&self, master: SocketAddr) {
        let (host, port) = (master.ip().to_string(), master.port().to_string());
        let quorum = (self.sentinels.len() / 2 + 1).to_string();
        for sentinel in &self.sentinels {
            sentinel.ask(&["SENTINEL", "REMOVE", Self::SERVICE]);
        }
        for sentinel in &self.sentinels {
            sentinel.ask(&["SENTINEL", "MONITOR", Self::SERVICE, &host, &port, &quorum]);
        }
        let others = (self.sentinels.len() - 1).to_string();
        self.until("they know each other again", |sentinel| {
            sentinel.field("num-other-sentinels").as_ref() == Some(&others)
        });
    }

    /// Has the first of them begin to make a replica the master. It goes on naming the old one until all other
    /// replicas follow the new one, for three seconds at most.
    ///
    /// # Panics
    /// It does not answer, or does not want to.
    pub fn begin_failover(&self) {
        let begun = self.sentinels[0].ask(&["SENTINEL", "FAILOVER", Self::SERVICE]);
        assert_eq!(begun.to_string(), "OK");
    }

    /// Has them make this replica the master, and waits until they all say so. They have to be
    /// [hasty](Self::hasten).
    ///
    /// # Panics
    /// They do not.
    pub fn fail_over_to(&self, wanted: &RedisServer) {
        let port = wanted.port();
        let prefer = |priority| wanted.cli(&["CONFIG", "SET", "replica-priority", priority]);
        prefer("1");
        self.until("they know which replica is preferred", |sentinel| {
            sentinel.priority_of(port).as_deref() == Some("1")
        });
        self.push_until(|sentinel| sentinel.field("port") == Some(port.to_string()));
        prefer("100");
    }

    /// Has them replace a master that is gone, and waits until they all say so. They would find it out by
    /// themselves in five seconds. But which of them may lead takes an election, and one without a winner
    /// costs six more.
    ///
    /// # Panics
    /// They do not within a minute.
    pub fn replace(&self, gone: u16) {
        self.push_until(|sentinel| sentinel.is_moved_from(gone));
    }

    fn push_until(&self, done: impl Fn(&Sentinel) -> bool) {
        self.until("the master is another", |sentinel| {
            let done = done(sentinel);
            if !done && sentinel.addr() == self.sentinels[0].addr() {
                // Refused while it is being done.
                sentinel.try_ask(&["SENTINEL", "FAILOVER", Self::SERVICE]);
            }
            done
        });
    }

    fn until(&self, what: &str, done: impl Fn(&Sentinel) -> bool) {
        let deadline = Instant::now() + LIMIT;
        while !self.sentinels.iter().filter(|sentinel| !sentinel.is_dead).all(&done) {
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
             sentinel down-after-milliseconds {service} 5000\n\
             sentinel failover-timeout {service} 3000\n{more}",
            port.port(),
            scratch.path().display(),
            scratch.log().display(),
            master.port()
        );
        fs::write(scratch.path().join(SETTINGS), settings)
            .expect("a sentinel's settings can be written");
        let sentinel = Self { is_dead: false, process: launch(&scratch), port, scratch };
        sentinel.wait_until_it_answers();
        sentinel
    }

    fn wait_until_it_answers(&self) {
        let deadline = Instant::now() + START_LIMIT;
        while self.try_ask(&["PING"]).is_none() {
            assert!(Instant::now() < deadline, "a sentinel does not start");
            thread::sleep(POLL);
        }
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
        word(&told, name)
    }

    /// What it has read of the replica at this port.
    fn priority_of(&self, port: u16) -> Option<String> {
        let told = self.try_ask(&["SENTINEL", "REPLICAS", Sentinels::SERVICE])?;
        let is_it = |replica: &&Reply| word(replica, "port") == Some(port.to_string());
        word(told.array().iter().find(is_it)?, "slave-priority")
    }
}

/// By the settings that lie there, and what the one before added to them.
fn launch(scratch: &Scratch) -> Process {
    let mut command = Command::new(redis_server());
    command.arg(scratch.path().join(SETTINGS)).arg("--sentinel");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    Process::spawn(command.stderr(scratch.open_log())).expect("redis-server can be run")
}

/// What stands behind a name in a list of names and values.
fn word(told: &Reply, name: &str) -> Option<String> {
    let words: Vec<_> = told.array().iter().map(ToString::to_string).collect();
    words.chunks(2).find(|pair| pair[0] == name).map(|pair| pair[1].clone())
}

const SETTINGS: &str = "sentinel.conf";

const POLL: Duration = Duration::from_millis(10);
const LIMIT: Duration = Duration::from_secs(60);
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
