//! What a guarded script says of replicas that are behind, and of what was not executed for sure.

use palisade::error::{GuardedError, NodeError};
use testkit::RedisServer;

use super::{add, total};
use crate::support::{Look, eventually, ms, patient, soon};

/// A master with a replica that confirms what it has.
fn pair() -> [RedisServer; 2] {
    let pair = [RedisServer::start(), RedisServer::start()];
    pair[1].follow(&pair[0]);
    pair
}

#[tokio::test]
async fn script_is_on_the_replica_when_it_is_confirmed_or_says_that_it_is_not() {
    let [master, replica] = pair();
    let settings = patient(&master).replicas(1).replicas_timeout(ms(2_000));
    let client = settings.connect().await.unwrap();
    let guard = soon(client.lock("x").acquire()).await.unwrap();
    let data = client.fenced(7_u64.try_into().unwrap(), "fence");
    let script = add();
    let by_hold = || guard.script(&script).key("total").arg(1).invoke::<i64>();
    let by_token = || data.script(&script).key("total").arg(1).invoke::<i64>();
    assert_eq!(soon(by_hold()).await.unwrap(), 1);
    assert_eq!(total(&replica), "1");
    assert_eq!(soon(by_token()).await.unwrap(), 2);
    assert_eq!(total(&replica), "2");
    replica.freeze();
    for (answer, so_many) in [(soon(by_hold()).await, "3"), (soon(by_token()).await, "4")] {
        let behind = answer.unwrap_err();
        let GuardedError::NotReplicated { source, .. } = &behind else { panic!("{behind:?}") };
        assert!(matches!(source, NodeError::NotReplicated { replicas: 0, .. }), "{source:?}");
        assert!(so_many <= total(&master).as_str(), "it was executed all the same");
    }
    replica.thaw();
    eventually(|| total(&replica) == "4").await;
    assert_eq!(soon(by_hold()).await.unwrap(), 5);
}

#[tokio::test]
async fn script_that_was_not_executed_for_sure_says_so() {
    let server = RedisServer::start();
    let client = patient(&server).connect().await.unwrap();
    let guard = client.lock("x").acquire().await.unwrap();
    let data = client.fenced(7_u64.try_into().unwrap(), "fence");
    let script = add();
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    for answer in [
        guard.script(&script).key("total").arg(1).invoke::<i64>().await.map_err(|is| ("hold", is)),
        data.script(&script).key("total").arg(1).invoke::<i64>().await.map_err(|is| ("token", is)),
    ] {
        let (by, full) = answer.unwrap_err();
        match (by, &full) {
            // What reads is executed: only the user's own command is refused.
            ("hold", GuardedError::Script { error, .. }) => {
                assert!(error.to_string().contains("OOM"), "{full}");
            }
            ("token", GuardedError::NotDone { source, .. }) => {
                assert!(matches!(source, NodeError::OutOfMemory), "{source:?}");
                assert!(full.is_transient(), "{full}");
            }
            _ => panic!("{by}: {full:?}"),
        }
    }
    assert!(!server.exists("total") && !server.exists("fence"));
    server.cli(&["CONFIG", "SET", "maxmemory", "0"]);
    let added = data.script(&script).key("total").arg(1).invoke::<i64>().await;
    assert_eq!(added.unwrap(), 1);
}
