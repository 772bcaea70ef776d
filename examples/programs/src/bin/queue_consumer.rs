//! Consumers of one queue that work on different customers at once, and on one customer one at a time.
//!
//! A message of a customer that another consumer has now goes back to the end of the queue, so their order is not kept.
#![expect(clippy::print_stdout, reason = "tells a story")]

use std::env;
use std::error::Error;
use std::time::Duration;

use palisade::{Client, embedded::Server};
use redis::{AsyncCommands, aio::MultiplexedConnection};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Lives as long as this does.
    let embedded = Server::start()?;
    let url = match env::var("PALISADE_SERVER") {
        Ok(url) => url,
        Err(_) => format!("redis://{}", embedded.listen(([127, 0, 0, 1], 0).into()).await?),
    };
    let locks = Client::connect(&url).await?;
    let mut queue = redis::Client::open(url)?.get_multiplexed_async_connection().await?;
    for message in ["ada: 10", "grace: 20", "ada: 30", "grace: 40", "ada: 50"] {
        let _: () = queue.rpush("payments", message).await?;
    }
    let consumers = [1, 2, 3].map(|number| {
        let (locks, queue) = (locks.clone(), queue.clone());
        tokio::spawn(async move {
            consume(number, &locks, queue).await.map_err(|error| error.to_string())
        })
    });
    let mut done = 0;
    for consumer in consumers {
        done += consumer.await??;
    }
    println!("{done} messages are done");
    locks.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}

/// How many messages it has worked on.
async fn consume(
    number: u32,
    locks: &Client,
    mut queue: MultiplexedConnection,
) -> Result<u32, Box<dyn Error>> {
    let mut done = 0;
    // Out of the queue before the work: a crash loses the message. RPOPLPUSH to a list of its own would keep it.
    while let Some(message) = queue.lpop::<_, Option<String>>("payments", None).await? {
        let customer = message.split(':').next().unwrap_or_default();
        let Some(guard) = locks.lock(format!("customer:{customer}")).try_acquire().await? else {
            let _: () = queue.rpush("payments", &message).await?;
            tokio::time::sleep(Duration::from_millis(5)).await;
            continue;
        };
        guard.run(pay(number, &message)).await?;
        guard.release().await?;
        done += 1;
    }
    Ok(done)
}

async fn pay(consumer: u32, message: &str) {
    tokio::time::sleep(Duration::from_millis(10)).await;
    println!("consumer {consumer}: {message}");
}
