//! palisade as a process that is told what to do: `interop-peer <watchdog ms>[+tracking] <url>…`, then a line
//! of stdin for each command and a line of stdout for each answer. `java/` has the same with Redisson.
//!
//! | command | answer |
//! |---|---|
//! | `acquire KIND NAME OWNER LEASE_MS WAIT_MS` | `granted`, with the token if there is one, or `refused` |
//! | `release KIND NAME OWNER` | `released`, also of one of several holds; `not held` |
//! | `held KIND NAME OWNER` | `held` or `lost` |
//! | `force KIND NAME` | `forced` or `was free` |
//! | `latch OPERATION NAME [NUMBER]` | see `latches.rs` |
//! | `permits KIND OPERATION NAME [NUMBER…]` | see `semaphores.rs` |
//! | `hammer KIND[+KIND] NAME HOLDS FOLDER` | see `hammer.rs` |
//! | `contend KIND NAME MS SHORTEST_MS LONGEST_MS FOLDER` | see `contend.rs` |
//!
//! A lease of -1 is the watchdog's, of `<watchdog ms>`, which is the other language's too. What goes wrong is answered as `failed: …`.

mod contend;
mod hammer;
mod kinds;
mod latches;
mod semaphores;

use std::{
    collections::HashMap,
    env,
    error::Error,
    io::{self, BufRead, Write},
    path::Path,
    time::Duration,
};

use palisade::{Client, Lease, LockGuard, Owner, ReleaseError, settings::Failover};

use self::{contend::Contention, hammer::Hammer, kinds::Kinds, semaphores::Semaphores};

type Answer = Result<String, Box<dyn Error>>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let watchdog = args.next().ok_or("usage: interop-peer WATCHDOG_MS[+tracking] URL…")?;
    let tracked = watchdog.strip_suffix("+tracking");
    let settings = Watchdog {
        lease: milliseconds(tracked.unwrap_or(&watchdog))?,
        is_tracking: tracked.is_some(),
    };
    let urls: Vec<_> = args.collect();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let mut peer = runtime.block_on(Peer::connect(&urls, &settings))?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<_> = line.split(' ').collect();
        let answer = runtime.block_on(peer.act(&words));
        let answer = answer.unwrap_or_else(|error| format!("failed: {error}"));
        writeln!(io::stdout(), "{answer}")?;
    }
    Ok(())
}

/// How holds are kept, and how it is heard that they were taken away.
struct Watchdog {
    lease: Duration,
    is_tracking: bool,
}

/// Settings with limits that no busy machine exceeds.
async fn connect(url: &str, watchdog: &Watchdog) -> Result<Client, Box<dyn Error>> {
    let client = Client::builder().url(url).node_timeout(PATIENCE).connect_timeout(PATIENCE);
    let (lease, is_tracking) = (watchdog.lease, watchdog.is_tracking);
    let client = client.max_lease(MAX_LEASE).watchdog_lease(lease).redisson_watchdog(lease);
    let client = client.tracking(is_tracking);
    let is_cluster = url.starts_with("redis+cluster:");
    let client = if is_cluster { client.failover(Failover::Trust) } else { client };
    Ok(client.connect().await?)
}

const PATIENCE: Duration = Duration::from_secs(20);
const MAX_LEASE: Duration = Duration::from_secs(600);

struct Peer {
    kinds: Kinds,
    owners: HashMap<String, Owner>,
    /// What is held, by kind, name and owner.
    guards: HashMap<[String; 3], Vec<LockGuard>>,
    semaphores: Semaphores,
}

impl Peer {
    async fn connect(urls: &[String], watchdog: &Watchdog) -> Result<Self, Box<dyn Error>> {
        let mut servers = Vec::new();
        for url in urls {
            servers.push(connect(url, watchdog).await?);
        }
        let (owners, guards, semaphores) = Default::default();
        Ok(Self { kinds: Kinds::new(servers), owners, guards, semaphores })
    }

    async fn act(&mut self, words: &[&str]) -> Answer {
        match *words {
            ["acquire", kind, name, owner, lease, wait] => {
                let key = [kind, name, owner].map(str::to_owned);
                self.acquire(key, lease_of(lease)?, milliseconds(wait)?).await
            }
            ["release", kind, name, owner] => self.release([kind, name, owner]).await,
            ["held", kind, name, owner] => Ok(self.held([kind, name, owner])),
            ["force", kind, name] => {
                let was_held = self.kinds.force(kind, name).await?;
                Ok(if was_held { "forced" } else { "was free" }.to_owned())
            }
            ["latch", ref words @ ..] => latches::act(self.kinds.first()?, words).await,
            ["permits", ref words @ ..] => self.semaphores.act(self.kinds.first()?, words).await,
            ["hammer", kinds, name, holds, folder] => {
                let mut turns = Vec::new();
                for kind in kinds.split('+') {
                    turns.push((self.kinds.lock(kind, name)?, kind == "read"));
                }
                Hammer::new(Path::new(folder)).run(&turns, holds.parse()?).await
            }
            ["contend", kind, name, length, shortest, longest, folder] => {
                let contention = Contention {
                    length: milliseconds(length)?,
                    shortest_ms: shortest.parse()?,
                    longest_ms: longest.parse()?,
                    folder: folder.into(),
                };
                let members = if kind == "red" { 3 } else { 1 };
                contention.run(self.kinds.locks(kind, name, members)?).await
            }
            _ => Err("not understood".into()),
        }
    }

    async fn acquire(&mut self, key: [String; 3], lease: Lease, wait: Duration) -> Answer {
        let [kind, name, owner] = &key;
        let owner = self.owners.entry(owner.clone()).or_default();
        let lock = self.kinds.lock(kind, name)?;
        let Some(guard) = owner.clone().scope(lock.acquire_within(lease, wait)).await? else {
            return Ok("refused".to_owned());
        };
        let token = guard.fencing_token().map(|token| format!(" {}", token.get()));
        self.guards.entry(key).or_default().push(guard);
        Ok(format!("granted{}", token.unwrap_or_default()))
    }

    async fn release(&mut self, key: [&str; 3]) -> Answer {
        let guards = self.guards.get_mut(&key.map(str::to_owned));
        let Some(guard) = guards.and_then(Vec::pop) else { return Ok("not held".to_owned()) };
        match guard.release().await {
            Ok(_) => Ok("released".to_owned()),
            Err(ReleaseError::Lost(_)) => Ok("not held".to_owned()),
            Err(error) => Err(error.into()),
        }
    }

    fn held(&self, key: [&str; 3]) -> String {
        let guard = self.guards.get(&key.map(str::to_owned)).and_then(|guards| guards.last());
        if guard.is_some_and(LockGuard::is_held) { "held" } else { "lost" }.to_owned()
    }
}

fn lease_of(text: &str) -> Result<Lease, Box<dyn Error>> {
    Ok(if text == "-1" { Lease::Watchdog } else { Lease::Fixed(milliseconds(text)?) })
}

fn milliseconds(text: &str) -> Result<Duration, Box<dyn Error>> {
    Ok(Duration::from_millis(text.parse()?))
}
