//! A holder that is stopped for longer than its lease, and its late write, which the store refuses.
//!
//! A lock alone cannot prevent that: the holder *had* the lock when it looked, and between any look
//! and the write it may be stopped. The store can, if every write shows the holder's fencing token.
//!
//! Runs on three in-process masters, or on those named in `PALISADE_SERVERS`:
//! `cargo run -p fencing-example`.
#![expect(clippy::print_stdout, reason = "tells a story")]

#[cfg(unix)]
mod child;
mod holder;
mod store;

use std::{env, error::Error, path::Path, time::Duration};

use palisade::Lease;

/// What is locked.
const LOCK: &str = "account:1";
/// Short, since the story waits for its end.
const LEASE: Lease = Lease::WatchdogOf(Duration::from_secs(6));

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["holder", urls, file] => holder::run(urls, Path::new(file)).await,
        _ => story::tell().await,
    }
}

#[cfg(unix)]
mod story {
    use std::{env, error::Error, time::Duration};

    use palisade::{AcquireError, Masters, OnOutage, embedded::Server};

    use crate::{LEASE, LOCK, child::HolderProcess, holder::CHECKED, store::Store};

    pub(crate) async fn tell() -> Result<(), Box<dyn Error>> {
        let (urls, _servers) = servers().await?;
        let masters = Masters::connect(urls.split(',')).await?;
        tell_if_young(&masters).await;
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("accounts.sqlite");
        let store = Store::create(&file, 100)?;

        let mut first = HolderProcess::start(&urls, &file)?;
        first.listen_until(CHECKED)?;
        first.stop()?;
        println!("operator: the first holder stands still (SIGSTOP), for longer than its lease");

        let lock = masters.fenced_red_lock(LOCK).with_lease(LEASE).on_outage(OnOutage::Wait);
        let guard = lock.acquire().await?;
        println!("holder 2: granted, token {}", guard.fencing_token());
        let accepted = store.write(guard.fencing_token(), 50)?;
        println!("holder 2: wrote 50: {}", if accepted { "accepted" } else { "REFUSED?!" });
        guard.release().await?;

        println!("operator: the first holder goes on (SIGCONT)");
        first.go_on()?;
        first.listen_to_the_end()?;
        println!("the store: the balance is {}", store.balance()?);
        masters.shutdown(Duration::from_secs(5)).await?;
        Ok(())
    }

    /// Where the masters are, and the servers behind them if they are in this process.
    async fn servers() -> Result<(String, Vec<Server>), Box<dyn Error>> {
        if let Ok(urls) = env::var("PALISADE_SERVERS") {
            return Ok((urls, Vec::new()));
        }
        let (mut urls, mut servers) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            let server = Server::start()?;
            urls.push(format!("redis://{}", server.listen(([127, 0, 0, 1], 0).into()).await?));
            servers.push(server);
        }
        println!("Three in-process masters listen on loopback (PALISADE_SERVERS is not set).");
        Ok((urls.join(","), servers))
    }

    /// Masters that were started just now do not vote yet: they must be blessed as new.
    async fn tell_if_young(masters: &Masters) {
        let attempt = masters.fenced_red_lock(LOCK).try_acquire().await;
        if let Err(quarantined @ AcquireError::Quarantined { .. }) = attempt {
            println!("{quarantined}: `palisade bless`. Until then the story waits.");
        }
    }
}

#[cfg(not(unix))]
mod story {
    use std::error::Error;

    pub(crate) async fn tell() -> Result<(), Box<dyn Error>> {
        Err("a process is stopped here by a signal, which this system does not have".into())
    }
}
