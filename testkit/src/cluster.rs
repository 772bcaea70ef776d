//! Several independent masters.

use std::ops::Index;
use std::panic::resume_unwind;
use std::slice;
use std::thread::{self, ScopedJoinHandle};

use crate::builder::RedisServerBuilder;
use crate::server::RedisServer;

/// Independent masters, as `MultiLock` and `RedLock` want them. Not a Redis Cluster.
#[derive(Debug)]
pub struct Cluster {
    servers: Vec<RedisServer>,
}

impl Cluster {
    /// Starts `n` servers side by side.
    ///
    /// # Panics
    /// There is no `redis-server`, or one does not start.
    #[must_use]
    pub fn start(n: usize) -> Self {
        Self::start_with(n, &RedisServer::builder())
    }

    /// Starts `n` servers with equal settings.
    ///
    /// # Panics
    /// There is no `redis-server`, or one does not start.
    #[must_use]
    pub fn start_with(n: usize, settings: &RedisServerBuilder) -> Self {
        // The first one alone: what stops every server is then said once, and on this thread.
        let first = (n > 0).then(|| settings.clone().start());
        let others: Vec<_> = thread::scope(|scope| {
            let starts: Vec<_> = (1..n).map(|_| scope.spawn(|| settings.clone().start())).collect();
            starts.into_iter().map(ScopedJoinHandle::join).collect()
        });
        let others = others.into_iter().map(|start| start.unwrap_or_else(|e| resume_unwind(e)));
        Self { servers: first.into_iter().chain(others).collect() }
    }

    pub(crate) fn of(servers: Vec<RedisServer>) -> Self {
        Self { servers }
    }

    /// The same servers, each [blessed](RedisServer::bless).
    #[must_use]
    pub fn blessed(self) -> Self {
        self.iter().for_each(RedisServer::bless);
        self
    }

    /// The URLs, in order.
    pub fn urls(&self) -> Vec<String> {
        self.iter().map(RedisServer::url).collect()
    }

    /// Every server, in order.
    pub fn iter(&self) -> slice::Iter<'_, RedisServer> {
        self.servers.iter()
    }

    /// How many there are, dead or alive.
    pub fn len(&self) -> usize {
        self.servers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// As [`RedisServer::kill`].
    pub fn kill(&self, i: usize) {
        self[i].kill();
    }

    /// As [`RedisServer::restart`].
    pub fn restart(&self, i: usize) {
        self[i].restart();
    }

    /// As [`RedisServer::restart_empty`].
    pub fn restart_empty(&self, i: usize) {
        self[i].restart_empty();
    }

    /// As [`RedisServer::freeze`].
    pub fn freeze(&self, i: usize) {
        self[i].freeze();
    }

    /// As [`RedisServer::thaw`].
    pub fn thaw(&self, i: usize) {
        self[i].thaw();
    }
}

impl Index<usize> for Cluster {
    type Output = RedisServer;

    fn index(&self, i: usize) -> &RedisServer {
        self.servers.get(i).unwrap_or_else(|| panic!("server {i} of {}", self.len()))
    }
}

impl<'a> IntoIterator for &'a Cluster {
    type Item = &'a RedisServer;
    type IntoIter = slice::Iter<'a, RedisServer>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
