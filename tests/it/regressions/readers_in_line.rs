//! Readers ask all at once; those that are refused stand in one line, and only the first of it keeps
//! anything.

use std::time::Duration;

use palisade::{MultiLock, embedded::Server};
use tokio::time::{sleep, timeout};

use crate::outside::ask;

#[tokio::test(start_paused = true)]
async fn reader_that_comes_to_stand_behind_another_keeps_no_member() {
    let server = Server::start_here();
    let (client, elsewhere) = (server.client().unwrap(), server.client().unwrap());
    let written = elsewhere.rw_lock("d").write().acquire().await.unwrap();
    let members = || ["a", "d"].map(|name| client.rw_lock(name).read());
    let readers = [(); 3].map(|()| {
        let both = MultiLock::new(members()).unwrap();
        tokio::spawn(async move { both.acquire().await.unwrap().release().await.unwrap() })
    });
    // The first keeps what it has for two seconds and a half at most, and nothing for ten after that.
    sleep(Duration::from_secs(5)).await;
    assert_eq!(ask::<i64>(&server, &["EXISTS", "a"]).await, 0);
    let writer = elsewhere.rw_lock("a").write().try_acquire().await.unwrap();
    writer.expect("nobody reads it").release().await.unwrap();
    written.release().await.unwrap();
    for reader in readers {
        timeout(Duration::from_secs(20), reader).await.unwrap().unwrap();
    }
}
