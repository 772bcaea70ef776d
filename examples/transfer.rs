//! A transfer that holds two names on one server, and is stopped when it loses one of them.
//!
//! On an in-process server, or on the first one named in `PALISADE_SERVERS`.
#![expect(clippy::print_stdout, reason = "tells a story")]

use std::{
    env,
    error::Error,
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use palisade::{Client, Lease, LockLost, MultiLock, embedded::Server};

/// Accounts that know nothing of locks; the guard is all that keeps them right.
static ALICE: AtomicI64 = AtomicI64::new(100);
static BOB: AtomicI64 = AtomicI64::new(100);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = match env::var("PALISADE_SERVERS") {
        Ok(urls) => Client::connect(urls.split(',').next().unwrap_or_default()).await?,
        Err(_) => Server::start()?.client()?,
    };
    let both = MultiLock::new(vec![client.lock("account:alice"), client.lock("account:bob")])?
        .with_lease(Lease::WatchdogOf(Duration::from_millis(600)));

    let guard = both.acquire().await?;
    guard.run(transfer(30)).await?;
    guard.release().await?;
    println!("moved 30: alice has {}, bob has {}", balance(&ALICE), balance(&BOB));

    let guard = both.acquire().await?;
    // A lock that is held is deleted; the next renewal notices.
    client.lock("account:bob").force_release().await?;
    let stopped = guard.run(slow_transfer(20)).await;
    let Err(LockLost { cause, .. }) = stopped else {
        return Err("the loss should have stopped the transfer".into());
    };
    println!("stopped before anything moved: {cause}");
    println!("alice has {}, bob has {}", balance(&ALICE), balance(&BOB));
    drop(guard);
    client.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}

async fn transfer(amount: i64) {
    ALICE.fetch_sub(amount, Ordering::Relaxed);
    tokio::task::yield_now().await;
    BOB.fetch_add(amount, Ordering::Relaxed);
}

/// Asks a slow bank first.
async fn slow_transfer(amount: i64) {
    tokio::time::sleep(Duration::from_secs(5)).await;
    transfer(amount).await;
}

fn balance(account: &AtomicI64) -> i64 {
    account.load(Ordering::Relaxed)
}
