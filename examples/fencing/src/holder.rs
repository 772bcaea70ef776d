//! A process of its own that holds the lock, checks that it does, and is stopped before it writes.

use std::{error::Error, io, path::Path};

use palisade::{FencedGuard, Masters, OnOutage};

use crate::{LEASE, LOCK, store::Store};

/// Holds the lock and writes twice; the second time after a line on the standard input.
pub(crate) async fn run(urls: &str, file: &Path) -> Result<(), Box<dyn Error>> {
    let masters = Masters::connect(urls.split(',')).await?;
    let store = Store::open(file)?;
    let lock = masters.fenced_red_lock(LOCK).with_lease(LEASE).on_outage(OnOutage::Wait);
    let guard = lock.acquire().await?;
    println!("granted, token {}", guard.fencing_token());
    write(&store, &guard, 90)?;
    guard.ensure_valid()?;
    println!("{CHECKED}, and now I write 80 ...");
    // Here it is stopped. The signal stands for whatever else may come between a look and a write:
    // memory that is swapped out, a virtual machine that moves, a packet that takes its time.
    io::stdin().read_line(&mut String::new())?;
    write(&store, &guard, 80)?;
    match guard.release().await {
        Ok(_) => println!("released"),
        Err(error) => println!("my guard says, too late for the write: {error}"),
    }
    Ok(())
}

fn write(store: &Store, guard: &FencedGuard, balance: i64) -> rusqlite::Result<()> {
    let accepted = store.write(guard.fencing_token(), balance)?;
    println!("wrote {balance}: {}", if accepted { "accepted" } else { "REFUSED by the store" });
    Ok(())
}

/// What it says right before it is to be stopped.
pub(crate) const CHECKED: &str = "checked: the lock is mine";
