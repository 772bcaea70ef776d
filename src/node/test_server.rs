//! What the tests of this room, and of those above it, need beside a real server.

use testkit::RedisServer;

use super::deployment::Node;
use crate::reach::{Endpoint, test_settings::settings};

/// What these tests ask of a server.
pub(crate) trait TestServer {
    /// A node that speaks to it, with the settings of the tests.
    fn node(&self) -> Node;

    /// The same as a user `alice` with the password `wonder`.
    fn node_of_alice(&self) -> Node;

    /// A command of words with spaces between them, which must not fail.
    fn run(&self, command: &str) -> String;
}

impl TestServer for RedisServer {
    fn node(&self) -> Node {
        node(&self.url())
    }

    fn node_of_alice(&self) -> Node {
        node(&self.url_with("alice", "wonder"))
    }

    #[track_caller]
    fn run(&self, command: &str) -> String {
        self.cli(&command.split(' ').collect::<Vec<_>>())
    }
}

/// A node with the settings of the tests: fast, but for what a busy machine may be late with.
pub(crate) fn node(url: &str) -> Node {
    Node::new(Endpoint::parse(url).expect("the URL is ours"), settings())
}
