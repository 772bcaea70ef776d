//! A service that is given its lock, of whatever kind: a majority of masters in production, one server at home.
#![expect(clippy::print_stdout, reason = "tells a story")]

use std::error::Error;

use palisade::any::BoxLock;
use palisade::{Masters, embedded::Server};

/// Knows that there is a lock, and not where.
struct Migration {
    lock: BoxLock,
}

impl Migration {
    async fn run(&self) -> Result<String, Box<dyn Error>> {
        let guard = self.lock.acquire().await?;
        let token =
            guard.fencing_token().map_or("no token".into(), |token| format!("token {token}"));
        guard.release().await?;
        Ok(token)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let home = Server::start()?.client()?;
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(Server::start()?.client()?);
    }
    let masters = Masters::new(clients)?;
    for (place, lock) in [
        ("at home", home.lock("migration").boxed()),
        ("in production", masters.fenced_red_lock("migration").boxed()),
    ] {
        println!("{place}: {}", Migration { lock }.run().await?);
    }
    Ok(())
}
