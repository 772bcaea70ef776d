//! A fair lock: one box office, and a queue of customers that are served in the order in which they came.
//!
//! Runs on an in-process server, or on the one in `PALISADE_SERVER`, where the customers might as well be
//! processes of their own, or Java services with Redisson. Each has a client of its own here, as they would.
#![expect(clippy::print_stdout, reason = "tells a story")]

use std::{env, error::Error, time::Duration};

use palisade::{AcquireError, Client, embedded::Server};
use tokio::time::sleep;

const CUSTOMERS: usize = 4;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let embedded = Server::start()?;
    let client = async || -> Result<Client, Box<dyn Error>> {
        Ok(match env::var("PALISADE_SERVER") {
            Ok(url) => Client::connect(&url).await?,
            Err(_) => embedded.client()?,
        })
    };
    let office = client().await?.fair_lock("box office");
    let closed = office.acquire().await?;
    let mut queue = Vec::new();
    for number in 1..=CUSTOMERS {
        queue.push(tokio::spawn(buy(number, client().await?)));
        while office.waiting().await?.len() < number {
            sleep(Duration::from_millis(1)).await;
        }
        println!("customer {number}: in the queue");
    }
    println!(
        "office: nobody passes the queue, not even who only asks: {:?}",
        office.try_acquire().await?
    );
    // A waiter that leaves gives up the place, and those behind move up.
    queue.remove(1).abort();
    println!("customer 2: had no more time");
    closed.release().await?;
    println!("office: open");
    for customer in queue {
        customer.await??;
    }
    Ok(())
}

async fn buy(number: usize, client: Client) -> Result<(), AcquireError> {
    let guard = client.fair_lock("box office").acquire().await?;
    println!("customer {number}: has a ticket");
    drop(guard);
    // What is dropped is given back in the background: a process that ends waits for that.
    drop(client.shutdown(Duration::from_secs(5)).await);
    Ok(())
}
