//! Leader election: campaign, lead, step down when the lock is lost, campaign again.
//!
//! Two candidates of one process contend on three in-process masters, or on those named in
//! `PALISADE_SERVERS`. An operator forces one leader out; there are never two at a time.
#![expect(clippy::print_stdout, reason = "tells a story")]

use std::{env, error::Error, time::Duration};

use palisade::{Lease, LockGuard, Masters, OnOutage, RedLock, embedded::Server};

const TERMS: u32 = 2;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let masters = masters().await?;
    let office = masters
        .red_lock("office")
        .with_lease(Lease::WatchdogOf(Duration::from_millis(900)))
        .on_outage(OnOutage::Wait);
    let candidates = ["ada", "grace"].map(|name| tokio::spawn(campaign(name, office.clone())));
    tokio::time::sleep(Duration::from_millis(250)).await;
    println!("operator: I force the leader out");
    for client in masters.clients() {
        client.lock("office").force_release().await?;
    }
    for candidate in candidates {
        candidate.await??;
    }
    masters.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}

async fn masters() -> Result<Masters, Box<dyn Error>> {
    if let Ok(urls) = env::var("PALISADE_SERVERS") {
        return Ok(Masters::connect(urls.split(',')).await?);
    }
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(Server::start()?.client()?);
    }
    Ok(Masters::new(clients)?)
}

/// Leads twice, then retires.
async fn campaign(name: &'static str, office: RedLock) -> Result<(), palisade::AcquireError> {
    for term in 1..=TERMS {
        let guard = office.acquire().await?;
        println!("{name}: elected for term {term}");
        match guard.run(lead(name, &guard)).await {
            Ok(()) => println!("{name}: my term is over"),
            Err(lost) => println!("{name}: I step down: {lost}"),
        }
        if let Err(error) = guard.release().await {
            println!("{name}: (the office was no longer mine: {error})");
        }
    }
    Ok(())
}

/// What only one may do at a time. Dropped at its next `await` once the lock is lost.
async fn lead(name: &str, guard: &LockGuard) {
    for day in 1..=5 {
        println!("{name}: day {day}, valid for {:.1?}", guard.remaining());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
