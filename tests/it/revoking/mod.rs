//! A lock that is taken away from its holder in place, on real servers. Leases are so long that nothing ends by
//! itself, where a test does not wait for that.

mod kinds;
mod several;

use palisade::{Client, inspect::Revoked};
use testkit::RedisServer;

use crate::support::{LONG_LEASE, eventually, patient};

/// A client that has changes of its keys told: no renewal comes in time to find them.
async fn tracking(server: &RedisServer) -> Client {
    told(server, true).await
}

/// One that listens to no changes: those of the other are counted.
async fn untold(server: &RedisServer) -> Client {
    told(server, false).await
}

async fn told(server: &RedisServer, is_told: bool) -> Client {
    let settings = patient(server).redisson_watchdog(LONG_LEASE).tracking(is_told);
    settings.connect().await.unwrap()
}

/// Waits until changes of the only hold there are told.
async fn listening(server: &RedisServer) {
    eventually(|| {
        let info = server.cli(&["INFO", "stats"]);
        let line = info.lines().find_map(|line| line.strip_prefix("tracking_total_keys:"));
        line.unwrap().trim() != "0"
    })
    .await;
}

/// The id that stands in place of the holder.
fn stand_in(revoked: &Revoked) -> &str {
    match revoked {
        Revoked::Replaced { by, .. } => by,
        other => panic!("{other:?}"),
    }
}
