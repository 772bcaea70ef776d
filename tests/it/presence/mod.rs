//! What processes tell about themselves and their long holds, on real servers.

use std::time::Duration;

use palisade::{
    Client, ClientBuilder, Lease,
    acl::{Rights, Use},
    embedded::Server,
    error::ConfigError,
    settings::{Failover, Presence},
};
use testkit::{RedisServer, SlotCluster};

use crate::{
    fleet::{HANG, masters},
    support::{Look, eventually, ms, patient, patiently, soon, watchdog},
};

fn telling(server: &RedisServer) -> ClientBuilder {
    patient(server).presence(Presence::LongHolds).note("nightly billing").label("team", "payments")
}

/// The keys with records.
fn records(server: &RedisServer) -> Vec<String> {
    let keys = server.command(&["KEYS", "*palisade_process:*"]);
    keys.array().iter().map(ToString::to_string).collect()
}

/// Not a command, nor a byte: with it and without it the same is said.
#[tokio::test]
async fn a_hold_that_is_shorter_than_a_third_of_its_lease_costs_nothing() {
    let commands = async |presence| {
        let server = RedisServer::start();
        let client = patient(&server).presence(presence).connect().await.unwrap();
        soon(client.lock("warm").acquire()).await.unwrap().release().await.unwrap();
        let said = || {
            let calls = server.calls();
            let count = |command: &str| calls.get(command).copied().unwrap_or_default();
            ["evalsha", "eval", "hset", "hdel", "publish", "pexpire"].map(count)
        };
        let before = said();
        for _ in 0..20 {
            let guard = soon(client.lock("x").acquire()).await.unwrap();
            guard.release().await.unwrap();
            let fixed = client.lock("y").with_lease(Lease::Fixed(ms(60_000)));
            soon(fixed.acquire()).await.unwrap().release().await.unwrap();
        }
        assert_eq!(records(&server), [""; 0]);
        let after = said();
        std::array::from_fn::<u64, 6, _>(|i| after[i] - before[i])
    };
    assert_eq!(commands(Presence::LongHolds).await, commands(Presence::Hidden).await);
}

#[tokio::test]
async fn a_long_hold_is_told_with_its_age_and_what_its_process_is() {
    for lease in [watchdog(1_500), Lease::Fixed(ms(3_000))] {
        let server = RedisServer::start();
        let client = telling(&server).connect().await.unwrap();
        let lock = client.lock("x").with_lease(lease);
        let granted = std::time::Instant::now();
        let guard = soon(lock.acquire()).await.unwrap();
        let holder = soon(lock.holder()).await.unwrap().unwrap();
        let told = async {
            loop {
                if let Some(told) = client.process_of(&holder).await.unwrap() {
                    return told;
                }
            }
        };
        let told = soon(told).await;
        let age = told.held_for.unwrap();
        assert!(age >= ms(500) && age <= granted.elapsed(), "{age:?}");
        assert_eq!(told.pid, Some(std::process::id()));
        assert_eq!(told.note.as_deref(), Some("nightly billing"));
        assert_eq!(told.labels["team"], "payments");
        assert!(told.program.is_some_and(|program| program.starts_with("it-")));
        let [key] = &records(&server)[..] else { panic!("one record") };
        assert!((1..=90_000).contains(&server.pttl(key)));
        drop(guard.release().await);
        soon(client.shutdown(HANG)).await.unwrap();
        assert_eq!(records(&server), [""; 0], "it is taken back");
    }
}

#[tokio::test]
async fn each_hold_is_told_at_once_where_that_is_wanted() {
    let server = RedisServer::start();
    let client = telling(&server).presence(Presence::EachHold).connect().await.unwrap();
    let other = patient(&server).connect().await.unwrap();
    let guard = soon(client.fenced_lock("x").acquire()).await.unwrap();
    eventually(|| !records(&server).is_empty()).await;
    let holder = soon(other.lock("x").holder()).await.unwrap().unwrap();
    let told = soon(other.process_of(&holder)).await.unwrap().unwrap();
    assert!(told.held_for.is_some());
    // What is granted and given back meanwhile is not waited for by the shutdown, nor left by it.
    drop(guard);
    soon(client.shutdown(HANG)).await.unwrap();
    assert_eq!(records(&server), [""; 0]);
}

/// The record is that of the process: two clients of it keep what the other has written.
#[tokio::test]
async fn clients_of_a_process_share_its_record() {
    let server = RedisServer::start();
    let one = telling(&server).presence(Presence::EachHold).connect().await.unwrap();
    let two = telling(&server).presence(Presence::EachHold).connect().await.unwrap();
    let guards = [
        soon(one.lock("x").acquire()).await.unwrap(),
        soon(two.lock("y").acquire()).await.unwrap(),
    ];
    for (client, name) in [(&one, "x"), (&two, "y")] {
        let holder = soon(client.lock(name).holder()).await.unwrap().unwrap();
        let told = async {
            while client.process_of(&holder).await.unwrap().is_none_or(|it| it.held_for.is_none()) {
            }
        };
        soon(told).await;
    }
    assert_eq!(records(&server).len(), 1);
    drop(guards);
    soon(one.shutdown(HANG)).await.unwrap();
    assert_eq!(records(&server).len(), 1, "the other one has a hold in it");
    soon(two.shutdown(HANG)).await.unwrap();
    assert_eq!(records(&server), [""; 0]);
}

#[tokio::test]
async fn each_master_of_several_is_told() {
    let servers = testkit::Cluster::start(3);
    let urls = servers.urls();
    let clients = urls.iter().map(|url| crate::fleet::client(url).presence(Presence::EachHold));
    let masters = masters(clients).await;
    let guard = soon(masters.red_lock("x").acquire()).await.unwrap();
    for server in &servers {
        eventually(|| records(server).len() == 1).await;
    }
    guard.release().await.unwrap();
    soon(masters.shutdown(HANG)).await.unwrap();
    for server in &servers {
        assert_eq!(records(server), [""; 0]);
    }
}

/// One record for all, in a slot of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_is_told_once() {
    let cluster = SlotCluster::start(3);
    let client = patiently(Client::builder().cluster(cluster.hosts())).failover(Failover::Trust);
    let client = client.presence(Presence::EachHold).connect().await.unwrap();
    let mut guards = Vec::new();
    for name in ["a", "b", "c", "d"] {
        guards.push(soon(client.lock(name).acquire()).await.unwrap());
    }
    let told = || cluster.living_masters().map(|master| records(master).len()).sum::<usize>();
    eventually(|| told() == 1).await;
    let holder = soon(client.lock("a").holder()).await.unwrap().unwrap();
    assert!(soon(client.process_of(&holder)).await.unwrap().is_some());
    drop(guards);
    soon(client.shutdown(HANG)).await.unwrap();
    assert_eq!(told(), 0);
}

#[tokio::test]
async fn rights_that_are_printed_are_enough_and_without_them_locks_work() {
    let server = RedisServer::start();
    for may_tell in [true, false] {
        let rights = Rights::new().namespace("shop:").with(Use::Lock, "x");
        let rights = if may_tell { rights } else { rights.untold() };
        let mut words: Vec<String> =
            ["ACL", "SETUSER", "app", "reset", "on", ">pw"].map(str::to_owned).into();
        words.extend(rights.rules());
        server.cli(&words);
        server.cli(&["ACL", "LOG", "RESET"]);
        let client = telling(&server).presence(Presence::EachHold).namespace("shop:");
        let client = client.url(&server.url_with("app", "pw")).connect().await.unwrap();
        let refused = || server.cli(&["ACL", "LOG"]).lines().count();
        for _ in 0..3 {
            let guard = soon(client.lock("x").acquire()).await.unwrap();
            if may_tell {
                eventually(|| records(&server).len() == 1).await;
            } else {
                eventually(|| refused() > 0).await;
            }
            guard.ensure_valid().unwrap();
            guard.release().await.unwrap();
        }
        let log = server.cli(&["ACL", "LOG"]);
        if may_tell {
            assert_eq!(log, "");
        } else {
            // It is tried once.
            assert_eq!(log.matches("palisade_process").count(), 1, "{log}");
        }
        soon(client.shutdown(HANG)).await.unwrap();
        assert_eq!(records(&server), [""; 0]);
    }
}

/// Others may write what they like there.
#[tokio::test]
async fn what_stands_there_and_is_no_record_is_told_as_none() {
    let server = RedisServer::start();
    let client = patient(&server).connect().await.unwrap();
    let _guard = soon(client.lock("x").acquire()).await.unwrap();
    let holder = soon(client.lock("x").holder()).await.unwrap().unwrap();
    let key = format!("palisade_process:{{{}}}", holder.id.split(':').next().unwrap());
    server.cli(&["SET", &key, "text"]);
    soon(client.process_of(&holder)).await.unwrap_err();
    server.cli(&["DEL", &key]);
    server.cli(&["HSET", &key, "host", &"x".repeat(100_000), "pid", "none", "h:1", "soon"]);
    let told = soon(client.process_of(&holder)).await.unwrap().unwrap();
    assert_eq!((told.host.unwrap().len(), told.pid, told.held_for), (512, None, None));
    let script = "for i = 1, 3000 do redis.call('HSET', KEYS[1], i, i) end";
    server.cli(&["EVAL", script, "1", &key]);
    assert_eq!(soon(client.process_of(&holder)).await.unwrap(), None);
}

#[tokio::test]
async fn notes_and_labels_that_are_too_long_are_refused() {
    let server = RedisServer::start();
    let refused = |settings: ClientBuilder| {
        let error = settings.build().unwrap_err();
        assert!(matches!(error, ConfigError::InvalidSetting { .. }), "{error}");
    };
    refused(patient(&server).note(&"x".repeat(257)));
    refused(patient(&server).label("", "x"));
    refused(patient(&server).label("x", &"x".repeat(65)));
    let nine = (0..9).fold(patient(&server), |it, i| it.label(&i.to_string(), "x"));
    refused(nine);
}

/// All is written each time, and a record ends with the last hold in it.
#[tokio::test(start_paused = true)]
async fn what_a_server_loses_is_written_again_within_half_a_minute() {
    let server = Server::start_here();
    let settings = server.client_builder().presence(Presence::LongHolds);
    let client = settings.build().unwrap();
    let guard = client.lock("x").acquire().await.unwrap();
    let holder = client.lock("x").holder().await.unwrap().unwrap();
    let age = async || client.process_of(&holder).await.unwrap().map(|told| told.held_for.unwrap());
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert_eq!(age().await, None);
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(age().await.map(|age| age.as_secs()), Some(12));
    let key = format!("palisade_process:{{{}}}", holder.id.split(':').next().unwrap());
    let mut direct = server.direct().unwrap();
    direct.send(format!("DEL {key}\r\n").as_bytes());
    assert_eq!(age().await, None);
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert_eq!(age().await.map(|age| age.as_secs()), Some(43));
    guard.release().await.unwrap();
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert_eq!(age().await, None);
}

/// Thousands of holds are one record, of the oldest of them, and a call now and then.
#[tokio::test(start_paused = true)]
async fn very_many_holds_are_told_together() {
    let server = Server::start_here();
    let settings = server.client_builder().presence(Presence::LongHolds);
    let client = settings.build().unwrap();
    let mut guards = Vec::new();
    for number in 0..1_200 {
        guards.push(client.lock(format!("x{number}")).acquire().await.unwrap());
    }
    let holders = [client.lock("x0"), client.lock("x999"), client.lock("x1199")];
    tokio::time::sleep(Duration::from_secs(60)).await;
    let mut told = Vec::new();
    for lock in holders {
        let holder = lock.holder().await.unwrap().unwrap();
        let process = client.process_of(&holder).await.unwrap().unwrap();
        told.push(process.held_for.is_some());
    }
    assert!(told[0] && !told[2], "{told:?}");
    drop(guards);
}
