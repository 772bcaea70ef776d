//! A vendor that allows three requests at a time, whatever number of tasks and processes asks.
//!
//! A permit has a lease: that of a process that dies comes back by itself.
#![expect(clippy::print_stdout, reason = "tells a story")]

use std::env;
use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use palisade::{Client, embedded::Server};
use tokio::task::JoinSet;

const LIMIT: u32 = 3;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = match env::var("PALISADE_SERVER") {
        Ok(url) => Client::connect(&url).await?,
        Err(_) => Server::start()?.client()?,
    };
    // The first process sets the limit; for all others this does nothing.
    client.expirable_semaphore("vendor").try_set_permits(LIMIT).await?;
    let mut requests = JoinSet::new();
    for order in 1..=10 {
        let client = client.clone();
        requests.spawn(async move {
            ask_vendor(&client, order).await.map_err(|error| error.to_string())
        });
    }
    while let Some(done) = requests.join_next().await {
        done??;
    }
    println!("at most {} requests at a time", MOST.load(Ordering::Relaxed));
    client.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}

async fn ask_vendor(client: &Client, order: u32) -> Result<(), Box<dyn Error>> {
    let permit = client.expirable_semaphore("vendor").acquire().await?;
    // Dropped at its next await if the permit is lost: the vendor then counts another request in its place.
    permit.run(request(order)).await?;
    permit.release().await?;
    Ok(())
}

static NOW: AtomicU32 = AtomicU32::new(0);
static MOST: AtomicU32 = AtomicU32::new(0);

/// In place of a request by HTTP.
async fn request(order: u32) {
    MOST.fetch_max(NOW.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_millis(20)).await;
    NOW.fetch_sub(1, Ordering::Relaxed);
    println!("order {order}: the vendor has answered");
}
