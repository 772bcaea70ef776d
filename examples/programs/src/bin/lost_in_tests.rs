//! How a program tests what it does when it loses a lock: on the embedded server, by an operator's `force_release`.
#![expect(clippy::print_stdout, reason = "tells a story")]

use std::error::Error;

use palisade::{Client, embedded::Server};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = Server::start()?.client()?;
    println!("{:?}", import(&client, async {}).await?);
    Ok(())
}

/// How an import ended.
#[derive(Debug, PartialEq, Eq)]
enum Import {
    Done,
    /// Another process imports now, or has begun to since.
    NotOurs,
}

/// The program: imports once at a time, and stops if it is no longer the one.
async fn import(client: &Client, work: impl Future<Output = ()>) -> Result<Import, Box<dyn Error>> {
    let Some(guard) = client.lock("import").try_acquire().await? else {
        return Ok(Import::NotOurs);
    };
    if guard.run(work).await.is_err() {
        return Ok(Import::NotOurs);
    }
    guard.release().await?;
    Ok(Import::Done)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use palisade::Lease;

    use super::*;

    #[tokio::test]
    async fn a_second_import_is_not_begun() {
        let client = Server::start_here().client().expect("a client");
        let _other = client.lock("import").acquire().await.expect("it is free");
        let begun = import(&client, async { panic!("begun although another imports") }).await;
        assert_eq!(begun.expect("the server answers"), Import::NotOurs);
    }

    /// Paused time: half a minute takes no time.
    #[tokio::test(start_paused = true)]
    async fn an_import_that_loses_its_lock_is_stopped() {
        let client = Server::start_here().client().expect("a client");
        let operator = client.clone();
        let forced = async {
            let released =
                operator.lock("import").force_release().await.expect("the server answers");
            assert!(released, "the import holds it");
            std::future::pending().await
        };
        assert_eq!(import(&client, forced).await.expect("no error"), Import::NotOurs);
    }

    #[tokio::test(start_paused = true)]
    async fn the_lock_of_a_dead_process_is_free_after_its_lease() {
        let server = Server::start_here();
        let dead = server.client().expect("a client");
        let lease = Lease::Fixed(Duration::from_secs(10));
        dead.lock("import").with_lease(lease).acquire().await.expect("it is free").orphan();
        let client = server.client().expect("another");
        assert_eq!(import(&client, async {}).await.expect("no error"), Import::NotOurs);
        tokio::time::advance(Duration::from_secs(11)).await;
        assert_eq!(import(&client, async {}).await.expect("no error"), Import::Done);
    }
}
