//! How servers are, and what a crash of one would cost.

use std::sync::Arc;

use serde_json::Value;
use testkit::{Cluster, RedisServer, Reply, WallClocks};

use crate::support::{
    tool::{Finished, palisade, run},
    until,
};

fn doctor(urls: &[String], options: &[&str]) -> Finished {
    let servers = urls.iter().flat_map(|url| ["-s", url]);
    let words = ["doctor"].into_iter().chain(options.iter().copied()).chain(servers);
    palisade(&words.collect::<Vec<_>>()).finish()
}

fn json(urls: &[String], options: &[&str]) -> (i32, Value) {
    let options: Vec<_> = ["--json"].into_iter().chain(options.iter().copied()).collect();
    let told = doctor(urls, &options);
    (told.code(), serde_json::from_str(&told.output.join("\n")).expect("JSON"))
}

#[track_caller]
fn has(told: &Finished, text: &str) {
    assert!(told.output.iter().any(|line| line.contains(text)), "{text}: {told:?}");
}

#[test]
fn fleet_that_is_well_has_no_problem() {
    let cluster = Cluster::start(3).blessed();
    let told = doctor(&cluster.urls(), &[]);
    assert_eq!(told.code(), 0, "{told:?}");
    has(&told, "verdict: one crash costs no lock: 3 of 3 votes count");
    has(&told, "a crash of it forgets");
    let of_all = doctor(&cluster.urls(), &["--all"]);
    assert_eq!(of_all.code(), 0, "{of_all:?}");
    has(&of_all, "verdict: one more that is gone stops all");
    let (code, json) = json(&cluster.urls(), &[]);
    assert_eq!((code, &json["healthy"]), (0, &Value::Bool(true)));
    for server in json["servers"].as_array().expect("a list") {
        assert_eq!(server["votes"], true);
        assert_eq!(server["eviction"], "noeviction");
        assert!(server["version"].is_string() && server["round_trip_us"].is_u64(), "{server}");
        assert_eq!(server["problems"], Value::Array(vec![]));
    }
}

#[test]
fn server_that_is_gone_is_a_problem_and_a_majority_that_is_gone_leaves_nothing_to_say() {
    let cluster = Cluster::start(3).blessed();
    cluster.kill(2);
    let told = doctor(&cluster.urls(), &[]);
    assert_eq!(told.code(), 1, "{told:?}");
    has(&told, "refused");
    has(&told, "verdict: one more that is gone stops all: 2 of 3");
    cluster.kill(1);
    assert_eq!(doctor(&cluster.urls(), &[]).code(), 69);
    let (_, json) = json(&cluster.urls(), &[]);
    assert_eq!(json["servers"].as_array().map(Vec::len), Some(3));
}

#[test]
fn server_without_a_vote_is_a_problem_of_several() {
    let cluster = Cluster::start(3).blessed();
    cluster.kill(0);
    cluster.restart_empty(0);
    let told = doctor(&cluster.urls(), &[]);
    assert_eq!(told.code(), 1, "{told:?}");
    has(&told, "problem: its vote does not count for");
    let alone = doctor(&cluster.urls()[..1], &[]);
    assert_eq!(alone.code(), 0, "one by itself grants at once: {alone:?}");
    has(&alone, "two may hold it");
    let waits = doctor(&cluster.urls()[..1], &["--quarantine", "always"]);
    assert_eq!(waits.code(), 1, "{waits:?}");
    has(&waits, "so no two hold one");
}

/// Clients wait for as long as the greatest that any client has told.
#[test]
fn wait_for_longer_leases_than_the_fleet_was_blessed_for_is_a_problem() {
    let cluster = Cluster::start(3);
    let urls = cluster.urls();
    let bless = |word| {
        let servers = urls.iter().flat_map(|url| ["-s", url]);
        let words: Vec<_> = ["bless", word].into_iter().chain(servers).collect();
        assert_eq!(palisade(&words).finish().code(), 0);
    };
    bless("--new");
    let run = |options| run(&urls, options, "exit 3").finish();
    let refused = run("-n --max-lease 24h");
    assert_eq!(refused.code(), 64, "{refused:?}");
    assert_eq!(doctor(&urls, &[]).code(), 0, "what is refused changes nothing");
    let word = run("-n --fleet-max-lease 24h --max-lease 60s");
    assert_eq!(word.code(), 3, "{word:?}");
    let told = doctor(&urls, &[]);
    assert_eq!(told.code(), 1, "{told:?}");
    has(&told, "though it was blessed for leases of 1m");
    bless("--force");
    assert_eq!(doctor(&urls, &[]).code(), 0, "it is taken back");
}

#[test]
fn server_that_throws_locks_away_or_cannot_write_is_a_problem() {
    let server = RedisServer::start();
    let urls = [server.url()];
    for (change, back, told) in [
        (
            ["maxmemory-policy", "allkeys-lru"],
            ["maxmemory-policy", "noeviction"],
            "throws away locks",
        ),
        (["maxmemory", "1mb"], ["maxmemory", "100mb"], "its memory is used by"),
    ] {
        server.cli(&["CONFIG", "SET", "maxmemory", "100mb"]);
        server.cli(&["CONFIG", "SET", change[0], change[1]]);
        let bad = doctor(&urls, &[]);
        assert_eq!(bad.code(), 1, "{bad:?}");
        has(&bad, told);
        server.cli(&["CONFIG", "SET", back[0], back[1]]);
        assert_eq!(doctor(&urls, &[]).code(), 0, "{told}");
    }
}

#[test]
fn clock_that_is_off_by_more_than_half_of_the_skew_is_a_problem() {
    let clocks = Arc::new(WallClocks::build().expect("a C compiler"));
    let server = RedisServer::builder().settable_clock(&clocks).start();
    server.set_clock(3_000);
    let urls = [server.url()];
    let told = doctor(&urls, &[]);
    assert_eq!(told.code(), 1, "{told:?}");
    has(&told, "ahead of that of this host");
    assert_eq!(doctor(&urls, &["--clock-skew", "10s"]).code(), 0);
}

#[test]
fn what_this_user_may_not_ask_is_unknown_and_no_problem() {
    let server = RedisServer::start();
    server.command(&["ACL", "SETUSER", "seer", "on", ">pw", "~*", "&*", "+@all", "-config"]);
    let urls = [server.url_with("seer", "pw")];
    let told = doctor(&urls, &[]);
    assert_eq!(told.code(), 0, "{told:?}");
    has(&told, "unknown: what CONFIG GET tells");
    has(&told, "how many, this user may not ask");
    server.cli(&["CONFIG", "SET", "appendonly", "yes"]);
    has(&doctor(&urls, &[]), "last seconds, unless appendfsync is always, which this user may not");
    let (_, json) = json(&urls, &[]);
    assert_eq!(json["servers"][0]["unknown"], serde_json::json!(["CONFIG GET"]));
}

#[test]
fn rights_of_the_role_are_enough() {
    let cluster = Cluster::start(3).blessed();
    let words = ["acl", "--role", "doctor", "--user", "seer"];
    let printed = palisade(&words).finish().output.join("");
    let words: Vec<&str> = printed.split_whitespace().collect();
    let seers: Vec<_> = cluster
        .iter()
        .map(|server| {
            assert!(!matches!(server.command(&words), Reply::Error(_)), "{printed}");
            server.cli(&["ACL", "SETUSER", "seer", "on", ">pw"]);
            server.url_with("seer", "pw")
        })
        .collect();
    let (code, json) = json(&seers, &[]);
    assert_eq!(code, 0, "{json}");
    assert_eq!(run(&seers, "-n", "true").finish().code(), 77, "it holds nothing");
    for server in json["servers"].as_array().expect("a list") {
        assert_eq!(server["unknown"], serde_json::json!([]));
    }
    // One of them lacks a lock that the others have.
    cluster[0].cli(&["HSET", "partial", "01234567-89ab-4cde-8123-456789abcdef:1", "1"]);
    cluster[1].cli(&["HSET", "partial", "01234567-89ab-4cde-8123-456789abcdef:1", "1"]);
    let partial = doctor(&seers, &["--wait-safe=0"]);
    assert_eq!(partial.code(), 1, "{partial:?}");
    assert!(partial.said().contains("partial on 2 of 3"), "{partial:?}");
}

/// Of however many there may be.
#[test]
fn connections_that_run_out_are_a_problem() {
    let server = RedisServer::start();
    let urls = [server.url()];
    server.cli(&["CONFIG", "SET", "maxclients", "50"]);
    assert_eq!(doctor(&urls, &[]).code(), 0, "few are in use");
    let open = || std::net::TcpStream::connect(server.addr()).expect("it listens");
    let _open: Vec<_> = (0..42).map(|_| open()).collect();
    until("all are there", || {
        let clients = server.cli(&["INFO", "clients"]);
        clients.contains("connected_clients:43").then_some(())
    });
    let told = doctor(&urls, &[]);
    assert_eq!(told.code(), 1, "{told:?}");
    has(&told, "connections are in use");
}

#[test]
fn cause_that_does_not_pass_has_its_code() {
    let server = RedisServer::builder().password("secret").start();
    let told = doctor(&[format!("redis://:wrong@{}", server.addr())], &[]);
    assert_eq!(told.code(), 78, "{told:?}");
    has(&told, "verdict: unknown");
}

/// A server with a user `app`, as `palisade acl` gives it its rights; and its address for that user.
fn with_app(server: &RedisServer, options: &[&str]) -> String {
    let words = ["acl", "--user", "app"].into_iter().chain(options.iter().copied());
    let printed = palisade(&words.collect::<Vec<_>>()).finish().output.join("");
    let words: Vec<&str> = printed.split_whitespace().chain(["on", ">pw"]).collect();
    assert!(!matches!(server.command(&words), Reply::Error(_)), "{printed}");
    server.url_with("app", "pw")
}

#[test]
fn rights_that_a_user_lacks_are_a_problem_where_they_are_wanted() {
    let server = RedisServer::start();
    let url = [with_app(&server, &["--kind", "lock", "orders:42"])];
    let told = doctor(&url, &[]);
    assert_eq!(told.code(), 0, "{told:?}");
    has(&told, "  rights: lock, fenced, election, not fair (+exists and ");
    let (code, told) = json(&url, &[]);
    let rights = &told["servers"][0]["rights"];
    assert_eq!(
        (code, &rights[0]["kind"], &rights[0]["lacks"]),
        (0, &"lock".into(), &Value::Array(vec![]))
    );
    for (options, lacked) in [
        (&["--kind", "lock", "--name", "orders:42"][..], None),
        (&["--kind", "lock"], None),
        (&["--kind", "fair"], Some("its user lacks rights for fair: +exists ")),
        (&["--kind", "lock", "--name", "orders:43"], Some("for lock: ~orders:43")),
        (&["--name", "orders:43"], Some("&redisson_lock__channel:{orders:43}")),
    ] {
        let told = doctor(&url, options);
        assert_eq!(told.code(), i32::from(lacked.is_some()), "{options:?}: {told:?}");
        lacked.into_iter().for_each(|lacked| has(&told, lacked));
    }
}

#[test]
fn rights_and_announcements_are_unknown_to_a_user_that_only_reads() {
    let server = RedisServer::start();
    let url = [with_app(&server, &["--role", "doctor"])];
    let told = doctor(&url, &[]);
    assert!(!told.output.iter().any(|line| line.contains("unknown: what SUBSCRIBE")), "{told:?}");
    let told = doctor(&url, &["--kind", "lock"]);
    assert_eq!(told.code(), 0, "{told:?}");
    has(&told, "unknown: what SUBSCRIBE and PUBLISH tells");
    has(&told, "unknown: what EVAL of Redis 7 tells");
}

#[test]
fn announcements_are_heard_or_it_is_a_problem() {
    let server = RedisServer::start();
    let told = doctor(&[server.url()], &[]);
    assert_eq!(told.code(), 0, "{told:?}");
    has(&told, "  announcements: heard after ");
    let (_, told) = json(&[server.url()], &[]);
    assert!(told["servers"][0]["announcement_us"].is_u64(), "{told}");
    // One connection is for commands: none is left to listen on.
    server.cli(&["CONFIG", "SET", "maxclients", "2"]);
    let told = doctor(&[server.url()], &[]);
    assert_eq!(told.code(), 1, "{told:?}");
    has(&told, "problem: announcements that a lock is free are not heard: ");
}

#[test]
fn server_that_is_named_twice_is_refused() {
    let cluster = Cluster::start(2).blessed();
    let mut urls = cluster.urls();
    urls.push(urls[0].replace("127.0.0.1", "localhost"));
    let told = doctor(&urls, &[]);
    assert_eq!(told.code(), 64, "{told:?}");
    assert!(told.said().contains("are the same server"), "{told:?}");
    let (code, told) = json(&urls, &["--wait-safe=0"]);
    assert_eq!((code, &told["result"]), (2, &"unknown".into()), "{told}");
}
