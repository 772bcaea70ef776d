//! How a server is started.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::port::PortClaim;
use crate::process::Process;
use crate::resp::{Connection, Reply};
use crate::scratch::Scratch;
use crate::server::RedisServer;
use crate::stats;
use crate::tls::TlsPort;
use crate::wall_clock::WallClocks;

/// Settings of a server to be started.
#[derive(Debug, Clone, Default)]
pub struct RedisServerBuilder {
    args: Vec<OsString>,
    password: Option<String>,
    unix_socket: bool,
    tls: Option<Arc<TlsPort>>,
    clock: Option<Arc<WallClocks>>,
}

impl RedisServerBuilder {
    /// Adds an option as on the command line; it overrides the harness' own.
    #[must_use]
    pub fn arg(mut self, option: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.args.extend([option.into(), value.into()]);
        self
    }

    /// Knows DEBUG.
    #[must_use]
    pub fn debuggable(self) -> Self {
        // Before, it always did.
        if major_version() >= 7 { self.arg("--enable-debug-command", "yes") } else { self }
    }

    /// Takes a command away, as some providers of servers do.
    #[must_use]
    pub fn without(mut self, command: &str) -> Self {
        self.args.extend(["--rename-command", command, ""].map(OsString::from));
        self
    }

    /// Sets the default user's password, which the harness then uses.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self
    }

    /// Listens at a unix socket too: [`RedisServer::unix_url`].
    #[must_use]
    pub fn unix_socket(mut self) -> Self {
        self.unix_socket = true;
        self
    }

    /// Speaks TLS at a port of its own too: [`RedisServer::tls_port`].
    #[must_use]
    pub fn tls(mut self, port: TlsPort) -> Self {
        self.tls = Some(Arc::new(port));
        self
    }

    /// Lets its wall clock be [set](RedisServer::set_clock).
    #[must_use]
    pub fn settable_clock(mut self, clocks: &Arc<WallClocks>) -> Self {
        self.clock = Some(clocks.clone());
        self
    }

    /// Starts the server and waits until it answers PING.
    ///
    /// # Panics
    /// There is no `redis-server`, or it does not start.
    #[must_use]
    pub fn start(self) -> RedisServer {
        let scratch = Scratch::new();
        for _ in 0..PORTS_TRIED {
            let port = PortClaim::new();
            if let Some(clock) = self.clock() {
                clock.set(port.port(), 0);
            }
            match self.launch(port.port(), &scratch) {
                Ok(started) => return RedisServer::assemble(self, started, port, scratch),
                Err(NotStarted::PortTaken) => {}
                Err(reason) => {
                    // The reason quotes the log: there is nothing to keep.
                    drop(scratch);
                    panic!("redis-server did not start: {reason}");
                }
            }
        }
        panic!("redis-server did not start: {PORTS_TRIED} ports in a row were taken");
    }

    pub(crate) fn has_unix_socket(&self) -> bool {
        self.unix_socket || by_unix_socket()
    }

    /// A password asks for other users.
    pub(crate) fn has_users_of_all(&self) -> bool {
        self.password.is_none()
    }

    pub(crate) fn tls_port(&self) -> Option<u16> {
        self.tls.as_ref().map(|tls| tls.port())
    }

    pub(crate) fn clock(&self) -> Option<&WallClocks> {
        self.clock.as_deref()
    }

    /// At the port it had: no other test with a claim can have taken it.
    pub(crate) fn launch_again(&self, port: u16, scratch: &Scratch) -> Started {
        let deadline = Instant::now() + START_LIMIT;
        loop {
            match self.launch(port, scratch) {
                Ok(started) => return started,
                Err(NotStarted::PortTaken) if Instant::now() < deadline => thread::sleep(POLL),
                Err(reason) => panic!("redis-server did not come back: {reason}"),
            }
        }
    }

    fn launch(&self, port: u16, scratch: &Scratch) -> Result<Started, NotStarted> {
        // The log goes on over restarts; what counts here is what this start adds.
        let logged = fs::metadata(scratch.log()).map_or(0, |log| log.len());
        let mut process = self.spawn(port, scratch);
        let deadline = Instant::now() + START_LIMIT;
        let addr = (Ipv4Addr::LOCALHOST, port).into();
        loop {
            if process.ended().is_some() {
                return Err(NotStarted::from_log(scratch, logged));
            }
            match self.probe(addr, process.id()) {
                Probe::Ready(connection) => return Ok((process, connection)),
                Probe::SomebodyElse => return Err(NotStarted::PortTaken),
                Probe::NotYet if Instant::now() < deadline => thread::sleep(POLL),
                Probe::NotYet => return Err(NotStarted::TooSlow),
            }
        }
    }

    fn spawn(&self, port: u16, scratch: &Scratch) -> Process {
        let program = redis_server();
        let mut command = Command::new(&program);
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1"]);
        command.args(["--save", "", "--appendonly", "no"]);
        command.arg("--dir").arg(scratch.path()).arg("--logfile").arg(scratch.log());
        if let Some(password) = &self.password {
            command.args(["--requirepass", password]);
        }
        if self.has_unix_socket() {
            command.arg("--unixsocket").arg(scratch.socket());
        }
        for (option, value) in self.tls.iter().flat_map(|tls| tls.args()) {
            command.args([option, &value]);
        }
        if let Some(clock) = self.clock() {
            clock.give_to(&mut command, port);
        }
        command.args(&self.args).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(scratch.open_log());
        Process::spawn(&mut command).unwrap_or_else(|e| panic!("{}", cannot_run(&program, &e)))
    }

    fn probe(&self, addr: SocketAddr, pid: u32) -> Probe {
        let Ok(mut connection) = self.connect(addr) else { return Probe::NotYet };
        match connection.command(&["PING"]) {
            Ok(Reply::Error(reason)) if reason.starts_with("LOADING") => return Probe::NotYet,
            Ok(_) => {}
            Err(_) => return Probe::NotYet,
        }
        // Another server may have taken the port between our look and the start of ours. One that
        // does not let us ask is ours: its rights were set by the arguments of the test.
        let info = connection.command(&["INFO", "server"]).map(|reply| reply.to_string());
        match info.ok().as_deref().and_then(|info| stats::field(info, "process_id")) {
            Some(other) if other != pid.to_string() => return Probe::SomebodyElse,
            _ => {}
        }
        // So that the statistics start without our own PING; refused without the right to.
        drop(connection.command(&["CONFIG", "RESETSTAT"]));
        if let Some(rules) = rules_of_all() {
            let mut words = vec!["ACL", "SETUSER", EVERYBODY, "reset", "on", "nopass"];
            words.extend(rules.split_whitespace());
            // A server whose own user may not do this has users of its own.
            drop(connection.command(&words));
        }
        Probe::Ready(connection)
    }

    pub(crate) fn connect(&self, addr: SocketAddr) -> io::Result<Connection> {
        let mut connection = Connection::open(addr, ANSWER_LIMIT)?;
        if let Some(password) = &self.password {
            connection.command(&["AUTH", password])?;
        }
        Ok(connection)
    }
}

/// A server that answers, and the connection by which it was asked.
pub(crate) type Started = (Process, Connection);

enum Probe {
    Ready(Connection),
    SomebodyElse,
    NotYet,
}

/// Why a start came to nothing.
#[derive(Debug)]
enum NotStarted {
    PortTaken,
    TooSlow,
    Exited { last_lines: String },
}

impl NotStarted {
    fn from_log(scratch: &Scratch, logged: u64) -> Self {
        let log = fs::read(scratch.log()).unwrap_or_default();
        let added = log.get(usize::try_from(logged).unwrap_or(0)..).unwrap_or_default();
        let added = String::from_utf8_lossy(added);
        if added.contains("Address already in use") {
            return Self::PortTaken;
        }
        let lines: Vec<_> = added.lines().collect();
        let last_lines = lines.get(lines.len().saturating_sub(20)..).unwrap_or_default().join("\n");
        Self::Exited { last_lines }
    }
}

impl fmt::Display for NotStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PortTaken => f.write_str("its port is taken"),
            Self::TooSlow => write!(f, "no PONG within {START_LIMIT:?}"),
            Self::Exited { last_lines } => write!(f, "it exited, its last lines:\n{last_lines}"),
        }
    }
}

/// The server's program, which is also that of sentinels.
pub(crate) fn redis_server() -> OsString {
    env::var_os("PALISADE_REDIS_SERVER").unwrap_or("redis-server".into())
}

/// The first number of its version.
pub(crate) fn major_version() -> u32 {
    static KNOWN: OnceLock<u32> = OnceLock::new();
    *KNOWN.get_or_init(|| {
        let program = redis_server();
        let said = Command::new(&program).arg("--version").output();
        let said = said.unwrap_or_else(|error| panic!("{}", cannot_run(&program, &error)));
        let said = String::from_utf8_lossy(&said.stdout);
        let version = said.split_once("v=").map(|(_, version)| version);
        let major = version.and_then(|version| version.split('.').next()?.parse().ok());
        major.unwrap_or_else(|| panic!("no version: {said}"))
    })
}

fn cannot_run(program: &OsString, error: &io::Error) -> String {
    let program = program.display();
    match error.kind() {
        io::ErrorKind::NotFound => format!(
            "{program} is missing: `cargo xtask test` installs it, \
             or PALISADE_REDIS_SERVER may name another one"
        ),
        _ => format!("{program} cannot be run: {error}"),
    }
}

/// What the users of a whole suite may do, if that is said.
pub(crate) fn rules_of_all() -> Option<String> {
    env::var("PALISADE_RULES").ok().filter(|rules| !rules.is_empty())
}

/// The user that comes to the servers of such a suite.
pub(crate) const EVERYBODY: &str = "everybody";

/// Whether the servers of a whole suite are to be reached so.
pub(crate) fn by_unix_socket() -> bool {
    env::var_os("PALISADE_TRANSPORT").is_some_and(|transport| transport == "unix")
}

const POLL: Duration = Duration::from_millis(2);
/// Long, since many tests share few cores. A start usually takes some ten milliseconds.
pub(crate) const START_LIMIT: Duration = Duration::from_secs(30);
/// For one answer on the harness' own connection.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
const PORTS_TRIED: u32 = 20;
