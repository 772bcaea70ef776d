//! A leader that writes to a database, which refuses a leader of before.
//!
//! Between a leader's last look at its lock and its write it may be suspended for any time. The token goes along with the
//! write, and the database compares.
#![expect(clippy::print_stdout, reason = "tells a story")]

use std::error::Error;
use std::time::Duration;

use palisade::fence::{self, FenceAnswer};
use palisade::{FencedRedLock, FencingToken, Lease, Masters, embedded::Server};
use rusqlite::Connection;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(Server::start()?.client()?);
    }
    let masters = Masters::new(clients)?;
    let mut store = Connection::open_in_memory()?;
    store.execute_batch(fence::CREATE_TABLE)?;
    store.execute_batch("CREATE TABLE log (line TEXT)")?;

    let office =
        masters.fenced_red_lock("office").with_lease(Lease::WatchdogOf(Duration::from_secs(3)));
    let first = office.acquire().await?;
    println!("ada leads, {}", write(&mut store, first.fencing_token(), "ada was here")?);
    let second = depose(&masters, &office).await?;
    println!("grace leads, {}", write(&mut store, second.fencing_token(), "grace was here")?);
    // Ada has not looked yet.
    println!(
        "ada writes late, {}",
        write(&mut store, first.fencing_token(), "ada was here again")?
    );
    second.release().await?;
    masters.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}

/// Takes the office from its holder, as an operator may, and gives it to another.
async fn depose(
    masters: &Masters,
    office: &FencedRedLock,
) -> Result<palisade::FencedGuard, Box<dyn Error>> {
    for client in masters.clients() {
        client.fenced_lock("office").force_release().await?;
    }
    Ok(office.acquire().await?)
}

fn write(
    store: &mut Connection,
    token: FencingToken,
    line: &str,
) -> Result<&'static str, Box<dyn Error>> {
    let transaction = store.transaction()?;
    let rows = transaction.execute(fence::sqlite::ADMIT, ("office", token.as_i64()))?;
    match FenceAnswer::from_rows(rows.try_into()?)? {
        FenceAnswer::Admitted => {
            transaction.execute("INSERT INTO log VALUES (?1)", [line])?;
            transaction.commit()?;
            Ok("written")
        }
        FenceAnswer::Stale => Ok("REFUSED: a later leader has written"),
    }
}
