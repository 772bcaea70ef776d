//! Data in Redis that is read, changed and written by several processes, with redis-rs beside palisade.
//!
//! Each has its own connections. A lock guards a change that takes more than one command; for one that fits into one
//! command, or into one script, no lock is needed.
#![expect(clippy::print_stdout, reason = "tells a story")]

use std::env;
use std::error::Error;
use std::time::Duration;

use palisade::{Client, embedded::Server};
use redis::{AsyncCommands, aio::MultiplexedConnection};
use tokio::task::JoinSet;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Lives as long as this does.
    let embedded = Server::start()?;
    let url = match env::var("PALISADE_SERVER") {
        Ok(url) => url,
        Err(_) => format!("redis://{}", embedded.listen(([127, 0, 0, 1], 0).into()).await?),
    };
    let locks = Client::connect(&url).await?;
    let mut data = redis::Client::open(url)?.get_multiplexed_async_connection().await?;
    let _: () = data.set("stock:42", 5).await?;

    let mut orders = JoinSet::new();
    for _ in 0..8 {
        let (locks, data) = (locks.clone(), data.clone());
        orders.spawn(async move { order(&locks, data).await.map_err(|error| error.to_string()) });
    }
    let mut sold = 0;
    while let Some(done) = orders.join_next().await {
        sold += u32::from(done??);
    }
    let left: u32 = data.get("stock:42").await?;
    println!("sold {sold}, {left} left");
    locks.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}

/// True if there was one left.
async fn order(locks: &Client, mut data: MultiplexedConnection) -> Result<bool, Box<dyn Error>> {
    let guard = locks.lock("lock:stock:42").acquire().await?;
    let left: u32 = data.get("stock:42").await?;
    // A rule that is more than a comparison, or asks another service.
    tokio::time::sleep(Duration::from_millis(2)).await;
    let is_sold = left > 0;
    if is_sold {
        // The last look before the write. Where even that is too early, the write has to be refused by the store.
        guard.ensure_valid()?;
        let _: () = data.set("stock:42", left - 1).await?;
    }
    guard.release().await?;
    Ok(is_sold)
}
