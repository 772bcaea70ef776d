//! A process of either language, and what the tests look at on a server.

use std::{
    fs,
    ops::Index,
    path::{Display, Path, PathBuf},
    process::Command,
    sync::mpsc::RecvTimeoutError,
    thread,
    time::{Duration, Instant, SystemTime},
};

use testkit::{Actor, Cluster, RedisServer, Reply};

/// Whatever takes longer hangs. Far beyond anything a busy machine explains.
pub(crate) const HANG: Duration = Duration::from_secs(120);
/// The leases that watchdogs renew where no test waits for the end of one: [`HANG`] is over first, so
/// nothing comes to pass only because a lease ended.
pub(crate) const LONG_MS: u32 = 300_000;
/// The same where a test waits for the end of one.
pub(crate) const SHORT_MS: u32 = 3_000;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Side {
    Java,
    Rust,
}

impl Side {
    /// How lines of expectations begin that hold for this side alone.
    pub(crate) fn mark(self) -> &'static str {
        match self {
            Self::Java => "java: ",
            Self::Rust => "rust: ",
        }
    }

    /// A process with a client for each server, whose watchdogs write `watchdog_ms`.
    pub(crate) fn start(self, servers: &Servers, watchdog_ms: u32) -> Peer {
        self.start_at(&servers.urls(), watchdog_ms)
    }

    /// The same of palisade, told at once that its keys were taken away.
    pub(crate) fn start_tracking(servers: &Servers, watchdog_ms: u32) -> Peer {
        let mut command = Command::new(env!("CARGO_BIN_EXE_interop-peer"));
        command.arg(format!("{watchdog_ms}+tracking")).args(servers.urls());
        Peer(Actor::spawn_command(command))
    }

    /// The same with the servers in another order.
    pub(crate) fn start_at(self, urls: &[String], watchdog_ms: u32) -> Peer {
        let mut command = match self {
            Self::Java => java(),
            Self::Rust => Command::new(env!("CARGO_BIN_EXE_interop-peer")),
        };
        command.arg(watchdog_ms.to_string()).args(urls);
        Peer(Actor::spawn_command(command))
    }
}

/// Plays with two roles, and then the other way round.
pub(crate) fn both_ways(play: impl Fn([Side; 2])) {
    play([Side::Java, Side::Rust]);
    play([Side::Rust, Side::Java]);
}

/// Not by a shell: a signal is to hit the very process.
fn java() -> Command {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/interop");
    let classes = built.join("classes");
    assert!(classes.exists(), "`cargo xtask interop` builds what Java runs here");
    let class_path = std::env::join_paths([classes, built.join("lib/*")]).unwrap();
    let mut command = Command::new("java");
    // Many live for a second only: what takes long to compile, or many threads, does not pay.
    command.args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m", "-cp"]);
    command.arg(class_path).arg("Peer");
    command
}

/// A process that is told what to do: `src/main.rs` has the commands.
pub(crate) struct Peer(Actor);

impl Peer {
    #[track_caller]
    pub(crate) fn ask(&mut self, command: &str) -> String {
        self.0.ask(command, HANG)
    }

    /// Waits until it has connected: one that is far ahead of the others would contend with none.
    #[track_caller]
    pub(crate) fn wait_until_up(&mut self) {
        assert_eq!(self.ask("held lock nothing nobody"), "lost");
    }

    /// Tells it without waiting for the answer.
    #[track_caller]
    pub(crate) fn tell(&mut self, command: &str) {
        self.0.send(command).unwrap();
    }

    /// What it answers to what it was told.
    #[track_caller]
    pub(crate) fn answer(&self, limit: Duration) -> String {
        self.0.recv(limit).unwrap()
    }

    /// The same, of one that has nothing to wait for but a message. A limit in turns, not in seconds:
    /// where this process or the server stands still, so does the count.
    #[track_caller]
    pub(crate) fn answer_promptly(&self, server: &RedisServer) -> String {
        let answer = self.answer_if_prompt(server);
        answer.unwrap_or_else(|| panic!("no answer within {PROMPT} turns"))
    }

    pub(crate) fn answer_if_prompt(&self, server: &RedisServer) -> Option<String> {
        for _ in 0..PROMPT {
            match self.0.recv(TURN) {
                Err(RecvTimeoutError::Timeout) => drop(server.command(&["PING"])),
                answer => return Some(answer.unwrap()),
            }
        }
        None
    }

    pub(crate) fn kill(&mut self) {
        self.0.kill();
    }
}

const TURN: Duration = Duration::from_millis(10);
/// On a machine that does nothing else two seconds: palisade looks for a lock after five although it was
/// told nothing, Redisson when the lease that it saw would end.
const PROMPT: u32 = 200;

/// Returns once `condition` holds.
#[track_caller]
pub(crate) fn eventually(mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < HANG, "did not come to hold within {HANG:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// As many servers as locks of a kind stand on, in the order in which palisade takes them if others are
/// in the way: a `RedissonMultiLock` with another order is a matter of its own.
pub(crate) struct Servers {
    cluster: Cluster,
    order: Vec<usize>,
}

impl Servers {
    pub(crate) fn start_for(kind: &str) -> Self {
        let cluster = Cluster::start(if kind.starts_with("multi") { 3 } else { 1 }).blessed();
        let mut order: Vec<_> = (0..cluster.len()).collect();
        order.sort_by_key(|i| run_id(&cluster[*i]));
        Self { cluster, order }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &RedisServer> {
        self.order.iter().map(|i| &self.cluster[*i])
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        self.iter().map(RedisServer::url).collect()
    }
}

impl Index<usize> for Servers {
    type Output = RedisServer;

    fn index(&self, i: usize) -> &RedisServer {
        &self.cluster[self.order[i]]
    }
}

fn run_id(server: &RedisServer) -> String {
    let info = server.cli(&["INFO", "server"]);
    info.lines().find_map(|line| line.strip_prefix("run_id:")).unwrap().to_owned()
}

/// How many processes are told of releases of the lock `x`, of whichever kind.
pub(crate) fn listeners(server: &RedisServer) -> i64 {
    let channels = ["redisson_lock__channel:{x}", "redisson_rwlock:{x}"];
    let counted = server.command(&[&["PUBSUB", "NUMSUB"], &channels[..]].concat());
    let all: i64 = counted.array().iter().skip(1).step_by(2).map(Reply::int).sum();
    // Each waiter for a fair lock has a channel.
    let own = server.command(&["PUBSUB", "CHANNELS", "redisson_lock__channel:{x}:*"]);
    all + i64::try_from(own.array().len()).unwrap()
}

/// Of how many keys a server is to tell that they have changed.
pub(crate) fn tracked_keys(server: &RedisServer) -> u64 {
    let info = server.cli(&["INFO", "stats"]);
    let line = info.lines().find_map(|line| line.strip_prefix("tracking_total_keys:"));
    line.unwrap().trim().parse().unwrap()
}

/// The waiters for the fair lock `x`, the next one first.
pub(crate) fn queue(server: &RedisServer) -> Vec<String> {
    let queue = server.command(&["LRANGE", "redisson_lock_queue:{x}", "0", "-1"]);
    queue.array().iter().map(Reply::to_string).collect()
}

/// A witness for hammers, beside the data of `server`.
pub(crate) struct Witness<'a>(&'a Path);

impl<'a> Witness<'a> {
    pub(crate) fn beside(server: &'a RedisServer) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros();
        let witness = Self(server.folder());
        fs::write(witness.file(), format!("0 0 nobody {now}")).unwrap();
        witness
    }

    pub(crate) fn folder(&self) -> Display<'_> {
        self.0.display()
    }

    /// How many holds it knows of.
    pub(crate) fn count(&self) -> u32 {
        let text = fs::read_to_string(self.file()).unwrap();
        text.split(' ').next().unwrap().parse().unwrap()
    }

    fn file(&self) -> PathBuf {
        self.0.join("witness")
    }
}
