//! A user that may use the keys but not the channels.

use palisade::{Client, Released};
use testkit::RedisServer;

use crate::support::{Look, client, eventually, patient, promptly, soon};

async fn without_channels(server: &RedisServer) -> Client {
    server.cli(&["ACL", "SETUSER", "app", "reset", "on", ">pw", "~*", "+@all", "resetchannels"]);
    patient(server).url(&server.url_with("app", "pw")).connect().await.unwrap()
}

#[tokio::test]
async fn user_without_channel_rights_acquires_releases_and_waits() {
    let server = RedisServer::start();
    let [holder, waiter] = [without_channels(&server).await, without_channels(&server).await];
    for _ in 0..3 {
        let guard = soon(holder.lock("x").acquire()).await.unwrap();
        let again = guard.reenter().unwrap();
        eventually(|| server.count("x") == 2).await;
        drop(again);
        let next = tokio::spawn({
            let lock = waiter.lock("x");
            async move { lock.acquire().await }
        });
        keeps_looking(&server).await;
        // Released, although no waiter may be told.
        assert_eq!(soon(guard.release()).await.unwrap(), Released::Freed);
        // It is not announced, so a waiter must look: well before the poll cap of 5 s, which is for
        // waiters that may listen, and long before the lease would end.
        let next = promptly(&server, next).await.unwrap().unwrap();
        assert_eq!(soon(next.release()).await.unwrap(), Released::Freed);
        assert_eq!(server.size(), 0);
    }
}

/// The waiter may not listen; the holder may announce, which must not be mistaken for a reason to
/// sleep until it is told.
#[tokio::test]
async fn user_without_channel_rights_waits_for_one_who_has_them() {
    let server = RedisServer::start();
    let (holder, waiter) = (client(&server).await, without_channels(&server).await);
    let guard = holder.lock("x").acquire().await.unwrap();
    let next = tokio::spawn({
        let lock = waiter.lock("x");
        async move { lock.acquire().await }
    });
    keeps_looking(&server).await;
    guard.release().await.unwrap();
    let next = promptly(&server, next).await.unwrap().unwrap();
    next.release().await.unwrap();
}

/// Completes when a waiter has asked more than once.
async fn keeps_looking(server: &RedisServer) {
    let before = server.calls_of("pttl");
    eventually(|| server.calls_of("pttl") >= before + 4).await;
}
