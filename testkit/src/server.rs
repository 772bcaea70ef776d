//! One real `redis-server`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::builder::{EVERYBODY, RedisServerBuilder, by_unix_socket, rules_of_all};
use crate::port::PortClaim;
use crate::process::Process;
use crate::resp::{Connection, Reply};
use crate::scratch::Scratch;
use crate::stats;

/// A `redis-server` process on a free port, with a folder of its own, ended on drop.
///
/// When it is dropped by a panic its folder is kept and the log's path is printed.
///
/// # Deadlock safety
/// Two locks, never both at once: `process` for what is done to the process, `control` for what
/// is asked of the server.
#[derive(Debug)]
pub struct RedisServer {
    // Fields drop in this order: the process ends before its folder and its port are given up.
    process: Mutex<Process>,
    control: Mutex<Option<Connection>>,
    settings: RedisServerBuilder,
    port: PortClaim,
    scratch: Scratch,
}

impl RedisServer {
    /// Starts a server that persists nothing, and waits until it answers PING.
    ///
    /// # Panics
    /// There is no `redis-server`, or it does not start.
    #[must_use]
    pub fn start() -> Self {
        Self::builder().start()
    }

    pub(crate) fn assemble(
        settings: RedisServerBuilder,
        (process, connection): (Process, Connection),
        port: PortClaim,
        scratch: Scratch,
    ) -> Self {
        let (process, control) = (Mutex::new(process), Mutex::new(Some(connection)));
        Self { process, control, settings, port, scratch }
    }

    /// For a server with other settings.
    #[must_use]
    pub fn builder() -> RedisServerBuilder {
        RedisServerBuilder::default()
    }

    /// `redis://127.0.0.1:<port>`, or what `PALISADE_TRANSPORT` says.
    pub fn url(&self) -> String {
        let is_everybodys = rules_of_all().is_some() && self.settings.has_users_of_all();
        match (by_unix_socket(), is_everybodys) {
            (true, true) => format!("{}?user={EVERYBODY}&pass=any", self.unix_url()),
            (true, false) => self.unix_url(),
            (false, true) => format!("redis://{EVERYBODY}:any@{}", self.addr()),
            (false, false) => format!("redis://{}", self.addr()),
        }
    }

    /// `redis://<user>:<password>@127.0.0.1:<port>`, both taken as they are.
    pub fn url_with(&self, user: &str, password: &str) -> String {
        format!("redis://{user}:{password}@{}", self.addr())
    }

    /// `unix://<path>`
    ///
    /// # Panics
    /// The server was built without [`RedisServerBuilder::unix_socket`].
    pub fn unix_url(&self) -> String {
        assert!(self.settings.has_unix_socket(), "the server was started without a unix socket");
        format!("unix://{}", self.scratch.socket().display())
    }

    /// The address it listens at; the same after a restart.
    pub fn addr(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port()).into()
    }

    /// The port it listens at; the same after a restart.
    pub fn port(&self) -> u16 {
        self.port.port()
    }

    /// The port at which it speaks TLS; the same after a restart.
    ///
    /// # Panics
    /// The server was built without [`RedisServerBuilder::tls`].
    pub fn tls_port(&self) -> u16 {
        self.settings.tls_port().expect("the server was started without TLS")
    }

    /// The process id; another one after a restart.
    pub fn pid(&self) -> u32 {
        self.process().id()
    }

    /// SIGKILL. Returns when the process is gone.
    pub fn kill(&self) {
        self.process().kill();
    }

    /// Kills it if it lives, and starts it with what it had persisted.
    pub fn restart(&self) {
        self.relaunch(|| ());
    }

    /// Kills it if it lives, and starts it without any data.
    pub fn restart_empty(&self) {
        self.relaunch(|| self.scratch.empty());
    }

    /// SIGSTOP: keeps its connections and accepts new ones, but does nothing. Returns when it has
    /// stopped.
    pub fn freeze(&self) {
        self.process().freeze();
    }

    /// SIGCONT.
    pub fn thaw(&self) {
        self.process().thaw();
    }

    /// Keeps the log when the server is dropped, also without a panic.
    pub fn keep_log(&self) {
        self.scratch.keep();
    }

    /// What the server has logged so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.scratch.log()).unwrap_or_default()
    }

    /// The version of Redis that it is, or is like.
    ///
    /// # Panics
    /// It does not tell.
    pub fn version(&self) -> (u32, u32) {
        let info = self.cli(&["INFO", "server"]);
        let version = stats::field(&info, "redis_version").expect("INFO tells the version");
        let mut numbers = version.split('.').map(|number| number.parse().expect("a number"));
        let mut next = || numbers.next().expect("a version has two numbers");
        (next(), next())
    }

    /// Serves these slots from now on; it is one of a cluster.
    ///
    /// # Panics
    /// It refuses.
    pub fn serve_slots(&self, slots: Range<u16>) {
        let words = ["CLUSTER", "ADDSLOTS"].map(str::to_owned);
        let words: Vec<_> = words.into_iter().chain(slots.map(|slot| slot.to_string())).collect();
        let reply = self.command(&words);
        assert!(!reply.is_error(), "{reply}");
    }

    /// When a key ends, in ms since 1970; negative as PTTL tells it.
    ///
    /// # Panics
    /// The server is dead or frozen.
    pub fn end_of(&self, key: &str) -> i64 {
        // PEXPIRETIME is of Redis 7. What is left counts from the millisecond in which it is asked.
        let text = "local at, left, since
            repeat
              since = redis.call('TIME')
              left = redis.call('PTTL', KEYS[1])
              at = redis.call('TIME')
            until since[1] == at[1] and math.floor(since[2] / 1000) == math.floor(at[2] / 1000)
            if left < 0 then return left end
            return left + at[1] * 1000 + math.floor(at[2] / 1000)";
        self.command(&["EVAL", text, "1", key]).int()
    }

    /// Opens one more connection, which [`connected_clients`](Self::connected_clients) counts as
    /// soon as it was used.
    ///
    /// # Panics
    /// Nothing listens.
    pub fn connect(&self) -> Connection {
        self.settings.connect(self.addr()).expect("the server accepts connections")
    }

    /// Sends a command on the harness' own connection and returns the reply, errors included.
    ///
    /// That connection was made at the start, so it keeps its rights when users change later.
    ///
    /// # Panics
    /// The server is dead or frozen.
    pub fn command<A: AsRef<[u8]>>(&self, args: &[A]) -> Reply {
        let mut control = lock(&self.control);
        let mut reply = control.get_or_insert_with(|| self.connect()).command(args);
        if reply.as_ref().is_err_and(was_cut) {
            // A test's CLIENT KILL strikes us too.
            reply = control.insert(self.connect()).command(args);
        }
        if reply.is_err() {
            *control = None;
        }
        reply.unwrap_or_else(|e| panic!("no answer from redis-server at {}: {e}", self.addr()))
    }

    /// As [`command`](Self::command), as text.
    ///
    /// # Panics
    /// The server is dead or frozen, or it answers with an error.
    #[track_caller]
    pub fn cli<A: AsRef<[u8]>>(&self, args: &[A]) -> String {
        let reply = self.command(args);
        assert!(!reply.is_error(), "redis-server refused: {reply}");
        reply.to_string()
    }

    /// Writes the marker of palisade that says: this run of the server has forgotten nothing, its
    /// votes count at once. Void after a restart.
    ///
    /// # Panics
    /// The server is dead or frozen.
    pub fn bless(&self) {
        let info = self.cli(&["INFO", "server"]);
        let run_id = stats::field(&info, "run_id").expect("INFO server names the run");
        self.cli(&["SET", MARKER, &format!("blessed {run_id} 86400000 testkit")]);
    }

    /// All keys of database 0, sorted, without the marker that [`bless`](Self::bless) writes and without what processes
    /// tell of themselves, which ends a while after their holds.
    pub fn keys(&self) -> Vec<String> {
        let reply = self.command(&["KEYS", "*"]);
        let all = reply.array().iter().map(Reply::to_string);
        let mut keys: Vec<_> = all.filter(|key| key != MARKER && !key.contains(RECORD)).collect();
        keys.sort();
        keys
    }

    /// Removes all keys of all databases.
    pub fn flush(&self) {
        self.cli(&["FLUSHALL"]);
    }

    /// How many commands clients have sent since the start: scripts, subscriptions, greetings,
    /// pings; neither what scripts call nor what the harness asks. Take the difference of two.
    pub fn top_level_commands(&self) -> u64 {
        stats::top_level_calls(&self.calls())
    }

    /// How often each command was called since the start, by scripts and the harness too.
    pub fn calls(&self) -> BTreeMap<String, u64> {
        stats::calls(&self.cli(&["INFO", "commandstats"]))
    }

    /// The same of one command.
    pub fn calls_of(&self, command: &str) -> u64 {
        self.calls().get(command).copied().unwrap_or(0)
    }

    /// The CPU time that it has used since its start, to the microsecond.
    ///
    /// # Panics
    /// The server is dead or frozen.
    pub fn cpu_time(&self) -> Duration {
        let info = self.cli(&["INFO", "cpu"]);
        let seconds = |name| stats::field(&info, name).and_then(|s| s.parse::<f64>().ok());
        let used = ["used_cpu_user", "used_cpu_sys"].map(seconds);
        used.into_iter().map(|s| Duration::from_secs_f64(s.expect("INFO cpu tells it"))).sum()
    }

    /// How many connections are open, without the harness' own.
    pub fn connected_clients(&self) -> u64 {
        let info = self.cli(&["INFO", "clients"]);
        let clients = stats::field(&info, "connected_clients").and_then(|n| n.parse::<u64>().ok());
        clients.expect("INFO clients counts them") - 1
    }

    /// The addresses of the connections that have subscribed to something.
    ///
    /// # Panics
    /// The server is dead or frozen.
    pub fn subscribed_from(&self) -> Vec<SocketAddr> {
        let list = self.cli(&["CLIENT", "LIST", "TYPE", "pubsub"]);
        let words = list.split_whitespace();
        words.filter_map(|word| word.strip_prefix("addr=")?.parse().ok()).collect()
    }

    /// Sets its wall clock so many milliseconds before (less than 0) or after that of the machine.
    /// Its other clocks stay. A restart changes nothing about it.
    ///
    /// # Panics
    /// The server was built without [`RedisServerBuilder::settable_clock`].
    pub fn set_clock(&self, ahead_ms: i64) {
        let clock = self.settings.clock().expect("the server was started without a settable clock");
        clock.set(self.port(), ahead_ms);
    }

    /// Makes it a replica of another, and waits until it has the other's data, and the other knows it.
    ///
    /// # Panics
    /// One of them is dead or frozen, or the data does not come.
    pub fn follow(&self, master: &Self) {
        master.cli(&["CONFIG", "SET", "repl-diskless-sync-delay", "0"]);
        self.cli(&["REPLICAOF", "127.0.0.1", &master.port().to_string()]);
        let deadline = Instant::now() + SYNC_LIMIT;
        let until = |done: &dyn Fn() -> bool| {
            while !done() {
                assert!(Instant::now() < deadline, "the replica does not get its master's data");
                thread::sleep(Duration::from_millis(10));
            }
        };
        until(&|| self.cli(&["INFO", "replication"]).contains("master_link_status:up"));
        // Right after it got the data it does not hear of more for up to a second, though it counts as
        // online.
        master.cli(&["PUBLISH", "testkit", ""]);
        let published = offset(&master.cli(&["INFO", "replication"]), "master_repl_offset:");
        until(&|| {
            // It is asked for a word now.
            master.cli(&["WAIT", "99", "5"]);
            let info = master.cli(&["INFO", "replication"]);
            let online = format!(",port={},state=online,offset=", self.port());
            offset(&info, &online) >= published
        });
    }

    /// The folder it works in.
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    fn relaunch(&self, prepare: impl FnOnce()) {
        let mut process = self.process();
        process.kill();
        prepare();
        let (next, connection) = self.settings.launch_again(self.port(), &self.scratch);
        *process = next;
        drop(process);
        *lock(&self.control) = Some(connection);
    }

    fn process(&self) -> MutexGuard<'_, Process> {
        lock(&self.process)
    }
}

/// The number that stands behind `label`; none before the first.
fn offset(info: &str, label: &str) -> Option<u64> {
    let (_, rest) = info.split_once(label)?;
    let digits = rest.find(|of: char| !of.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

const SYNC_LIMIT: Duration = Duration::from_secs(60);
const MARKER: &str = "palisade:marker";
/// What stands in the key of each record of a process.
const RECORD: &str = "palisade_process:";

fn was_cut(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

/// A test that panicked while it held the lock has left nothing half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
