//! Names that look like something else.

use crate::{
    rw,
    support::{eventually, soon},
};
use testkit::RedisServer;

#[tokio::test]
async fn any_bytes_that_are_text_are_a_name() {
    let server = RedisServer::start();
    let client = rw::client(&server).await;
    let long = "x".repeat(10_000);
    for name in
        ["\0", "a\0b", " ", "\r\n$1\r\n", "ключ🔑", "*[a-z]?", "1", "a:b:write", "mode", &long]
    {
        let held = (
            soon(client.fair_lock(name).acquire()).await,
            client.semaphore(format!("s{name}")),
            client.expirable_semaphore(format!("e{name}")),
            client.count_down_latch(format!("l{name}")),
        );
        let (fair, permits, leases, latch) = held;
        let write = soon(client.rw_lock(format!("w{name}")).write().acquire()).await;
        let read = soon(client.rw_lock(format!("r{name}")).read().acquire()).await;
        if name.len() == long.len() && fair.is_err() {
            // Told before anything was sent: as long as other names may be.
            assert!(write.is_err() && read.is_err() && is_empty(&server));
            assert!(permits.try_set_permits(1).await.is_err());
            continue;
        }
        assert!(permits.try_set_permits(1).await.unwrap());
        assert!(leases.try_set_permits(1).await.unwrap());
        assert!(latch.try_set_count(1).await.unwrap());
        let (one, other) = (permits.acquire().await.unwrap(), leases.acquire().await.unwrap());
        assert!(permits.try_acquire().await.unwrap().is_none());
        assert!(leases.try_acquire().await.unwrap().is_none());
        one.release().await.unwrap();
        other.release().await.unwrap();
        assert!(latch.count_down().await.unwrap());
        fair.unwrap().release().await.unwrap();
        write.unwrap().release().await.unwrap();
        read.unwrap().release().await.unwrap();
        assert!(permits.delete().await.unwrap());
        assert!(leases.delete().await.unwrap());
        eventually(|| is_empty(&server)).await;
    }
}

/// But for when latches were last at zero.
fn is_empty(server: &RedisServer) -> bool {
    server.keys().iter().all(|key| key.ends_with(":palisade_zero"))
}
