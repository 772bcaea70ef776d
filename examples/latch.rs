//! A count-down latch: three workers load parts of a catalogue, and the shop opens when all are done.
//!
//! Runs on an in-process server, or on the one in `PALISADE_SERVER`, where the workers might as well be
//! processes of their own, or Java services with Redisson.
#![expect(clippy::print_stdout, reason = "tells a story")]

use std::{env, error::Error, time::Duration};

use palisade::{Client, CountDownLatch, embedded::Server, error::ChangeError};

const PARTS: u64 = 3;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = match env::var("PALISADE_SERVER") {
        Ok(url) => Client::connect(&url).await?,
        Err(_) => Server::start()?.client()?,
    };
    let latch = client.count_down_latch("catalogue");
    if !latch.try_set_count(PARTS).await? {
        println!("shop: somebody loads the catalogue already");
    }
    let workers: Vec<_> = (1..=PARTS).map(|part| tokio::spawn(load(part, latch.clone()))).collect();
    while !latch.wait_for(Duration::from_millis(100)).await? {
        println!("shop: {} parts are missing", latch.count().await?);
    }
    println!("shop: open");
    for worker in workers {
        worker.await??;
    }
    Ok(client.shutdown(Duration::from_secs(5)).await?)
}

async fn load(part: u64, latch: CountDownLatch) -> Result<(), ChangeError> {
    tokio::time::sleep(Duration::from_millis(120 * part)).await;
    println!("worker: part {part} is loaded");
    // Counts once, although an answer may be lost and the server asked again.
    latch.count_down().await.map(drop)
}
