//! A master, two replicas and three sentinels.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use testkit::{RedisServer, Sentinels};

/// Workers ask the sentinels where the master is.
#[derive(Debug)]
pub(super) struct Service {
    servers: Vec<RedisServer>,
    sentinels: Mutex<Sentinels>,
}

impl Service {
    pub(super) fn start() -> Self {
        let servers: Vec<_> = (0..SERVERS).map(|_| server()).collect();
        let (master, replicas) = servers.split_first().expect("invariant: there are servers");
        replicas.iter().for_each(|replica| replica.follow(master));
        let sentinels = Sentinels::over(master.addr(), replicas.len(), SENTINELS);
        sentinels.hasten();
        Self { servers, sentinels: Mutex::new(sentinels) }
    }

    pub(super) fn url(&self) -> String {
        format!("redis+sentinel://{}/{}", self.sentinels().hosts().join(","), Sentinels::SERVICE)
    }

    pub(super) fn sentinels(&self) -> MutexGuard<'_, Sentinels> {
        self.sentinels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn servers(&self) -> &[RedisServer] {
        &self.servers
    }

    /// The one that sentinels name.
    pub(super) fn master(&self) -> &RedisServer {
        let port = self.sentinels().master();
        let found = self.servers.iter().find(|server| server.port() == port);
        found.expect("invariant: sentinels know these servers alone")
    }

    pub(super) fn replicas(&self) -> impl Iterator<Item = &RedisServer> {
        let master = self.master().port();
        self.servers.iter().filter(move |server| server.port() != master)
    }

    /// Has all others follow the master. Sentinels would see to that, too, after some ten seconds.
    pub(super) fn gather(&self) {
        let master = self.master();
        let follows = |server: &&RedisServer| {
            let info = server.cli(&["INFO", "replication"]);
            let wanted = format!("master_port:{}\r\n", master.port());
            info.contains(&wanted) && info.contains("master_link_status:up")
        };
        self.replicas()
            .filter(|replica| !follows(replica))
            .for_each(|replica| replica.follow(master));
    }

    /// From now on no replica hears of what the master grants.
    pub(super) fn cut_replication(&self) {
        for replica in self.replicas() {
            // None is a replica of its own.
            replica.cli(&["REPLICAOF", "127.0.0.1", &replica.port().to_string()]);
        }
        self.until("nobody follows the master", |master| {
            master.cli(&["INFO", "replication"]).contains("connected_slaves:0")
        });
    }

    /// Waits until the server that the sentinels name is a master by its own word.
    pub(super) fn settle(&self) {
        self.until("the master knows that it is one", |master| {
            master.cli(&["INFO", "replication"]).contains("role:master")
        });
    }

    fn until(&self, what: &str, done: impl Fn(&RedisServer) -> bool) {
        let deadline = Instant::now() + LIMIT;
        while !done(self.master()) {
            assert!(Instant::now() < deadline, "never happened: {what}");
            thread::sleep(POLL);
        }
    }
}

/// Its replicas get its data at once when it was promoted, as they do when it is told by hand.
fn server() -> RedisServer {
    RedisServer::builder().arg("--repl-diskless-sync-delay", "0").start()
}

const SERVERS: usize = 3;
const SENTINELS: usize = 3;
const POLL: Duration = Duration::from_millis(5);
const LIMIT: Duration = Duration::from_secs(30);
