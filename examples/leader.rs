//! Leader election: campaign, lead, be found, step down when the lead is lost, campaign again.
//!
//! Two candidates of one process contend on three in-process masters, or on those named in
//! `PALISADE_SERVERS`, and a client follows which one leads. An operator forces one leader out; there are
//! never two at a time.
#![expect(clippy::print_stdout, reason = "tells a story")]

use std::{env, error::Error, time::Duration};

use palisade::{
    Lease, Masters, OnOutage,
    election::{Election, Leadership},
    embedded::Server,
};

const TERMS: u32 = 2;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let masters = masters().await?;
    let lease = Lease::WatchdogOf(Duration::from_millis(900));
    let lock = masters.fenced_red_lock("office").with_lease(lease).on_outage(OnOutage::Wait);
    let office = Election::new(lock);
    let follower = tokio::spawn(follow(office.clone()));
    let candidates = ["ada", "grace"].map(|name| tokio::spawn(campaign(name, office.clone())));
    tokio::time::sleep(Duration::from_millis(250)).await;
    println!("operator: I force the leader out");
    for client in masters.clients() {
        client.lock("office").force_release().await?;
    }
    for candidate in candidates {
        candidate.await??;
    }
    follower.abort();
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
async fn campaign(name: &'static str, office: Election) -> Result<(), palisade::AcquireError> {
    for term in 1..=TERMS {
        let leadership = office.campaign().await?;
        println!("{name}: elected for term {term}");
        if let Err(error) = leadership.proclaim(format!("call {name}")).await {
            println!("{name}: (nobody may know how to find me: {error})");
        }
        match leadership.run(lead(name, &leadership)).await {
            Ok(()) => println!("{name}: my term is over"),
            Err(lost) => println!("{name}: I step down: {lost}"),
        }
        if let Err(error) = leadership.resign().await {
            println!("{name}: (the office was no longer mine: {error})");
        }
    }
    Ok(())
}

/// What only one may do at a time. Dropped at its next `await` once it leads no more. What it writes to a store has
/// its token, so that the store can refuse what comes late.
async fn lead(name: &str, leadership: &Leadership) {
    for day in 1..=5 {
        println!("{name}: day {day}, token {}", leadership.token());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// What a client of the service does that looks for its leader.
async fn follow(office: Election) -> Result<(), palisade::error::InspectError> {
    let mut observer = office.observe();
    loop {
        match observer.changed().await?.leader {
            Some(leader) => println!("client: {leader}"),
            None => println!("client: nobody leads"),
        }
    }
}
