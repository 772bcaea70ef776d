//! Rights that a user loses in the middle of something, and has again later.

use palisade::{Client, error::NodeError};
use testkit::RedisServer;

use crate::support::{LONG_LEASE, causes, client, eventually, patient, soon, watchdog};

/// A client of the user `app`, which may do everything.
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

/// A waiter is told, and keeps no other out.
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

/// It reads from now on, for all that the caller is told, and no writer gets in; the servers follow as
/// soon as they may be told.
#[tokio::test]
async fn downgrade_without_the_right_to_it_is_made_up_for() {
    for command in ["evalsha", "set", "hset", "hdel", "publish"] {
        let server = RedisServer::start();
        let lock = app(&server).await.rw_lock("x");
        let writer = soon(lock.write().with_lease(watchdog(20_000)).acquire()).await.unwrap();
        let others = patient(&server).redisson_watchdog(LONG_LEASE).connect().await.unwrap();
        let others = others.rw_lock("x");
        may(&server, &format!("-{command}"));
        let reader = soon(writer.downgrade()).await.unwrap();
        assert!(soon(others.write().try_acquire()).await.unwrap().is_none(), "{command}");
        may(&server, &format!("+{command}"));
        let other = soon(others.read().acquire()).await.unwrap();
        assert!(reader.is_held() && other.is_held(), "{command}");
        assert!(soon(others.write().try_acquire()).await.unwrap().is_none(), "{command}");
        for guard in [reader, other] {
            soon(guard.release()).await.unwrap();
        }
        eventually(|| server.keys().is_empty()).await;
    }
}
