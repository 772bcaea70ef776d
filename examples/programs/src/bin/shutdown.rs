//! A worker that is told to stop: what runs comes to its end, what waits goes home, and nothing is left on the servers.
#![expect(clippy::print_stdout, reason = "tells a story")]

use std::error::Error;
use std::time::Duration;

use palisade::{AcquireError, Client, embedded::Server};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = Server::start()?.client()?;
    let holds = client.lock("job:1").acquire().await?;
    let runs = tokio::spawn(async move {
        let done = holds.run(tokio::time::sleep(Duration::from_millis(100))).await;
        println!("job 1: {}", if done.is_ok() { "came to its end" } else { "was stopped" });
        holds.release().await
    });
    let waits = tokio::spawn(wait_for_job(client.clone()));

    // In life: `tokio::signal::unix::signal(SignalKind::terminate())?.recv().await`.
    println!("SIGTERM");
    let left = client.drain(Duration::from_secs(20)).await;
    println!("{left} holds were cut off");
    runs.await??;
    waits.await?;
    client.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}

async fn wait_for_job(client: Client) {
    match client.lock("job:1").acquire().await {
        Err(AcquireError::Draining) => println!("job 2: not begun"),
        other => println!("job 2: {:?}", other.map(|_guard| ())),
    }
}
