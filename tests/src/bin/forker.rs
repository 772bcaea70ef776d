//! A process that forks while it uses a client and holds a lock: `forker URL PAIRS`.
//!
//! Two children at a time try what they inherited, and then make a client of their own. Each says it
//! in a line, `what: how it went; …`. At the end the parent tells what became of its own hold.

use std::{
    error::Error,
    fmt::Display,
    io::{self, Write},
    time::Duration,
};

use palisade::{Client, LockGuard};
use tokio::runtime::{Builder, Runtime};

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let url = args.next().ok_or("usage: forker URL PAIRS")?;
    let pairs: u32 = args.next().ok_or("usage: forker URL PAIRS")?.parse()?;
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let client = runtime.block_on(client(&url))?;
    let guard = runtime.block_on(client.lock("held").acquire())?;
    // So that threads that a child lacks have mutexes at the moment of the fork.
    for name in ["busy", "busier"] {
        let lock = client.lock(name);
        runtime.spawn(async move { while lock.acquire().await.is_ok() {} });
    }
    let mut inherited = Some((client, guard));
    for _ in 0..pairs {
        let pair = [(); 2].map(|()| forking::fork(|| child(&url, inherited.take())));
        for child in pair {
            if child?.wait()? != Some(0) {
                return Err("a child failed".into());
            }
        }
    }
    let Some((_client, guard)) = inherited else { return Err("it is ours".into()) };
    let valid = outcome(guard.ensure_valid().map(|()| "held"));
    let released = outcome(runtime.block_on(guard.release()).map(|_| "released"));
    say(&format!("parent: {valid}; {released}"))
}

fn child(url: &str, inherited: Option<(Client, LockGuard)>) -> u8 {
    let worked = match (inherited, Builder::new_current_thread().enable_all().build()) {
        (Some((client, guard)), Ok(runtime)) => try_all(url, client, guard, &runtime),
        _ => Err("nothing was inherited, or there is no runtime".into()),
    };
    u8::from(worked.is_err())
}

fn try_all(
    url: &str,
    inherited: Client,
    guard: LockGuard,
    runtime: &Runtime,
) -> Result<(), Failure> {
    runtime.block_on(async {
        let lock = inherited.lock("x");
        let tried = lock.try_acquire().await;
        let tried = outcome(tried.map(|guard| if guard.is_some() { "granted" } else { "refused" }));
        let looked = outcome(lock.is_locked().await);
        let valid = outcome(guard.ensure_valid().map(|()| "held"));
        let again = outcome(guard.reenter().map(|_| "again"));
        let lost = guard.lost().await;
        let released = outcome(guard.release().await.map(|_| "released"));
        inherited.shutdown(Duration::from_secs(1)).await?;
        drop((lock, inherited));
        let own = client(url).await?;
        let guard = own.lock("own").acquire().await?;
        let id = guard.holder_id().to_owned();
        guard.release().await?;
        say(&format!(
            "tried: {tried}; looked: {looked}; valid: {valid}; again: {again}; lost: {lost}; \
             released: {released}; own client: {id}"
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
