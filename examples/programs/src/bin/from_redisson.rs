//! What a Java service says with Redisson, line by line, and the same here. Both may share each of these.
#![expect(clippy::print_stdout, reason = "tells a story")]

use std::error::Error;
use std::time::Duration;

use palisade::{Lease, MultiLock, Owner, embedded::Server};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // RedissonClient redisson = Redisson.create(config);
    let client = Server::start()?.client()?;

    // RLock lock = redisson.getLock("orders"); lock.lock(); … lock.unlock();
    let guard = client.lock("orders").acquire().await?;
    // Re-entry is by the guard and not by the thread: lock.lock() once more on the same thread.
    let again = guard.reenter()?;
    again.release().await?;
    guard.release().await?;

    // lock.tryLock(100, 30_000, TimeUnit.MILLISECONDS): waits at most 100 ms, and is held for 30 s without a watchdog.
    let fixed = client.lock("orders").with_lease(Lease::Fixed(Duration::from_secs(30)));
    if let Some(guard) = fixed.try_acquire_for(Duration::from_millis(100)).await? {
        println!(
            "orders: ends in {:?} at the latest",
            Duration::from_secs(guard.remaining().as_secs() + 1)
        );
        guard.release().await?;
    }

    // Where code that does not see the guard enters again, an owner stands for the thread.
    let owner = Owner::new();
    let outer = client.lock("orders").acquire_as(&owner).await?;
    client.lock("orders").acquire_as(&owner).await?.release().await?;
    outer.release().await?;

    // redisson.getMultiLock(a, b).lock();
    let both = MultiLock::new(vec![client.lock("a"), client.lock("b")])?;
    both.acquire().await?.release().await?;

    // redisson.getFairLock("queue"), getReadWriteLock("table").readLock(), getFencedLock("store").lockAndGetToken();
    client.fair_lock("queue").acquire().await?.release().await?;
    client.rw_lock("table").read().acquire().await?.release().await?;
    let fenced = client.fenced_lock("store").acquire().await?;
    println!("store: token {}", fenced.fencing_token());
    fenced.release().await?;

    // RSemaphore slots = redisson.getSemaphore("slots"); slots.trySetPermits(3); slots.acquire();
    let slots = client.semaphore("slots");
    slots.try_set_permits(3).await?;
    slots.acquire().await?.release().await?;
    println!("moved");
    Ok(())
}
