//! Rights that a user loses in the middle of something, and has again later.

use palisade::{Client, error::NodeError};
use testkit::RedisServer;

use crate::support::{causes, client, eventually, patient, soon};

/// A client of the user `app`, who may do everything.
async fn app(server: &RedisServer) -> Client {
    may(server, "reset");
    for rule in ["on", ">pw", "~*", "&*", "+@all"] {
        may(server, rule);
    }
    patient(server).url(&server.url_with("app", "pw")).connect().await.unwrap()
}

fn may(server: &RedisServer, rule: &str) {
    server.cli(&["ACL", "SETUSER", "app", rule]);
}

/// Whoever waits is told, and keeps nobody out.
#[tokio::test]
async fn wait_in_a_queue_without_the_right_to_it_ends_and_the_next_one_gets_in() {
    for command in ["evalsha", "zadd", "lpop", "hset", "lrem"] {
        let server = RedisServer::start();
        let held = client(&server).await.fair_lock("x").acquire().await.unwrap();
        let lock = app(&server).await.fair_lock("x");
        let waiter = tokio::spawn(async move { lock.acquire().await });
        eventually(|| queued(&server) == 1).await;
        let next = client(&server).await.fair_lock("x");
        let next = tokio::spawn(async move { next.acquire().await });
        eventually(|| queued(&server) == 2).await;
        may(&server, &format!("-{command}"));
        held.release().await.unwrap();
        match soon(waiter).await.unwrap() {
            // It needs no such right for its turn.
            Ok(guard) => drop(guard),
            Err(error) => {
                let causes = causes(&error);
                assert!(matches!(causes[..], [NodeError::Permission { .. }]), "{error:?}");
            }
        }
        may(&server, &format!("+{command}"));
        soon(next).await.unwrap().unwrap().release().await.unwrap();
        eventually(|| queued(&server) == 0 && server.command(&["EXISTS", "x"]).int() == 0).await;
    }
}

fn queued(server: &RedisServer) -> i64 {
    server.command(&["LLEN", "redisson_lock_queue:{x}"]).int()
}
