//! Releases by plain commands.

use testkit::RedisServer;

use super::{connect, gate::Gate};
use crate::{
    node::test_server::TestServer,
    reach::test_settings::{later, until, within},
    socket::Priority,
    wire::PlainRelease,
};

fn of_me() -> PlainRelease {
    let by_script = |_: &PlainRelease| unreachable!("that is another's business");
    PlainRelease { key: "x".into(), holder: "me:1".into(), channel: "c".into(), by_script }
}

#[tokio::test]
async fn what_the_holder_did_not_have_is_for_the_script_to_tell() {
    let server = RedisServer::start();
    let node = server.node();
    let connection = connect(&node).await;
    server.run("HSET x me:1 1 you:1 1");
    let release =
        async || connection.release_plainly(Priority::default(), &of_me(), later()).await.unwrap();
    assert_eq!(release().await.unwrap().reply.code, 1);
    assert!(release().await.is_none());
    assert_eq!(server.run("HGETALL x"), "you:1\n1");
    server.run("DEL x");
    server.run("SET x text");
    assert_eq!(release().await.unwrap().reply.code, -2);
}

/// It may not be taken for one that was never made: the word that was not said is waited for.
#[tokio::test]
async fn release_that_is_cut_between_its_commands_is_unknown() {
    let server = RedisServer::start();
    let (node, gate) = Gate::before(&server);
    let connection = connect(&node).await;
    server.run("HSET x me:1 1");
    let (patient, of_me) = (Priority::default(), of_me());
    let mut removal = Vec::new();
    of_me.write_removal(&mut removal);
    gate.allow(removal.len());
    let mut release = Box::pin(connection.release_plainly(patient, &of_me, later()));
    let removed = until(async || {
        assert!(futures::poll!(release.as_mut()).is_pending());
        (server.run("EXISTS x") == "0").then_some(())
    });
    within(removed).await;
    gate.cut();
    let error = within(release).await.unwrap_err();
    assert!(error.is_unknown(), "{error:?}");
}
