//! A real server for the tests of this room and of those above it.

use std::{
    io::{BufRead, BufReader},
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use super::{Endpoint, Node, NodeSettings};
use crate::{
    clock::{BootClock, Clock, Instant},
    standing::{Rules, Unidentified},
    wire::{Call, Items, Malformed, Script},
};

/// A `redis-server` process on a free port; it and its folder go when this is dropped.
pub(crate) struct TestServer {
    child: Child,
    port: u16,
    dir: PathBuf,
    args: Vec<String>,
}

impl TestServer {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    pub(crate) fn start_with(args: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        drop(listener);
        let dir = std::env::temp_dir().join(format!("palisade-{}-{port}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a temporary folder");
        let args: Vec<_> = args.iter().map(|arg| (*arg).to_owned()).collect();
        Self { child: spawn(port, &dir, &args), port, dir, args }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.dir.join("redis.sock")
    }

    /// A node that speaks to this server, with the settings of the tests.
    pub(crate) fn node(&self) -> Node {
        node(&self.url())
    }

    /// SIGKILL; waits until it is dead.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it is our child");
        self.child.wait().expect("it is our child");
    }

    /// Starts it anew on the same port, empty.
    pub(crate) fn restart(&mut self) {
        self.child = spawn(self.port, &self.dir, &self.args);
    }

    /// The same, while it still loads its data.
    pub(crate) fn restart_without_waiting(&mut self) {
        self.child = launch(self.port, &self.dir, &self.args, "Server initialized");
    }

    pub(crate) fn freeze(&self) {
        self.signal("-STOP");
    }

    pub(crate) fn thaw(&self) {
        self.signal("-CONT");
    }

    /// A command by a connection of its own.
    pub(crate) fn run<T: redis::FromRedisValue>(&self, command: &str) -> T {
        let client = redis::Client::open(self.url()).expect("the URL is ours");
        let mut connection = client.get_connection().expect("the server is up");
        let mut words = command.split(' ');
        let mut cmd = redis::cmd(words.next().unwrap_or_default());
        words.for_each(|word| {
            cmd.arg(word);
        });
        cmd.query(&mut connection).expect(command)
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args([signal, &pid]).status().expect("kill(1) is there");
        assert!(status.success());
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
        let _removed = std::fs::remove_dir_all(&self.dir);
    }
}

/// A node with the settings of the tests: fast, but for what a busy machine may be late with.
pub(crate) fn node(url: &str) -> Node {
    Node::new(Endpoint::parse(url).expect("the URL is ours"), settings())
}

pub(crate) fn settings() -> NodeSettings {
    NodeSettings {
        random: std::sync::Arc::new(crate::random::Random::of_system()),
        clock: Arc::new(BootClock),
        client_name: "palisade-test".into(),
        connect_timeout: Duration::from_secs(5),
        frozen_after: 3,
        backoff_max: Duration::from_millis(200),
        margin: Duration::from_millis(20),
        rules: Rules { quarantine: Duration::from_secs(66), unidentified: Unidentified::Refuse },
        scripts: vec![&ECHO],
    }
}

/// Long enough for everything that ought to succeed.
pub(crate) fn later() -> Instant {
    in_ms(30_000)
}

pub(crate) fn in_ms(ms: u64) -> Instant {
    BootClock.now() + Duration::from_millis(ms)
}

/// Asks again until there is an answer; panics when it takes too long.
pub(crate) async fn until<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    within(asking).await
}

/// The output, or a panic instead of a test that hangs.
pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), work).await.expect("it hangs")
}

/// Writes its number to a key and answers it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Echo(pub(crate) i64);

pub(crate) static ECHO: Script = Script::new("echo.lua", ECHO_SOURCE, 1, || {
    sha1_smol::Sha1::from(ECHO_SOURCE).digest().to_string()
});

const ECHO_SOURCE: &str = "
    local time = redis.call('TIME')
    redis.call('INCR', 'calls')
    return {time[1] * 1000000 + time[2], tonumber(ARGV[1])}
";

impl Call for Echo {
    type Reply = i64;

    fn script(&self) -> &'static Script {
        &ECHO
    }

    fn write(&self, to: &mut redis::Cmd) {
        to.arg(0).arg(self.0);
    }

    fn decode(&self, mut items: Items) -> Result<i64, Malformed> {
        items.int()
    }
}

fn spawn(port: u16, dir: &PathBuf, args: &[String]) -> Child {
    launch(port, dir, args, "Ready to accept connections")
}

/// Waits until the server has logged `ready`.
fn launch(port: u16, dir: &PathBuf, args: &[String], ready: &str) -> Child {
    let mut child = Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
        .args(["--enable-debug-command", "yes", "--unixsocket", "redis.sock"])
        .args(args)
        .current_dir(dir)
        .stdout(Stdio::piped())
        .spawn()
        .expect("these tests need `redis-server` on the PATH");
    let output = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut lines = output.lines().map_while(Result::ok);
    let started = lines.any(|line| line.contains(ready));
    assert!(started, "redis-server did not start on port {port}");
    // Whoever stops reading gets it killed by SIGPIPE at its next log line.
    std::thread::spawn(move || lines.for_each(drop));
    child
}
