//! An election as it is often written: each of its shortcuts has made two leaders somewhere.

use std::time::{Duration, Instant};

use testkit::{Connection, RedisServer};

/// A candidate for the key `naive`, by one connection.
pub(super) struct Naive {
    connection: Connection,
    pub(super) id: String,
    /// Whether it believes that it leads ...
    believes: bool,
    /// ... and until when, if it counts.
    until: Option<Instant>,
}

impl Naive {
    pub(super) fn new(server: &RedisServer, id: &str) -> Self {
        Self { connection: server.connect(), id: id.to_owned(), believes: false, until: None }
    }

    /// `SET NX PX`, which is right as far as it goes.
    pub(super) fn campaign(&mut self, lease: Duration) -> bool {
        let lease = lease.as_millis().to_string();
        let id = self.id.clone();
        let taken = self.said(&["SET", "naive", &id, "NX", "PX", &lease]).is_some();
        self.believes |= taken;
        taken
    }

    pub(super) fn reads(&mut self) -> Option<String> {
        self.said(&["GET", "naive"])
    }

    pub(super) fn writes(&mut self, lease: Duration) {
        let (lease, id) = (lease.as_millis().to_string(), self.id.clone());
        self.said(&["SET", "naive", &id, "PX", &lease]);
        self.believes = true;
    }

    pub(super) fn deletes(&mut self) {
        self.said(&["DEL", "naive"]);
    }

    pub(super) fn is_told(&mut self, leads: bool) {
        self.believes = leads;
    }

    pub(super) fn counts_from(&mut self, start: Instant, lease: Duration) {
        self.until = Some(start + lease);
    }

    pub(super) fn leads(&self) -> bool {
        self.believes && self.until.is_none_or(|until| Instant::now() < until)
    }

    /// `None` for nil.
    fn said(&mut self, command: &[&str]) -> Option<String> {
        match self.connection.command(command).expect("the server answers") {
            testkit::Reply::Bulk(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            testkit::Reply::Nil => None,
            other => Some(format!("{other:?}")),
        }
    }
}
