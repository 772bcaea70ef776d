//! A service with three replicas, each with the same timer: one does the job, the others see that it is being done.
//!
//! A lock keeps runs apart as long as they would overlap. A replica whose timer is late, and comes after the end of the
//! first run, would run the job again: so what was done is written down, and looked at under the lock.
#![expect(clippy::print_stdout, reason = "tells a story")]

use std::error::Error;
use std::time::Duration;

use palisade::{Client, embedded::Server};
use redis::{AsyncCommands, aio::MultiplexedConnection};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::start()?;
    let url = format!("redis://{}", server.listen(([127, 0, 0, 1], 0).into()).await?);
    let mut replicas = Vec::new();
    for (name, late_by) in [("a", 0), ("b", 10), ("c", 200)] {
        // Each is a process of its own in life, with a client of its own.
        let client = Client::connect(&url).await?;
        let data = redis::Client::open(url.as_str())?.get_multiplexed_async_connection().await?;
        replicas.push(tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(late_by)).await;
            let run = on_timer(name, &client, data).await;
            run.map_err(|error| error.to_string())
        }));
    }
    for replica in replicas {
        println!("{}", replica.await??);
    }
    Ok(())
}

/// What the schedule calls this run: the same on all replicas, whatever their clocks say.
const PERIOD: &str = "2026-11-26T03";

async fn on_timer(
    name: &str,
    client: &Client,
    mut data: MultiplexedConnection,
) -> Result<String, Box<dyn Error + Send + Sync>> {
    let lock = client.lock("nightly");
    let run = lock.try_with(async |guard| {
        if data.get::<_, Option<String>>("nightly:done").await?.as_deref() == Some(PERIOD) {
            return Ok::<_, Box<dyn Error + Send + Sync>>(format!("{name}: it was done before"));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        // A run that ends without this is repeated: at least once, never "exactly once".
        guard.ensure_valid()?;
        let _: () = data.set("nightly:done", PERIOD).await?;
        Ok(format!("{name}: done"))
    });
    run.await?.unwrap_or_else(|| Ok(format!("{name}: another replica is at it")))
}
