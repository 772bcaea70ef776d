//! A connection to each of the two servers.

use palisade::embedded::Server;
use testkit::RedisServer;
use tokio::io::DuplexStream;
use tokio::net::TcpStream;

use super::wire::{Reply, Request, Wire};

/// Both servers.
pub(crate) struct Servers {
    real: RedisServer,
    embedded: Server,
}

/// A connection to each.
pub(crate) struct Pair {
    pub(crate) real: Wire<TcpStream>,
    pub(crate) embedded: Wire<DuplexStream>,
}

/// What each has answered.
pub(crate) struct Both {
    pub(crate) real: Reply,
    pub(crate) embedded: Reply,
}

impl Servers {
    pub(crate) fn start() -> Self {
        let real = RedisServer::start();
        // The harness leaves: a call could name its connection, by a number that depends on how often
        // it had to look until the server was up.
        let all = ["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no"];
        real.connect().command(&all).expect("the server is up");
        Self { real, embedded: Server::start_here() }
    }

    pub(crate) async fn connect(&self) -> Pair {
        let real = TcpStream::connect(self.real.addr()).await.expect("a real connection");
        real.set_nodelay(true).expect("a socket option");
        let embedded = self.embedded.connect().await.expect("an embedded connection");
        Pair { real: Wire::new(real), embedded: Wire::new(embedded) }
    }
}

impl Pair {
    /// Sends the requests to both and waits for as many replies.
    pub(crate) async fn call_all(&mut self, requests: &[Request]) -> Vec<Both> {
        self.send(requests).await;
        self.receive(requests.len()).await
    }

    pub(crate) async fn send(&mut self, requests: &[Request]) {
        self.real.send(requests).await.expect("sent to the real server");
        self.embedded.send(requests).await.expect("sent to the embedded server");
    }

    pub(crate) async fn call(&mut self, request: Request) -> Both {
        self.call_all(&[request]).await.remove(0)
    }

    /// So many replies or pushes of both.
    pub(crate) async fn receive(&mut self, count: usize) -> Vec<Both> {
        let mut replies = Vec::with_capacity(count);
        for _ in 0..count {
            let embedded = self.embedded.receive().await.expect("a reply of the embedded server");
            let real = self.real.receive().await.expect("a reply of the real server");
            replies.push(Both { real, embedded });
        }
        replies
    }
}
