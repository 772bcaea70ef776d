//! Three machines whose timers are some moments apart, and one report for each hour.
//!
//! Runs on an in-process server; on a real one if it is named:
//! `PALISADE_SERVER=redis://127.0.0.1:6379`.
#![expect(clippy::print_stdout, reason = "tells a story")]

use std::{convert::Infallible, env, error::Error, time::Duration};

use palisade::{Client, embedded::Server, once::Once};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (client, _server) = match env::var("PALISADE_SERVER") {
        Ok(url) => (Client::connect(&url).await?, None),
        Err(_) => {
            let server = Server::start()?;
            (server.client()?, Some(server))
        }
    };
    let lock = client.lock("report");
    // Of the schedule, and not of any clock: the same on all machines.
    for hour in ["2026-11-26T03", "2026-11-26T04"] {
        for machine in 1..=3 {
            let report = async |_guard: &_| {
                tokio::time::sleep(Duration::from_millis(50)).await;
                Ok::<_, Infallible>(format!("the report of {hour}"))
            };
            match lock.once_for(hour, report).await? {
                Once::Done(report) => println!("machine {machine} has written {report}"),
                Once::NotDue(run) => println!("machine {machine} has nothing to do: {run}"),
                Once::Held => println!("machine {machine} did not wait"),
            }
        }
    }
    client.shutdown(Duration::from_secs(2)).await?;
    Ok(())
}
