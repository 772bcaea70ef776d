//! What a user with few rights can do.

use palisade::acl::{Rights, Use};

use super::{RedisServer, next, patient, soon, until_value};

#[tokio::test]
async fn printed_rights_are_enough_to_lead_and_to_observe() {
    let server = RedisServer::start();
    for (namespace, name) in [("", "x"), ("shop:", "x"), ("", "{y}")] {
        let rights = Rights::new().namespace(namespace).with(Use::Election, name);
        let mut words: Vec<String> =
            ["ACL", "SETUSER", "app", "reset", "on", ">pw"].map(str::to_owned).into();
        words.extend(rights.rules());
        server.cli(&words);
        let client = patient(&server).namespace(namespace).url(&server.url_with("app", "pw"));
        let client = client.connect().await.unwrap();
        let election = client.election(name);
        let mut observer = election.observe();
        assert_eq!(next(&mut observer).await, None);
        let leadership = soon(election.campaign()).await.unwrap();
        soon(leadership.proclaim("v")).await.unwrap();
        until_value(&mut observer, "v").await;
        soon(leadership.resign()).await.unwrap();
        assert_eq!(next(&mut observer).await, None);
        client.shutdown(crate::fleet::HANG).await.unwrap();
        assert_eq!(server.cli(&["ACL", "LOG"]), "", "{name} was refused something");
    }
}

/// Those of its lock alone: it leads, and is not announced.
#[tokio::test]
async fn rights_that_were_printed_for_the_lock_are_enough_to_lead() {
    let server = RedisServer::start();
    let rights = Rights::new().with(Use::FencedLock, "x");
    let mut words: Vec<String> =
        ["ACL", "SETUSER", "app", "reset", "on", ">pw"].map(str::to_owned).into();
    words.extend(rights.rules());
    server.cli(&words);
    let client = patient(&server).url(&server.url_with("app", "pw")).connect().await.unwrap();
    let election = client.election("x");
    let leadership = soon(election.campaign()).await.unwrap();
    leadership.ensure_valid().unwrap();
    soon(leadership.proclaim("v")).await.unwrap_err();
    soon(election.leader()).await.unwrap_err();
    soon(election.observe().changed()).await.unwrap_err();
}
