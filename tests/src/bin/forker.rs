//! A process that forks while it uses a client, holds a lock and a permit and stands in a queue:
//! `forker URL PAIRS`.
//!
//! Two children at a time try what they inherited, and then make a client of their own. Each says it
//! in a line, `what: how it went; …`. At the end the parent tells what became of its own hold.

use std::{
    error::Error,
    fmt::Display,
    io::{self, Write},
    pin::Pin,
    time::Duration,
};

use palisade::{AcquireError, Client, FairLock, LockGuard, semaphore::SemaphoreGuard};
use tokio::runtime::{Builder, Runtime};

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let url = args.next().ok_or("usage: forker URL PAIRS")?;
    let pairs: u32 = args.next().ok_or("usage: forker URL PAIRS")?.parse()?;
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let client = runtime.block_on(client(&url))?;
    let guard = runtime.block_on(client.lock("held").acquire())?;
    let permit = runtime.block_on(a_permit(&client))?;
    let turns = client.fair_lock("turns");
    let turn = runtime.block_on(turns.acquire())?;
    let place = runtime.block_on(a_place(&turns))?;
    // So that threads that a child lacks have mutexes at the moment of the fork.
    for name in ["busy", "busier"] {
        let lock = client.lock(name);
        runtime.spawn(async move { while lock.acquire().await.is_ok() {} });
    }
    let mut inherited = Some(Inherited { client, guard, permit, place });
    for _ in 0..pairs {
        let pair = [(); 2].map(|()| forking::fork(|| child(&url, inherited.take())));
        for child in pair {
            if child?.wait()? != Some(0) {
                return Err("a child failed".into());
            }
        }
    }
    let Some(ours) = inherited else { return Err("it is ours".into()) };
    let Inherited { client: _client, guard, permit, place } = ours;
    let valid = outcome(guard.ensure_valid().map(|()| "held"));
    let released = outcome(runtime.block_on(guard.release()).map(|_| "released"));
    let permit = outcome(runtime.block_on(permit.release()).map(|()| "released"));
    runtime.block_on(turn.release())?;
    let turn = outcome(runtime.block_on(place).map(|_| "granted"));
    say(&format!("parent: {valid}; {released}; permit {permit}; turn {turn}"))
}

/// What a process has that forks.
struct Inherited {
    client: Client,
    guard: LockGuard,
    permit: SemaphoreGuard,
    place: Place,
}

/// A wait in a queue.
type Place = Pin<Box<dyn Future<Output = Result<LockGuard, AcquireError>>>>;

async fn a_permit(client: &Client) -> Result<SemaphoreGuard, Failure> {
    let permits = client.semaphore("permits");
    permits.try_set_permits(1).await?;
    Ok(permits.acquire().await?)
}

async fn a_place(lock: &FairLock) -> Result<Place, Failure> {
    let waits = lock.clone();
    let mut place: Place = Box::pin(async move { waits.acquire().await });
    while lock.waiting().await?.is_empty() {
        tokio::select! {
            biased;
            _granted = &mut place => return Err("it is held".into()),
            () = tokio::task::yield_now() => {}
        }
    }
    Ok(place)
}

fn child(url: &str, inherited: Option<Inherited>) -> u8 {
    let worked = match (inherited, Builder::new_current_thread().enable_all().build()) {
        (Some(inherited), Ok(runtime)) => try_all(url, inherited, &runtime),
        _ => Err("nothing was inherited, or there is no runtime".into()),
    };
    u8::from(worked.is_err())
}

fn try_all(url: &str, inherited: Inherited, runtime: &Runtime) -> Result<(), Failure> {
    let Inherited { client: inherited, guard, permit, place } = inherited;
    runtime.block_on(async {
        let lock = inherited.lock("x");
        let tried = lock.try_acquire().await;
        let tried = outcome(tried.map(|guard| if guard.is_some() { "granted" } else { "refused" }));
        let looked = outcome(lock.is_locked().await);
        let names = outcome(inherited.names_of_connections().await.map(|names| names.len()));
        let valid = outcome(guard.ensure_valid().map(|()| "held"));
        let again = outcome(guard.reenter().map(|_| "again"));
        let lost = guard.lost().await;
        let released = outcome(guard.release().await.map(|_| "released"));
        let permit = outcome(permit.release().await.map(|()| "released"));
        // It has timers of the inherited runtime.
        std::mem::forget(place);
        inherited.shutdown(Duration::from_secs(1)).await?;
        drop((lock, inherited));
        let own = client(url).await?;
        let guard = own.lock("own").acquire().await?;
        let id = guard.holder_id().to_owned();
        guard.release().await?;
        say(&format!(
            "tried: {tried}; looked: {looked}; names: {names}; valid: {valid}; again: {again}; lost: {lost}; \
             released: {released}; permit: {permit}; own client: {id}"
        ))
    })
}

/// A client that no busy machine makes give up.
async fn client(url: &str) -> Result<Client, Failure> {
    let patience = Duration::from_secs(30);
    let client = Client::builder().url(url).node_timeout(patience).connect_timeout(patience);
    Ok(client.connect().await?)
}

fn outcome(went: Result<impl Display, impl Display>) -> String {
    went.map_or_else(|error| error.to_string(), |value| value.to_string())
}

/// In one write, so that lines of two children do not mix.
fn say(line: &str) -> Result<(), Failure> {
    Ok(io::stdout().write_all(format!("{line}\n").as_bytes())?)
}
