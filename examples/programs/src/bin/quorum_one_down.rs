//! A job under a majority of three masters, of which one is down from the start and another stops answering in between.
#![expect(clippy::print_stdout, reason = "tells a story")]

use std::error::Error;
use std::time::Duration;

use palisade::{Lease, Masters, OnOutage, embedded::Server};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let servers = [Server::start()?, Server::start()?, Server::start()?];
    let mut clients = Vec::new();
    for server in &servers {
        clients.push(server.client()?);
    }
    let masters = Masters::new(clients)?;
    let [first, second, _third] = &servers;
    first.kill();

    let lock = masters
        .red_lock("report")
        .with_lease(Lease::WatchdogOf(Duration::from_secs(3)))
        .on_outage(OnOutage::Wait);
    let guard = lock.acquire().await?;
    println!("one of three is down: held, {} votes", guard.votes());

    // The second stops before the next renewal. One vote is no majority: the work ends before another could begin it.
    second.freeze();
    match guard.run(std::future::pending::<()>()).await {
        Ok(()) => println!("done"),
        Err(lost) => println!("two of three are down: stopped, {lost}"),
    }
    second.thaw();
    first.restart();
    if let Err(left) = guard.release().await {
        println!("release: {left}");
    }
    if let Err(left) = masters.shutdown(Duration::from_secs(5)).await {
        println!("shutdown: {left}");
    }
    Ok(())
}
