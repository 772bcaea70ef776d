//! A server that throws locks away when its memory is full.

use testkit::RedisServer;

use crate::{
    names::Events,
    support::{acquired, client},
};

#[tokio::test]
async fn server_that_evicts_locks_is_warned_of_once() {
    for (limit, policy, warnings) in [
        ("100mb", "allkeys-lru", &["allkeys-lru"][..]),
        ("100mb", "volatile-ttl", &["volatile-ttl"]),
        ("100mb", "noeviction", &[]),
        ("0", "allkeys-lru", &[]),
    ] {
        let builder = RedisServer::builder().arg("--maxmemory", limit);
        let server = builder.arg("--maxmemory-policy", policy).start();
        Events::keep();
        let client = client(&server).await;
        // The next connection finds the same.
        server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
        drop(acquired(&client.lock("x")).await);
        assert_eq!(Events::kept_values("maxmemory_policy"), warnings, "{limit} {policy}");
    }
}
