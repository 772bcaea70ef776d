//! A master behind sentinels that loses its data under sockets that live on.
//!
//! What an acquire compares there is more than the text of the mark. A client that took it for the text never
//! looked again, and was refused by that master for ever.

use std::time::{Duration, Instant};

use palisade::{Client, embedded::Server};

use crate::support::soon;

/// D for a lease of 500 ms and a skew of 100 ms.
const QUARANTINE: Duration = Duration::from_millis(1_605);

#[tokio::test]
async fn master_behind_sentinels_that_lost_its_data_grants_again_after_the_quarantine() {
    for lose in [Server::flush, Server::change_roles] {
        let server = Server::start_here();
        let master = server.clone();
        let client = Client::builder()
            .simulated_sentinels("orders", move || {
                let master = master.clone();
                async move { master.connect().await.map(|stream| (stream, 1)) }
            })
            .fleet_max_lease(Duration::from_millis(500))
            .clock_skew(Duration::from_millis(100))
            .build()
            .unwrap();
        let lock = client.lock("x");
        soon(lock.acquire()).await.unwrap().release().await.unwrap();
        lose(&server);
        let lost = Instant::now();
        soon(lock.acquire()).await.unwrap().release().await.unwrap();
        assert!(lost.elapsed() >= QUARANTINE, "{:?}", lost.elapsed());
    }
}
