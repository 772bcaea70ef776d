//! Scripts that a fencing token lets through, for data on another server than the lock.

use palisade::{
    Client, FencingToken,
    error::{GuardedError, NodeError},
    guarded::{FencedData, Reply, Script},
};
use testkit::{Fault, FaultProxy, RedisServer, SlotCluster, Way};

use super::{add, total};
use crate::{
    deployment::cluster,
    support::{Look, client, eventually, patient, patiently, soon},
};

const GREATEST: u64 = (1 << 53) - 1;

fn token(number: u64) -> FencingToken {
    number.try_into().unwrap()
}

async fn adds(data: &FencedData) -> Result<i64, GuardedError> {
    soon(data.script(&add()).key("total").arg(1).invoke()).await
}

fn kept(server: &RedisServer) -> String {
    server.cli(&["GET", "fence"])
}

#[tokio::test]
async fn lesser_token_is_refused_and_an_equal_or_greater_one_passes() {
    let server = RedisServer::start();
    let data = client(&server).await;
    for (number, so_many) in [(9, 1), (9, 2), (10, 3), (10, 4), (GREATEST, 5)] {
        assert_eq!(adds(&data.fenced(token(number), "fence")).await.unwrap(), so_many, "{number}");
        assert_eq!(kept(&server), number.to_string());
    }
    assert_eq!(server.command(&["PTTL", "fence"]).int(), -1, "it never ends");
    for number in [1, 9, 10, GREATEST - 1] {
        let stale = adds(&data.fenced(token(number), "fence")).await.unwrap_err();
        let GuardedError::Stale { token, newest, .. } = &stale else { panic!("{stale:?}") };
        assert_eq!((*token, *newest), (number, GREATEST));
        assert!(stale.to_string().starts_with("fence: token "), "{stale}");
        assert!(!stale.is_transient(), "{stale}");
    }
    assert_eq!((total(&server), kept(&server)), ("5".to_owned(), GREATEST.to_string()));
}

/// Also with those that no lock of ours gives.
#[tokio::test]
async fn tokens_are_compared_digit_by_digit() {
    let server = RedisServer::start();
    let data = client(&server).await;
    let shown = data.fenced(token(GREATEST), "fence");
    for greater in [GREATEST + 1, GREATEST + 2, 10_000_000_000_000_000, u64::MAX] {
        server.cli(&["SET", "fence", &greater.to_string()]);
        let stale = adds(&shown).await.unwrap_err();
        assert!(
            matches!(stale, GuardedError::Stale { newest, .. } if newest == greater),
            "{stale:?}"
        );
    }
    for lesser in ["0", "9", "899999999999999", "9007199254740990"] {
        server.cli(&["SET", "fence", lesser]);
        assert!(adds(&shown).await.is_ok(), "{lesser}");
        assert_eq!(kept(&server), GREATEST.to_string());
    }
}

#[tokio::test]
async fn key_that_holds_no_token_is_an_error_and_no_pass() {
    let server = RedisServer::start();
    let data = client(&server).await;
    let shown = data.fenced(token(7), "fence");
    let none: &[&[&str]] = &[
        &["RPUSH", "fence", "1"],
        &["HSET", "fence", "1", "1"],
        &["SET", "fence", "x"],
        &["SET", "fence", "-1"],
        &["SET", "fence", "06"],
        &["SET", "fence", "1.5"],
        &["SET", "fence", ""],
        &["SET", "fence", " 6"],
        // Beyond a u64, and with more digits than one has.
        &["SET", "fence", "18446744073709551616"],
        &["SET", "fence", "100000000000000000000"],
    ];
    for command in none {
        server.cli(&["DEL", "fence"]);
        server.cli(command);
        let dump = server.command(&["DUMP", "fence"]);
        let refused = adds(&shown).await.unwrap_err();
        let GuardedError::NotDone { source, .. } = &refused else {
            panic!("{command:?} {refused:?}")
        };
        assert!(matches!(source, NodeError::ForeignCounter), "{command:?} {source:?}");
        assert_eq!(server.command(&["DUMP", "fence"]), dump, "{command:?}");
    }
    assert!(!server.exists("total"));
}

#[tokio::test]
async fn late_holder_of_a_lock_elsewhere_writes_nothing() {
    let (locks, server) = (RedisServer::start(), RedisServer::start());
    let (locks, data) = (client(&locks).await, client(&server).await);
    let lock = locks.fenced_lock("x");
    let first = lock.acquire().await.unwrap();
    let late = data.fenced(first.fencing_token(), "fence");
    assert_eq!(adds(&late).await.unwrap(), 1);
    first.release().await.unwrap();
    let next = lock.acquire().await.unwrap();
    assert_eq!(adds(&late).await.unwrap(), 2, "the next has not shown its token yet");
    assert_eq!(adds(&data.fenced(next.fencing_token(), "fence")).await.unwrap(), 3);
    assert!(matches!(adds(&late).await, Err(GuardedError::Stale { .. })));
    // What the key forgets is not known any more.
    server.cli(&["DEL", "fence"]);
    assert_eq!(adds(&late).await.unwrap(), 4);
}

#[tokio::test]
async fn token_is_kept_though_the_script_fails_and_a_script_that_may_not_write_cannot_raise_it() {
    let server = RedisServer::start();
    let data = client(&server).await;
    let failing = Script::new("redis.call('INCRBY', KEYS[1], 1)\nerror('by hand')");
    let call = |number| data.fenced(token(number), "fence");
    let failed = call(7).script(&failing).key("total").invoke::<()>().await.unwrap_err();
    assert!(matches!(failed, GuardedError::Script { .. }), "{failed:?}");
    assert!(failed.to_string().contains("user_script:2: by hand"), "{failed}");
    assert_eq!((kept(&server), total(&server)), ("7".to_owned(), "1".to_owned()));
    let wrong = Script::new("return {}");
    let wrong = call(7).script(&wrong).invoke::<i64>().await.unwrap_err();
    assert!(matches!(wrong, GuardedError::WrongReply { .. }), "{wrong:?}");
    if server.version() >= (7, 0) {
        let reads = Script::new("#!lua flags=no-writes\nreturn redis.call('GET', KEYS[1])");
        let read = call(7).script(&reads).key("total").invoke::<i64>().await;
        assert_eq!(read.unwrap(), 1, "it is kept already");
        let raises = call(8).script(&reads).key("total").invoke::<i64>().await.unwrap_err();
        assert!(matches!(raises, GuardedError::NotDone { .. }), "{raises:?}");
    }
    assert_eq!(kept(&server), "7");
}

#[tokio::test]
async fn script_of_a_token_sees_its_own_keys_and_arguments_alone() {
    let server = RedisServer::start();
    let data = patient(&server).namespace("ns:").connect().await.unwrap();
    let script = Script::new("return { #KEYS, #ARGV, KEYS[1] or '', ARGV[1] or '' }");
    let call = data.fenced(token(7), "fence").script(&script).key("k").arg("a");
    let text = |text: &str| Reply::Bytes(text.into());
    let [one, k, a] = [Reply::Int(1), text("k"), text("a")];
    assert_eq!(call.invoke::<Vec<Reply>>().await.unwrap(), [one.clone(), one, k, a]);
    assert_eq!(kept(&server), "7", "the key is taken as it is");
}

#[tokio::test]
async fn keys_that_are_not_in_the_slot_of_the_token_are_refused() {
    let servers = SlotCluster::start(3);
    let data = soon(cluster::settings(&servers).connect()).await.unwrap();
    let script = add();
    for (fence, tag) in [("fence", "{fence}"), ("a{stock}", "{stock}")] {
        let data = data.fenced(token(7), fence);
        let far = data.script(&script).key("total").arg(1).invoke::<i64>().await.unwrap_err();
        assert!(far.to_string().contains(&format!("a key with {tag} is")), "{far}");
        let near = data.script(&script).key(format!("{tag}:total")).arg(1);
        assert_eq!(soon(near.invoke::<i64>()).await.unwrap(), 1);
    }
}

#[tokio::test]
async fn call_by_token_whose_answer_is_lost_is_unknown_and_was_made_once() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let data = patiently(Client::builder().url(&proxy.url())).connect().await.unwrap();
    let shown = data.fenced(token(7), "fence");
    assert_eq!(adds(&shown).await.unwrap(), 1);
    proxy.set(Fault::Stall(Way::Replies));
    let cut = async {
        eventually(|| total(&server) == "2").await;
        proxy.cut();
        proxy.heal();
    };
    let (answer, ()) = soon(async { tokio::join!(adds(&shown), cut) }).await;
    assert!(matches!(answer, Err(GuardedError::Unknown { .. })), "{answer:?}");
    assert_eq!(adds(&shown).await.unwrap(), 3);
    data.shutdown(std::time::Duration::from_secs(2)).await.unwrap();
    let closed = adds(&shown).await.unwrap_err();
    assert!(
        matches!(closed, GuardedError::NotDone { source: NodeError::Closed, .. }),
        "{closed:?}"
    );
}
