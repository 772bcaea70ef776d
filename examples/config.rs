//! Many read a configuration, and one changes it: no reader sees it half done.
//!
//! Runs on an in-process server; on a real one if it is named:
//! `PALISADE_SERVER=redis://127.0.0.1:6379`.
#![expect(clippy::print_stdout, reason = "tells a story")]

use std::{env, error::Error, time::Duration};

use palisade::{Client, RwLock, embedded::Server};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (client, _server) = match env::var("PALISADE_SERVER") {
        Ok(url) => (Client::connect(&url).await?, None),
        Err(_) => {
            let server = Server::start()?;
            (server.client()?, Some(server))
        }
    };
    let config = client.rw_lock("config");
    let readers: Vec<_> = (1..=3).map(|i| tokio::spawn(read(config.clone(), i))).collect();
    tokio::time::sleep(Duration::from_millis(50)).await;
    println!("A writer waits. Whoever comes to read now waits behind it.");
    let writing = config.write().acquire().await?;
    println!("The writer is alone.");
    let late = tokio::spawn(read(config.clone(), 4));
    // No other writes between the change and the check of it.
    let reading = writing.downgrade().await?;
    println!("The writer reads what it wrote, and others do too.");
    late.await??;
    reading.release().await?;
    for reader in readers {
        reader.await??;
    }
    client.shutdown(Duration::from_secs(2)).await?;
    Ok(())
}

async fn read(config: RwLock, i: u32) -> Result<(), palisade::error::WithError> {
    config
        .read()
        .with(async |_guard| {
            println!("Reader {i} begins.");
            tokio::time::sleep(Duration::from_millis(200)).await;
            println!("Reader {i} is done.");
        })
        .await
}
