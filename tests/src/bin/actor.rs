//! A process that plays one contender: told what to do by lines, answers each with a line.
//!
//! | line | answer |
//! |---|---|
//! | `acquire NAME LEASE_MS` | `acquired` when it holds the lock |
//! | `read NAME LEASE_MS`, `write NAME LEASE_MS` | `acquired` when it holds that side of the lock |
//! | `fair NAME LEASE_MS` | `acquired` when it holds the fair lock |
//! | `permits NAME N` | the holder id, when it has so many permits: it never gives them back |
//! | `release` | `released`, or why not |
//! | `valid` | `valid`, or the cause of the loss |
//! | `lost` | the cause, once the lock is lost |
//! | `contend NAME MS` | how often it got the lock in that time, in a row of acquire and release |
//! | `panic` | `panicked`: a task that held the guard did, and the process goes on |
//! | `abort`, `exit` | none: the process ends with the guard alive |

use std::{
    error::Error,
    io::{self, BufRead, Write},
    process,
    time::{Duration, Instant},
};

use palisade::{AnyLock, Client, ClientBuilder, Lease, Lock, LockGuard, MultiLock, OnOutage};

type Answer = Result<String, Box<dyn Error>>;

fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("usage: actor URL")?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let mut actor = Actor { client: runtime.block_on(client(&url).connect())?, guard: None };
    for line in io::stdin().lock().lines() {
        // An error is an answer too.
        let answer = runtime.block_on(actor.act(&line?)).unwrap_or_else(|error| error.to_string());
        writeln!(io::stdout(), "{answer}")?;
    }
    Ok(())
}

/// A client that no busy machine makes give up.
fn client(url: &str) -> ClientBuilder {
    let client = Client::builder().url(url).node_timeout(PATIENCE).connect_timeout(PATIENCE);
    client.max_lease(LONG_LEASE).watchdog_lease(LONG_LEASE)
}

const PATIENCE: Duration = Duration::from_secs(50);
const LONG_LEASE: Duration = Duration::from_secs(600);

struct Actor {
    client: Client,
    guard: Option<LockGuard>,
}

impl Actor {
    async fn act(&mut self, line: &str) -> Answer {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["acquire", name, lease] => {
                let lock = self.client.lock(name);
                self.take_hold(lock, milliseconds(lease)?).await
            }
            ["read", name, lease] => {
                let lock = self.client.rw_lock(name).read();
                self.take_hold(lock, milliseconds(lease)?).await
            }
            ["write", name, lease] => {
                let lock = self.client.rw_lock(name).write();
                self.take_hold(lock, milliseconds(lease)?).await
            }
            ["fair", name, lease] => {
                let lock = self.client.fair_lock(name);
                self.take_hold(lock, milliseconds(lease)?).await
            }
            ["fair-whole", one, other, lease] => {
                let members = [one, other].map(|name| self.client.fair_lock(name));
                self.take_hold(MultiLock::new(members)?, milliseconds(lease)?).await
            }
            ["permits", name, permits] => {
                let guard = self.client.semaphore(name).acquire_many(permits.parse()?).await?;
                let holder = guard.holder_id().unwrap_or_default().to_owned();
                std::mem::forget(guard);
                Ok(holder)
            }
            ["release"] => {
                self.take()?.release().await?;
                Ok("released".to_owned())
            }
            ["valid"] => {
                self.guard()?.ensure_valid()?;
                Ok("valid".to_owned())
            }
            ["lost"] => Ok(self.guard()?.lost().await.to_string()),
            ["contend", name, time] => contend(&self.client.lock(name), milliseconds(time)?).await,
            ["panic"] => panic_with(self.take()?).await,
            ["abort"] => process::abort(),
            ["exit"] => process::exit(0),
            _ => Err(format!("not understood: {line}").into()),
        }
    }

    async fn take_hold(&mut self, lock: impl AnyLock, lease: Duration) -> Answer {
        let lock = lock.with_lease(Lease::WatchdogOf(lease)).on_outage(OnOutage::Wait);
        self.guard = Some(lock.acquire().await?.into());
        Ok("acquired".to_owned())
    }

    fn guard(&self) -> Result<&LockGuard, Box<dyn Error>> {
        Ok(self.guard.as_ref().ok_or("nothing is held")?)
    }

    fn take(&mut self) -> Result<LockGuard, Box<dyn Error>> {
        Ok(self.guard.take().ok_or("nothing is held")?)
    }
}

async fn contend(lock: &Lock, time: Duration) -> Answer {
    let end = Instant::now() + time;
    let mut times = 0;
    while Instant::now() < end {
        lock.acquire().await?.release().await?;
        times += 1;
    }
    Ok(times.to_string())
}

async fn panic_with(guard: LockGuard) -> Answer {
    let section = tokio::spawn(async move {
        let _guard = guard;
        panic!("as it was told");
    });
    match section.await {
        Err(error) if error.is_panic() => Ok("panicked".to_owned()),
        _ => Err("did not panic".into()),
    }
}

fn milliseconds(text: &str) -> Result<Duration, Box<dyn Error>> {
    Ok(Duration::from_millis(text.parse()?))
}
