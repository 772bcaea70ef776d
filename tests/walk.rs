//! One free lock, acquired, renewed and released: what `cargo xtask walk` follows under callgrind.
//!
//! Callgrind writes down what was executed whenever [`end_of_stretch`] is called, and begins anew. A first pair
//! connects and loads the scripts, so that no stretch has more in it than its name says.

use std::{error::Error, hint::black_box, time::Duration};

use palisade::{Client, Lease};
use testkit::RedisServer;

/// A third of it passes before a renewal: long beside a call under valgrind, and still short.
const LEASE: Lease = Lease::WatchdogOf(Duration::from_secs(9));

fn main() -> Result<(), Box<dyn Error>> {
    let server = RedisServer::start();
    server.bless();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(walk(&server))
}

async fn walk(server: &RedisServer) -> Result<(), Box<dyn Error>> {
    // To follow a hold begins a quarter of a second later, and is a walk of its own.
    let client = Client::builder().url(&server.url()).tracking(false).connect().await?;
    let lock = client.lock("walked").with_lease(LEASE);
    let warm = lock.acquire().await?;
    renewal(server).await;
    warm.release().await?;
    quiet().await;
    end_of_stretch("before");
    let guard = lock.acquire().await?;
    quiet().await;
    end_of_stretch("acquire");
    renewal(server).await;
    end_of_stretch("renew");
    guard.release().await?;
    quiet().await;
    end_of_stretch("release");
    Ok(())
}

/// Until the server has executed a renewal, and what follows from its answer is done. The server is asked and not the
/// guard: whatever the guard does would be a part of the walk.
async fn renewal(server: &RedisServer) {
    let before = server.end_of("walked");
    while server.end_of("walked") <= before {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    quiet().await;
}

/// What an answer sets off is done when nothing has been heard for so long.
async fn quiet() {
    tokio::time::sleep(Duration::from_millis(500)).await;
}

/// Callgrind knows it by this name.
#[inline(never)]
fn end_of_stretch(name: &str) {
    black_box(name);
}
