//! While nothing is told: rights that lack, connections that break, holds that begin then.

use palisade::{
    Client,
    acl::{Rights, Use},
};
use testkit::RedisServer;

use super::{listening, tracked_keys, tracking};
use crate::support::{eventually, patiently, promptly, soon};

/// A user whose rights were printed before there was anything to tell.
#[tokio::test]
async fn user_without_the_right_goes_on_as_before() {
    let server = RedisServer::start();
    server.cli(&[
        "ACL",
        "SETUSER",
        "app",
        "on",
        ">secret",
        "~*",
        "&*",
        "+@all",
        "-client|tracking",
    ]);
    let client = patiently(Client::builder().url(&server.url_with("app", "secret")));
    let client = client.tracking(true).connect().await.unwrap();
    let guard = client.lock("x").acquire().await.unwrap();
    let refused = || server.command(&["ACL", "LOG", "100"]).array().len();
    eventually(|| refused() > 0).await;
    let again = client.lock("y").acquire().await.unwrap();
    assert!(guard.is_held() && again.is_held());
    soon(guard.release()).await.unwrap();
    soon(again.release()).await.unwrap();
    assert_eq!((refused(), tracked_keys(&server)), (1, 0), "it is asked for once");
}

/// And a user that has just the rights that are named for it.
#[tokio::test]
async fn user_with_the_least_rights_is_told() {
    let server = RedisServer::start();
    let rights = Rights::new().with(Use::Lock, "x").with(Use::ExpirableSemaphore, "y");
    let rules = rights.rules();
    let user = ["ACL", "SETUSER", "app", "on", ">secret"].into_iter();
    let user: Vec<&str> = user.chain(rules.iter().map(String::as_str)).collect();
    server.cli(&user);
    let client = patiently(Client::builder().url(&server.url_with("app", "secret")));
    let client = client.tracking(true).connect().await.unwrap();
    let guard = client.lock("x").acquire().await.unwrap();
    client.expirable_semaphore("y").set_permits(1).await.unwrap();
    let permit = client.expirable_semaphore("y").acquire().await.unwrap();
    listening(&server, 2).await;
    server.flush();
    promptly(&server, guard.lost()).await;
    promptly(&server, permit.lost()).await;
    assert_eq!(server.command(&["ACL", "LOG", "100"]).array().len(), 0);
}

/// What changed while the connection for it was away was told to nothing. The others stand, so that nothing else asks.
#[tokio::test]
async fn holds_are_looked_at_once_the_connection_is_back() {
    let server = RedisServer::start();
    let client = tracking(&server).await;
    let (gone, stays) = (client.lock("x"), client.lock("y"));
    let (gone, stays) = (gone.acquire().await.unwrap(), stays.acquire().await.unwrap());
    listening(&server, 2).await;
    let clients = server.cli(&["CLIENT", "LIST"]);
    let told = clients.lines().find(|line| line.contains("flags=t")).unwrap();
    let id = told.split(' ').next().unwrap().strip_prefix("id=").unwrap();
    // Another has it by then: that something stands there says nothing.
    let kill = ["CLIENT", "KILL", "ID", id];
    let taken: [&[&str]; 5] =
        [&["MULTI"], &kill, &["DEL", "x"], &["HSET", "x", "other:1", "1"], &["EXEC"]];
    for command in taken {
        assert!(!server.command(command).is_error(), "{command:?}");
    }
    promptly(&server, gone.lost()).await;
    listening(&server, 1).await;
    assert!(stays.is_held());
    server.command(&["DEL", "y"]);
    promptly(&server, stays.lost()).await;
}

#[tokio::test]
async fn hold_after_hold_of_one_name_is_told() {
    let server = RedisServer::start();
    let client = tracking(&server).await;
    for _ in 0..5 {
        let guard = client.lock("x").acquire().await.unwrap();
        listening(&server, 1).await;
        guard.release().await.unwrap();
        let guard = client.lock("x").acquire().await.unwrap();
        listening(&server, 1).await;
        server.command(&["DEL", "x"]);
        promptly(&server, guard.lost()).await;
    }
}
