//! Semaphores: five jobs share two slots, and both slots share three connections to something expensive.
//!
//! A slot is a permit with a lease: that of a job whose process dies is had by the next one when it ends.
//! Runs on an in-process server, or on the one in `PALISADE_SERVER`, where jobs might as well be processes
//! of their own, or Java services with Redisson.
#![expect(clippy::print_stdout, reason = "tells a story")]

use std::{env, error::Error, time::Duration};

use palisade::{Client, embedded::Server};

const SLOTS: u32 = 2;
const CONNECTIONS: u32 = 3;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = match env::var("PALISADE_SERVER") {
        Ok(url) => Client::connect(&url).await?,
        Err(_) => Server::start()?.client()?,
    };
    let slots = client.expirable_semaphore("slots");
    if !slots.try_set_permits(SLOTS).await? && slots.total().await? != Some(SLOTS.into()) {
        return Err("somebody else wants another number of slots".into());
    }
    client.semaphore("connections").try_set_permits(CONNECTIONS).await?;
    let jobs: Vec<_> = (1..=5)
        .map(|job| {
            let client = client.clone();
            tokio::spawn(async move { run(job, &client).await.map_err(|error| error.to_string()) })
        })
        .collect();
    for job in jobs {
        job.await??;
    }
    Ok(client.shutdown(Duration::from_secs(5)).await?)
}

async fn run(job: u32, client: &Client) -> Result<(), Box<dyn Error>> {
    let slot = client.expirable_semaphore("slots").acquire().await?;
    println!("job {job}: begins in slot {}", slot.holder_id());
    // Stopped, with an error, if the slot is lost.
    slot.run(async {
        let connections = client.semaphore("connections").acquire_many(1 + job % 2).await?;
        println!("job {job}: has {} connections", connections.permits());
        tokio::time::sleep(Duration::from_millis(100)).await;
        connections.release().await?;
        Ok::<_, Box<dyn Error>>(())
    })
    .await??;
    println!("job {job}: is done");
    Ok(slot.release().await?)
}
