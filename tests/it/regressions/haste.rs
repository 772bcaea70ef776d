//! A lease of 20 ms leaves a server 2 ms for its vote: a busy machine was taken for a server that is down.

use testkit::{Fault, FaultProxy, RedisServer};

use crate::support::{eventually, fixed, ms, patient, soon};

#[tokio::test]
async fn wait_whose_lease_is_too_short_for_a_busy_moment_goes_on() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let client = patient(&server).url(&proxy.url()).connect().await.unwrap();
    let lock = client.lock("x").with_lease(fixed(200));
    drop(soon(lock.acquire()).await.unwrap());
    proxy.set(Fault::Delay(ms(100)));
    let before = server.calls_of("evalsha");
    let waiter = tokio::spawn(async move { lock.acquire().await.map(drop) });
    eventually(|| server.calls_of("evalsha") >= before + 3).await;
    assert!(!waiter.is_finished());
    proxy.heal();
    soon(waiter).await.unwrap().unwrap();
}
