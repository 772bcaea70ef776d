//! What servers tell about themselves.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use palisade::{
    Client, Quarantine,
    acl::{Rights, Use},
    embedded::Server,
    error::{ConnectError, NodeError},
    inspect::{Fsync, ServerHealth},
};
use testkit::{Cluster, RedisServer, SlotCluster, WallClocks};

use crate::{
    deployment::rights::USES,
    fleet::masters,
    support::{HANG, LONG_LEASE, patient},
};

async fn of(client: &Client) -> ServerHealth {
    let mut all = client.health().await.unwrap();
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[tokio::test]
async fn server_tells_what_a_crash_of_it_would_forget() {
    let server = RedisServer::start();
    let client = patient(&server).connect().await.unwrap();
    for (appends, fsync, save, expected) in [
        ("no", "everysec", "", (Some(false), Some(Fsync::EverySecond), Some(false))),
        ("no", "no", "3600 1", (Some(false), Some(Fsync::Never), Some(true))),
        ("yes", "always", "", (Some(true), Some(Fsync::Always), Some(false))),
    ] {
        for (name, value) in [("appendonly", appends), ("appendfsync", fsync), ("save", save)] {
            server.cli(&["CONFIG", "SET", name, value]);
        }
        let told = of(&client).await;
        assert_eq!((told.appends, told.fsync, told.saves), expected);
        assert_eq!((told.writes_fail, told.not_allowed), (Some(false), vec![]));
    }
}

#[tokio::test]
async fn server_tells_its_memory_its_connections_and_its_replicas() {
    let server = RedisServer::start();
    let limit = ["CONFIG", "SET", "maxmemory", "50mb", "maxmemory-policy", "allkeys-lru"];
    server.cli(&limit);
    server.cli(&["CONFIG", "SET", "maxclients", "100"]);
    let client = patient(&server).connect().await.unwrap();
    let told = of(&client).await;
    assert_eq!(told.eviction.as_deref(), Some("allkeys-lru"));
    assert_eq!(told.memory_limit, Some(50 << 20));
    assert!(told.memory_used.is_some_and(|used| used > 0), "{told:?}");
    assert!(matches!(told.connections, Some((1.., Some(100)))), "{told:?}");
    assert_eq!(told.replicas, Some(vec![]));
    assert!(told.version.is_some() && told.uptime.is_some(), "{told:?}");
    let shown = client.node_id().to_string();
    assert_eq!(told.address, shown);
}

/// A client that is connected for long has samples of another time; and one that may run no script has none.
#[tokio::test]
async fn clock_that_is_set_later_is_told_to_those_that_only_read_too() {
    let clocks = Arc::new(WallClocks::build().expect("a C compiler"));
    let server = RedisServer::builder().settable_clock(&clocks).start();
    let reader = Rights::new().examining().listing("*");
    let rules = reader.rules();
    let mut words = vec!["ACL", "SETUSER", "reader", "reset", "on", ">pw"];
    words.extend(rules.iter().map(String::as_str));
    server.command(&words);
    let reader = Client::connect(server.url_with("reader", "pw")).await.unwrap();
    let long = patient(&server).connect().await.unwrap();
    drop(long.lock("x").acquire().await.unwrap());
    for ahead in [0, -3_000, 60_000] {
        server.set_clock(ahead);
        for client in [&reader, &long] {
            let time = of(client).await.time.as_millis();
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
            let told = i128::try_from(time).unwrap() - i128::try_from(now).unwrap();
            let off = (told - i128::from(ahead)).abs();
            assert!(off < 1_000, "{ahead} ms ahead, and {told} ms are told");
        }
    }
}

/// By the server's clock, at the moment of the answer.
#[tokio::test]
async fn time_is_that_of_the_server() {
    let server = RedisServer::start();
    let client = patient(&server).connect().await.unwrap();
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let before = now();
    let time = of(&client).await.time;
    // As far as two round trips tell.
    let room = Duration::from_millis(50);
    assert!(before < time + room && time < now() + room, "{before:?} {time:?}");
}

#[tokio::test]
async fn vote_that_does_not_count_is_told_until_it_does() {
    let servers = Cluster::start(3);
    let wary = |server| patient(server).quarantine(Quarantine::Composites);
    let all = masters(servers.iter().map(wary)).await;
    for client in all.clients() {
        let told = of(client).await;
        assert!(matches!(told.vote, Err(NodeError::Quarantined { .. })), "{told:?}");
        assert_eq!(told.blessed_for, None);
    }
    all.bless().await.unwrap();
    for client in all.clients() {
        let told = of(client).await;
        assert!(told.vote.is_ok(), "{told:?}");
        assert_eq!(told.blessed_for, Some(LONG_LEASE));
    }
}

/// By clients that stay connected, as `palisade exporter` does.
#[tokio::test]
async fn data_that_is_lost_and_a_blessing_are_news_to_clients_that_stay_connected() {
    let servers = Cluster::start(3);
    let wary = |server| patient(server).quarantine(Quarantine::Composites);
    let (seen_by, other) =
        (masters(servers.iter().map(wary)).await, masters(servers.iter().map(wary)).await);
    let votes = async || {
        let mut votes = Vec::new();
        for client in seen_by.clients() {
            votes.push(of(client).await.vote.is_ok());
        }
        votes
    };
    assert_eq!(votes().await, [false; 3], "they are young");
    other.bless().await.unwrap();
    assert_eq!(votes().await, [true; 3]);
    other.red_lock("x").acquire().await.unwrap().release().await.unwrap();
    servers[2].cli(&["FLUSHALL"]);
    assert_eq!(votes().await, [true, true, false], "before any acquire has noticed");
    other.red_lock("x").acquire().await.unwrap().release().await.unwrap();
    assert_eq!(votes().await, [true, true, false]);
}

/// As an acquire that meets another mark does: the next renewal may be minutes away.
#[tokio::test]
async fn look_that_finds_another_mark_has_what_is_held_there_be_looked_at() {
    let servers = Cluster::start(3);
    let wary = |server| patient(server).quarantine(Quarantine::Composites);
    let (holder, other) =
        (masters(servers.iter().map(wary)).await, masters(servers.iter().map(wary)).await);
    holder.bless().await.unwrap();
    let guard = holder.red_lock("x").acquire().await.unwrap();
    for server in servers.iter() {
        server.cli(&["FLUSHALL"]);
    }
    other.red_lock("y").try_acquire().await.unwrap_err();
    for client in holder.clients() {
        assert!(of(client).await.vote.is_err());
    }
    tokio::time::timeout(HANG, guard.lost()).await.expect("it is looked at");
}

#[tokio::test]
async fn blessing_of_a_cluster_is_seen() {
    let cluster = SlotCluster::start(3);
    let client = || Client::builder().cluster(cluster.hosts()).quarantine(Quarantine::Always);
    let (client, other) = (client().connect().await.unwrap(), client().connect().await.unwrap());
    let votes = async || {
        let told = client.health().await.unwrap();
        told.iter().map(|one| (one.vote.is_ok(), one.blessed_for.is_some())).collect::<Vec<_>>()
    };
    assert_eq!(votes().await, [(false, false); 3], "they are young");
    other.bless().await.unwrap();
    assert_eq!(votes().await, [(true, true); 3]);
}

#[tokio::test]
async fn what_a_user_may_not_ask_is_unknown_and_no_error() {
    let server = RedisServer::start();
    let rules = |rights: Rights| {
        let mut words: Vec<String> =
            ["ACL", "SETUSER", "seer", "reset", "on", ">pw"].map(str::to_owned).into();
        words.extend(rights.with(Use::Lock, "x").rules());
        server.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
    };
    let url = server.url_with("seer", "pw");
    rules(Rights::new());
    let told = of(&Client::connect(&url).await.unwrap()).await;
    assert_eq!((told.fsync, told.saves), (None, None));
    assert_eq!(told.not_allowed, ["CONFIG GET"]);
    assert!(told.version.is_some());
    rules(Rights::new().examining());
    let told = of(&Client::connect(&url).await.unwrap()).await;
    assert!(told.fsync.is_some() && told.not_allowed.is_empty(), "{told:?}");
    server.command(&["ACL", "SETUSER", "seer", "-info"]);
    let told = of(&Client::connect(&url).await.unwrap()).await;
    assert_eq!((told.version, told.memory_used, told.replicas), (None, None, None));
    assert_eq!(told.not_allowed, ["INFO"]);
}

#[tokio::test]
async fn server_that_is_gone_is_an_error() {
    let server = RedisServer::start();
    let client = patient(&server).connect().await.unwrap();
    server.kill();
    let error = client.health().await.unwrap_err();
    assert!(matches!(error, ConnectError::Node { .. }), "{error:?}");
}

#[tokio::test]
async fn each_master_of_a_cluster_tells_for_itself() {
    let cluster = SlotCluster::start(3);
    let client = Client::cluster(cluster.hosts()).await.unwrap();
    let told = client.health().await.unwrap();
    let mut addresses: Vec<_> = told.into_iter().map(|one| one.address).collect();
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len(), 3);
}

#[tokio::test]
async fn embedded_server_tells_what_it_can() {
    let client = Server::start().unwrap().client().unwrap();
    let told = of(&client).await;
    assert_eq!((told.appends, told.saves, told.memory_used), (Some(false), Some(false), None));
}

#[tokio::test]
async fn rights_that_a_user_lacks_are_told_by_their_rules() {
    let server = RedisServer::start();
    let has = Rights::new().with(Use::Lock, r"a[1]*\");
    let rules = has.rules();
    let words = ["ACL", "SETUSER", "app", "reset", "on", ">pw"].map(str::to_owned);
    let words: Vec<String> = words.into_iter().chain(rules).collect();
    server.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let app = Client::connect(server.url_with("app", "pw")).await.unwrap();
    let lacked = async |wanted: Rights| {
        let mut told = app.missing_rights(&wanted).await.unwrap();
        assert_eq!((told.len(), &told[0].address), (1, &app.node_id().to_string()));
        told.remove(0).rules.unwrap()
    };
    assert_eq!(lacked(has.clone()).await, Vec::<String>::new());
    let other = lacked(Rights::new().with(Use::Lock, "other")).await;
    assert!(other.contains(&"~other".to_owned()), "{other:?}");
    assert!(other.contains(&"&redisson_lock__channel:{other}".to_owned()), "{other:?}");
    assert!(!other.iter().any(|rule| rule.starts_with('+')), "{other:?}");
    let examining = lacked(has.examining().inspecting()).await;
    assert_eq!(examining, ["+client|list", "+config|get"]);
}

/// A server that is asked about a command that lacks a word may crash.
#[tokio::test]
async fn each_command_of_all_rights_is_known_and_missed_where_it_is_lacked() {
    let server = RedisServer::start();
    let all = Rights::new().inspecting().revoking().blessing().replicated();
    let all =
        USES.into_iter().fold(all.examining().in_cluster(), |all, usage| all.with(usage, "x"));
    let lists = Rights::new().listing("x");
    let mut commands: Vec<String> = all.rules().into_iter().chain(lists.rules()).collect();
    commands.retain(|rule| rule.starts_with('+') && rule != "+eval");
    commands.sort_unstable();
    commands.dedup();
    server.command(&["ACL", "SETUSER", "app", "reset", "on", ">pw", "+@all", "~*", "&*"]);
    let app = Client::connect(server.url_with("app", "pw")).await.unwrap();
    for command in &commands {
        let without = command.replacen('+', "-", 1);
        server.command(&["ACL", "SETUSER", "app", &without]);
        let mut lacked = Vec::new();
        for wanted in [&all, &lists] {
            let told = app.missing_rights(wanted).await.unwrap().remove(0);
            lacked.extend(told.rules.unwrap());
        }
        assert!(lacked.contains(command) && lacked.iter().all(|it| it == command), "{lacked:?}");
        server.command(&["ACL", "SETUSER", "app", command]);
    }
}

#[tokio::test]
async fn what_a_server_does_not_tell_of_rights_is_unknown() {
    let embedded = Server::start().unwrap().client().unwrap();
    let wanted = Rights::new().with(Use::Lock, "x");
    assert_eq!(embedded.missing_rights(&wanted).await.unwrap()[0].rules, None);
    let server = RedisServer::start();
    server.command(&["ACL", "SETUSER", "app", "reset", "on", ">pw", "+@all", "~*", "&*", "-eval"]);
    let app = Client::connect(server.url_with("app", "pw")).await.unwrap();
    assert_eq!(app.missing_rights(&wanted).await.unwrap()[0].rules, None);
}

#[tokio::test]
async fn announcement_comes_back_from_one_server_and_from_a_cluster() {
    let server = RedisServer::start();
    let client = patient(&server).namespace("shop:").connect().await.unwrap();
    assert!(client.announcement_delay("x").await.unwrap().is_some());
    let stats = server.cli(&["INFO", "commandstats"]);
    assert!(stats.contains("cmdstat_publish:calls=1,"), "{stats}");
    let cluster = SlotCluster::start(3);
    let client = Client::cluster(cluster.hosts()).await.unwrap();
    for name in ["a", "b", "c", "d"] {
        assert!(client.announcement_delay(name).await.unwrap().is_some(), "{name}");
    }
    let refused = client.announcement_delay("").await.unwrap_err();
    assert!(matches!(refused, ConnectError::Config(_)), "{refused}");
}
