//! Scripts that are executed only while a hold stands, on real servers. Those that a token lets through: `by_token`.

mod by_token;
mod failing;
mod large;

use std::{task::Poll, time::Duration};

use futures::poll;
use palisade::{
    Client, LockGuard, Released,
    error::{ConfigError, GuardedError},
    guarded::{Reply, Script},
    settings::LocalHandover,
};
use testkit::{Fault, FaultProxy, RedisServer, SlotCluster, Way};

use crate::{
    deployment::cluster,
    fleet::Fleet,
    support::{LONG_LEASE, client, eventually, fixed, patient, patiently, soon},
};

/// Adds up what was asked for.
fn add() -> Script {
    Script::new("return redis.call('INCRBY', KEYS[1], ARGV[1])")
}

fn total(server: &RedisServer) -> String {
    server.cli(&["GET", "total"])
}

/// Adds while it is held; then `end` ends the hold on the server, and nothing is added any more.
async fn is_guarded(kind: &str, server: &RedisServer, guard: LockGuard, end: &[&[&str]]) {
    server.cli(&["SET", "total", "0"]);
    let script = add();
    let added: i64 = guard.script(&script).key("total").arg(5).invoke().await.unwrap();
    assert_eq!(added, 5, "{kind}");
    for command in end {
        assert!(!server.command(command).is_error(), "{kind}: {command:?}");
    }
    let refused = guard.script(&script).key("total").arg(5).invoke::<i64>().await.unwrap_err();
    assert!(matches!(refused, GuardedError::NotHeld { .. }), "{kind}: {refused:?}");
    assert_eq!(total(server), "5", "{kind}");
    assert!(!guard.is_held(), "{kind}: it goes on in the belief that it is held");
    let over = guard.script(&script).key("total").arg(5).invoke::<i64>().await.unwrap_err();
    assert!(matches!(over, GuardedError::Lost(_)), "{kind}: {over:?}");
}

#[tokio::test]
async fn nothing_is_written_once_a_hold_of_any_kind_is_gone() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let gone: &[&[&str]] = &[&["DEL", "x"]];
    let taken: &[&[&str]] = &[&["DEL", "x"], &["HSET", "x", "other:1", "1"]];
    let foreign: &[&[&str]] = &[&["DEL", "x"], &["ZADD", "x", "1", "x"]];
    for end in [gone, taken, foreign] {
        is_guarded("lock", &server, client.lock("x").acquire().await.unwrap(), end).await;
        server.cli(&["DEL", "x"]);
        let fenced = client.fenced_lock("x").acquire().await.unwrap();
        is_guarded("fenced", &server, fenced.into(), end).await;
        server.cli(&["DEL", "x"]);
        is_guarded("fair", &server, client.fair_lock("x").acquire().await.unwrap(), end).await;
        server.cli(&["DEL", "x"]);
    }
}

#[tokio::test]
async fn readers_and_writers_are_told_apart_where_the_script_runs() {
    let server = RedisServer::start();
    let settings = patient(&server).redisson_watchdog(LONG_LEASE);
    let client = settings.connect().await.unwrap();
    let lock = client.rw_lock("x");
    let written = lock.write().acquire().await.unwrap();
    is_guarded("write", &server, written.into(), &[&["DEL", "x"]]).await;
    // Another reader keeps the hash; its own timer is over.
    let (other, read) =
        (lock.read().acquire().await.unwrap(), lock.read().acquire().await.unwrap());
    let timer = format!("{{x}}:{}:rwlock_timeout:1", read.holder_id());
    is_guarded("read", &server, read.into(), &[&["DEL", &timer]]).await;
    drop(other);
    eventually(|| server.command(&["EXISTS", "x"]).int() == 0).await;
    // A writer that reads on is no writer any more.
    let guard = lock.write().acquire().await.unwrap();
    let read = guard.downgrade().await.unwrap();
    let added: i64 = read.script(&add()).key("total").arg(1).invoke().await.unwrap();
    assert_eq!(added, 6);
}

#[tokio::test]
async fn permits_guard_a_script_until_they_are_given_back_or_end() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let semaphore = client.semaphore("s");
    semaphore.set_permits(3).await.unwrap();
    let held = semaphore.acquire_many(2).await.unwrap();
    let script = add();
    let adding = || held.script(&script).unwrap().key("total").arg(5).invoke::<i64>();
    assert_eq!(adding().await.unwrap(), 5);
    let id = held.holder_id().unwrap();
    // A key that was there a moment ago and is not is no hash of holders.
    let hdel = |key: &String| server.command(&["HDEL", key, id]) == testkit::Reply::Int(1);
    assert!(server.keys().iter().any(hdel), "there is a hash of holders");
    let refused = adding().await.unwrap_err();
    assert!(matches!(refused, GuardedError::NotHeld { .. }), "{refused:?}");
    assert_eq!(total(&server), "5");
    let none = semaphore.acquire_many(0).await.unwrap();
    assert!(none.script(&script).is_none());

    let leased = client.expirable_semaphore("e");
    leased.set_permits(3).await.unwrap();
    let guard = leased.acquire_many(2).await.unwrap();
    let permit = guard.permit_ids().next().unwrap().to_owned();
    leased.release_permit(&permit).await.unwrap();
    // One of two is gone.
    is_refused(&server, &guard.into()).await;
    let leased = leased.with_lease(fixed(60_000));
    let guard = leased.acquire().await.unwrap();
    is_guarded("leased permits", &server, guard.into(), &[&["DEL", "e"]]).await;
    // It stands there until another acquire ends it.
    leased.set_permits(3).await.unwrap();
    let guard = leased.acquire().await.unwrap();
    let leases =
        server.keys().into_iter().find(|key| server.cli(&["TYPE", key]) == "zset").unwrap();
    assert_eq!(server.command(&["ZCARD", &leases]).int(), 1);
    assert_eq!(server.command(&["EVAL", OVER, "1", &leases]).int(), 1);
    is_refused(&server, &guard.into()).await;
}

#[tokio::test]
async fn script_sees_its_own_keys_and_arguments_alone() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let guard = client.lock("x").acquire().await.unwrap();
    let script = Script::new("return { #KEYS, KEYS[1] or '', #ARGV, ARGV[2] or '' }");
    let told: Result<Reply, _> =
        guard.script(&script).key("k").arg("a").arg(b"\xff\r\n").invoke().await;
    let expected = [Reply::Int(1), bytes(b"k"), Reply::Int(2), bytes(b"\xff\r\n")];
    assert_eq!(told.unwrap(), Reply::Array(expected.to_vec()));
    let none: Vec<Reply> = guard.script(&script).invoke().await.unwrap();
    assert_eq!(none, [Reply::Int(0), bytes(b""), Reply::Int(0), bytes(b"")]);
}

/// Writes of the only permit that its lease was over a moment ago.
const OVER: &str = "local time, id = redis.call('TIME'), redis.call('ZRANGE', KEYS[1], 0, 0)[1]
    local longer = string.byte(id, 15) * 256 + string.byte(id, 16)
    local over = time[1] * 1000 + math.floor(time[2] / 1000) - 1
    return redis.call('ZADD', KEYS[1], 'CH', over + longer, id)";

async fn is_refused(server: &RedisServer, guard: &LockGuard) {
    server.cli(&["SET", "total", "0"]);
    let refused = guard.script(&add()).key("total").arg(5).invoke::<i64>().await.unwrap_err();
    assert!(matches!(refused, GuardedError::NotHeld { .. }), "{refused:?}");
    assert_eq!(total(server), "0");
}

fn bytes(bytes: &[u8]) -> Reply {
    Reply::Bytes(bytes.to_vec())
}

#[tokio::test]
async fn whatever_a_script_returns_is_told_from_a_refusal() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let guard = client.lock("x").acquire().await.unwrap();
    for (text, expected) in [
        ("", Reply::Nil),
        ("return 0", Reply::Int(0)),
        ("return { 0, 0 }", Reply::Array(vec![Reply::Int(0), Reply::Int(0)])),
        ("return false", Reply::Nil),
        ("return true", Reply::Int(1)),
        ("return 3.9", Reply::Int(3)),
        ("return {}", Reply::Array(vec![])),
        ("return { 1, nil, 2 }", Reply::Array(vec![Reply::Int(1)])),
        (
            "return { { 'a' }, false }",
            Reply::Array(vec![Reply::Array(vec![bytes(b"a")]), Reply::Nil]),
        ),
        ("return redis.status_reply('FINE')", Reply::Status("FINE".into())),
        ("return redis.call('SET', 'k', 'v') -- the last line", Reply::Status("OK".into())),
        ("local a = 7\nif a then return a end\nreturn 8", Reply::Int(7)),
    ] {
        let told: Reply = guard.script(&Script::new(text)).invoke().await.unwrap();
        assert_eq!(told, expected, "{text}");
    }
    let wrong = guard.script(&Script::new("return {}")).invoke::<i64>().await.unwrap_err();
    assert!(matches!(wrong, GuardedError::WrongReply { .. }), "{wrong:?}");
}

#[tokio::test]
async fn script_that_fails_keeps_what_it_wrote_and_is_not_repeated() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let guard = client.lock("x").acquire().await.unwrap();
    for (end, said) in [
        ("error('by hand')", "user_script:2: by hand"),
        ("redis.call('INCRBY', KEYS[1])", "number of args"),
        ("error({ err = 'NOSCRIPT by hand' })", "NOSCRIPT by hand"),
        ("error('MOVED 7 127.0.0.1:1')", "MOVED 7"),
        ("return redis.error_reply('NOSCRIPT by hand')", "NOSCRIPT by hand"),
        ("return { 1, redis.error_reply('WRONG by hand') }", "WRONG by hand"),
        ("local a = nil\nreturn a.b", "user_script:3:"),
    ] {
        server.cli(&["SET", "total", "0"]);
        let text = format!("redis.call('INCRBY', KEYS[1], 1)\n{end}");
        let failed =
            guard.script(&Script::new(text)).key("total").invoke::<()>().await.unwrap_err();
        assert!(matches!(failed, GuardedError::Script { .. }), "{end}: {failed:?}");
        assert!(failed.to_string().contains(said), "{end}: {failed}");
        assert_eq!(total(&server), "1", "{end}");
        assert!(guard.is_held(), "{end}");
    }
    let no_lua = guard.script(&Script::new("no lua")).invoke::<()>().await.unwrap_err();
    assert!(matches!(no_lua, GuardedError::NotDone { .. }), "{no_lua:?}");
}

#[tokio::test]
async fn flags_of_a_script_are_kept() {
    let server = RedisServer::start();
    if server.version() < (7, 0) {
        assert!(server.command(&["EVAL", "#!lua\nreturn 1", "0"]).is_error(), "it knows flags");
    } else {
        let client = client(&server).await;
        let guard = client.lock("x").acquire().await.unwrap();
        let text = "#!lua flags=no-writes\nreturn redis.call('SET', KEYS[1], 'v')";
        let failed = guard.script(&Script::new(text)).key("k").invoke::<()>().await.unwrap_err();
        assert!(matches!(failed, GuardedError::Script { .. }), "{failed:?}");
        let text = "#!lua flags=no-writes\nreturn redis.call('GET', KEYS[1])";
        let read: Option<String> =
            guard.script(&Script::new(text)).key("k").invoke().await.unwrap();
        assert_eq!(read, None);
    }
}

#[tokio::test]
async fn lock_on_several_servers_says_on_which() {
    let fleet = Fleet::start(3).await;
    let lock = fleet.masters.red_lock("x");
    let guard = lock.acquire().await.unwrap();
    let script = add();
    let nowhere = guard.script(&script).key("total").arg(5).invoke::<i64>().await.unwrap_err();
    assert!(matches!(nowhere, GuardedError::Config(ConfigError::SeveralServers)), "{nowhere:?}");
    let stranger = RedisServer::start();
    let elsewhere = client(&stranger).await;
    let there = guard.script_on(&elsewhere, &script).invoke::<i64>().await.unwrap_err();
    assert!(matches!(there, GuardedError::Config(ConfigError::NotOnServer { .. })), "{there:?}");

    let first = &fleet.masters.clients()[0];
    let add = || guard.script_on(first, &script).key("total").arg(5).invoke::<i64>();
    assert_eq!(add().await.unwrap(), 5);
    eventually(|| guard.votes() == 3).await;
    fleet.servers[0].cli(&["DEL", "x"]);
    let forgot = add().await.unwrap_err();
    assert!(matches!(forgot, GuardedError::NotHeldThere { .. }), "{forgot:?}");
    assert!(guard.is_held(), "two of three confirm it");
    assert_eq!(total(&fleet.servers[0]), "5");
    guard.release().await.unwrap();
}

#[tokio::test]
async fn passing_on_ends_with_a_call_that_may_still_be_executed() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let settings = patiently(Client::builder().url(&proxy.url()));
    let settings = settings.local_handover(LocalHandover::UpTo(Duration::from_secs(10)));
    let client = settings.connect().await.unwrap();
    let lock = client.lock("x");
    let passes_on = async |guard: LockGuard| {
        let holder = guard.holder_id().to_owned();
        let mut waiting = Box::pin(lock.acquire());
        assert!(matches!(poll!(&mut waiting), Poll::Pending), "another holds it");
        let released = soon(guard.release()).await.unwrap();
        let next = soon(waiting).await.unwrap();
        (released == Released::PassedOn, next.holder_id() == holder, next)
    };
    let guard = lock.acquire().await.unwrap();
    let script = add();
    guard.script(&script).key("total").arg(1).invoke::<()>().await.unwrap();
    let (passed_on, same_holder, guard) = passes_on(guard).await;
    assert!(passed_on && same_holder, "each call was answered");

    // It is on its way: by the same holder id it would be executed in the next one's turn.
    proxy.set(Fault::Stall(Way::Both));
    let mut call = Box::pin(guard.script(&script).key("total").arg(1).invoke::<()>());
    assert!(poll_a_while(&mut call).await, "nothing answers");
    drop(call);
    proxy.heal();
    let (passed_on, same_holder, next) = passes_on(guard).await;
    assert!(!passed_on && !same_holder, "the late call would be executed for another");
    next.release().await.unwrap();
}

/// Until it has left. Whether it goes on.
async fn poll_a_while(call: &mut (impl Future + Unpin)) -> bool {
    for _ in 0..100 {
        if poll!(&mut *call).is_ready() {
            return false;
        }
        tokio::task::yield_now().await;
    }
    true
}

#[tokio::test]
async fn call_whose_answer_is_lost_is_unknown_and_was_made_once() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let client = patiently(Client::builder().url(&proxy.url())).connect().await.unwrap();
    let guard = client.lock("x").acquire().await.unwrap();
    let script = add();
    guard.script(&script).key("total").arg(1).invoke::<()>().await.unwrap();
    proxy.set(Fault::Stall(Way::Replies));
    let cut = async {
        eventually(|| total(&server) == "2").await;
        proxy.cut();
        proxy.heal();
    };
    let call = guard.script(&script).key("total").arg(1).invoke::<i64>();
    let (answer, ()) = soon(async { tokio::join!(call, cut) }).await;
    assert!(matches!(answer, Err(GuardedError::Unknown { .. })), "{answer:?}");
    let again = soon(guard.script(&script).key("total").arg(1).invoke::<i64>()).await;
    assert_eq!(again.unwrap(), 3);
}

#[tokio::test]
async fn keys_of_another_slot_are_refused_before_anything_is_sent() {
    let servers = SlotCluster::start(3);
    let client = soon(cluster::settings(&servers).connect()).await.unwrap();
    let guard = soon(client.lock("x").acquire()).await.unwrap();
    let script = add();
    let far = guard.script(&script).key("total").arg(1).invoke::<i64>().await.unwrap_err();
    assert!(far.to_string().contains("a key with {x} is"), "{far}");
    let tagged = soon(client.lock("a{b}c").acquire()).await.unwrap();
    let far = tagged.script(&script).key("total").arg(1).invoke::<i64>().await.unwrap_err();
    assert!(far.to_string().contains("a key with {b} is"), "{far}");
    let near: i64 = guard.script(&script).key("{x}:total").arg(1).invoke().await.unwrap();
    assert_eq!(near, 1);
}
