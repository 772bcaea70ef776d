//! Three independent masters, a `MultiLock`, a `RedLock`, and a master that dies in the middle.
//!
//! Runs on in-process servers; on real ones if they are named:
//! `PALISADE_SERVERS=redis://127.0.0.1:7001,redis://127.0.0.1:7002,redis://127.0.0.1:7003`.
#![expect(clippy::print_stdout, reason = "tells a story")]

use std::{env, error::Error, time::Duration};

use palisade::{AcquireError, Client, Lease, Masters, MultiLock, embedded::Server};

/// Short, so that the story shows a renewal: a third of it passes between two.
const LEASE: Lease = Lease::WatchdogOf(Duration::from_secs(3));

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (masters, embedded) = masters().await?;
    transfer(&masters).await?;
    migrate(&masters, &embedded).await?;
    masters.shutdown(Duration::from_secs(5)).await.or_else(|left| {
        // A master that is dead cannot confirm: its keys end with their lease.
        println!("\nShut down; {left}.");
        Ok(())
    })
}

/// The masters of the story, and the servers behind them if they are in this process.
async fn masters() -> Result<(Masters, Vec<Server>), Box<dyn Error>> {
    if let Ok(urls) = env::var("PALISADE_SERVERS") {
        let masters = Masters::connect(urls.split(',')).await?;
        println!("Using {} masters from PALISADE_SERVERS.", masters.clients().len());
        tell_if_young(&masters).await;
        return Ok((masters, Vec::new()));
    }
    println!("Starting three in-process masters (PALISADE_SERVERS is not set).");
    let servers = [Server::start()?, Server::start()?, Server::start()?];
    let clients = servers.iter().map(Server::client).collect::<Result<Vec<Client>, _>>()?;
    Ok((Masters::new(clients)?, servers.into()))
}

/// Masters that were started just now do not vote yet: they must be blessed as new.
async fn tell_if_young(masters: &Masters) {
    let attempt = masters.red_lock("quickstart").try_acquire().await;
    if let Err(quarantined @ AcquireError::Quarantined { .. }) = attempt {
        println!("  {quarantined}:");
        println!(
            "    PALISADE_SERVERS=…  cargo run --package palisade-cli -- bless  # in another terminal"
        );
        println!("  Until then, or until their votes count, the story waits.");
    }
}

/// Two names on two servers, held together or not at all.
async fn transfer(masters: &Masters) -> Result<(), Box<dyn Error>> {
    println!("\nMultiLock: a transfer between two accounts");
    let on = |i: usize| masters.clients().get(i % masters.clients().len()).ok_or("no master");
    let both = MultiLock::new(vec![on(0)?.lock("account:alice"), on(1)?.lock("account:bob")])?;
    let guard = both.acquire().await?;
    println!("  both accounts are held by {}", guard.holder_id());
    let rival = both.try_acquire().await?;
    println!("  a second transfer meanwhile: {}", if rival.is_none() { "refused" } else { "?!" });
    guard.release().await?;
    println!("  released");
    Ok(())
}

/// A majority is enough, also when one master dies while the lock is held.
async fn migrate(masters: &Masters, embedded: &[Server]) -> Result<(), Box<dyn Error>> {
    println!("\nRedLock: a migration that must not run twice");
    let lock = masters.red_lock("migration").with_lease(LEASE);
    let guard = lock.acquire().await?;
    println!("  held, valid for {:.1?} without renewal", guard.remaining());
    if let Some(victim) = embedded.first() {
        victim.kill_and_forget();
        println!("  one master was killed, with all it knew:");
        for line in lock.inspect().await.to_string().lines() {
            println!("    {line}");
        }
    }
    let work = tokio::time::sleep(Duration::from_secs(4));
    match guard.run(work).await {
        Ok(()) => {
            println!("  after 4 s of work the guard says: held, {:.1?} left", guard.remaining())
        }
        Err(lost) => println!("  the work was stopped: {lost}"),
    }
    guard.release().await?;
    println!("  released:");
    for line in lock.inspect().await.to_string().lines() {
        println!("    {line}");
    }
    Ok(())
}
