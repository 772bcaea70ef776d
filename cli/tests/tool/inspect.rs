//! `palisade inspect`.

use testkit::{Cluster, RedisServer};

use crate::support::{
    tool::{Finished, palisade, run},
    until,
};

fn inspect(urls: &[String], more: &[&str]) -> Finished {
    let mut words = vec!["inspect"];
    words.extend(urls.iter().flat_map(|url| ["-s", url.as_str()]));
    words.extend(more);
    palisade(&words).finish()
}

#[test]
fn every_server_is_shown_free_held_or_down() {
    let cluster = Cluster::start(3).blessed();
    let urls = cluster.urls();
    let free = inspect(&urls, &["name"]);
    assert_eq!(free.code(), 0, "{free:?}");
    assert!(free.output.iter().all(|line| line.ends_with(": free")), "{free:?}");

    let holder = run(&urls, "-w 50", "echo $PALISADE_HOLDER; read line").start();
    let id = holder.line();
    cluster.kill(2);
    let held = inspect(&urls, &["name"]);
    assert_eq!(held.code(), 0, "{held:?}");
    let who = format!("pid {} ({id})", holder.pid());
    let is_told = |line: &String| line.contains(&who) && line.contains(", ttl ");
    assert!(held.output[..2].iter().all(is_told), "{held:?}");
    assert!(held.output[2].contains("refused"), "{held:?}");

    cluster.kill(1);
    let minority = inspect(&urls, &["name"]);
    assert_eq!((minority.code(), minority.output.len()), (69, 3), "{minority:?}");
}

#[test]
fn json_is_for_programs() {
    let cluster = Cluster::start(3).blessed();
    let urls = cluster.urls();
    let holder = run(&urls[..2], "-w 50", "echo $PALISADE_HOLDER; read line").start();
    let id = holder.line();
    cluster.kill(1);
    let output = inspect(&urls, &["--json", "name"]).output.join("\n");
    let json: serde_json::Value = serde_json::from_str(&output).expect("JSON");
    assert_eq!(json["name"], "name");
    assert_eq!(json["answered"], 2);
    assert_eq!(json["majority_holder"], serde_json::Value::Null);
    let servers = json["servers"].as_array().expect("a list");
    assert_eq!(servers[0]["state"], "held");
    assert_eq!(servers[0]["holder"], id.as_str());
    assert_eq!(servers[0]["count"], 1);
    assert_eq!(servers[0]["pid"], holder.pid());
    assert!(servers[0]["host"].is_string());
    assert!(servers[0]["ttl_ms"].as_u64().is_some_and(|ttl| ttl > 0 && ttl <= 30_000));
    assert_eq!(servers[1]["state"], "error");
    assert!(servers[1]["error"].is_string());
    assert_eq!(servers[2]["state"], "free");
    assert_eq!(servers[2]["server"], format!("127.0.0.1:{}/0", port(&urls[2])));
}

fn port(url: &str) -> &str {
    url.rsplit(':').next().expect("a port")
}

#[test]
fn without_the_right_to_list_clients_the_holder_id_remains() {
    let server = RedisServer::start();
    server.command(&["ACL", "SETUSER", "seer", "on", ">pw", "~*", "&*", "+@all", "-client|list"]);
    server.command(&["ACL", "SETUSER", "seer", "resetkeys", "~name"]);
    let holder = run(&[server.url()], "-w 50", "echo $PALISADE_HOLDER; read line").start();
    let id = holder.line();
    let seen = inspect(&[server.url_with("seer", "pw")], &["name"]);
    assert!(seen.output[0].contains(&format!(": held by {id}, ttl ")), "{seen:?}");
}

/// What a command says of itself, and since when it holds the lock, with its own clock out of the matter.
#[test]
fn long_holds_have_an_age_and_a_note() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let words = ["run", "-s", &urls[0], "--note", "ticket 7 \u{1b}[31m", "name", "--"];
    let script = ["sh", "-c", "echo ran; read line"];
    let holder = palisade(&[&words[..], &script[..]].concat()).start();
    assert_eq!(holder.line(), "ran");
    let seen = until("it is told", || {
        let seen = inspect(&urls, &["name"]).output.join("\n");
        seen.contains(", for ").then_some(seen)
    });
    assert!(seen.ends_with(r" (ticket 7 \u{1b}[31m)"), "{seen}");
    let json = inspect(&urls, &["--json", "name"]).output.join("\n");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let told = &json["servers"][0];
    assert_eq!(told["note"], "ticket 7 \u{1b}[31m");
    assert_eq!(told["program"], "palisade");
    assert!(told["held_ms"].is_u64(), "{told}");
    // Killed, it leaves its record to its end; given back, it takes that with it.
    assert_eq!(holder.finish().code(), 1, "the end of its input is an error of `read`");
    let left = server.keys().into_iter().filter(|key| key.contains("palisade_process")).count();
    assert_eq!(left, 0);
    let long = "x".repeat(257);
    let refused = run(&urls, &format!("--note {long}"), "echo ran").finish();
    assert_eq!((refused.code(), refused.output.len()), (64, 0));
}

/// Nothing depends on it: a command runs as it does where it may not be told.
#[test]
fn a_command_runs_without_the_rights_to_tell_of_it() {
    let server = RedisServer::start();
    let rules = palisade(&["acl", "--user", "jobs", "--untold", "name"]).finish();
    let words: Vec<&str> = rules.output[0].split(' ').chain(["on", ">pw"]).collect();
    server.cli(&words);
    let urls = [server.url_with("jobs", "pw")];
    let ran = run(&urls, "-n", "echo ran").finish();
    assert_eq!((ran.code(), ran.output.len(), ran.errors.len()), (0, 1, 0), "{ran:?}");
}

#[test]
fn a_reader_that_leaves_early_is_no_trouble() {
    let server = RedisServer::start();
    let script = format!("{} inspect -s {} name | true", crate::support::PALISADE, server.url());
    let finished = crate::support::tool::program("sh", &["-c", &script]).finish();
    assert_eq!((finished.code(), finished.said().as_str()), (0, ""));
}

#[test]
fn check_tells_held_from_free_and_from_unknown() {
    let cluster = Cluster::start(3).blessed();
    let urls = cluster.urls();
    let check = || inspect(&urls, &["--check", "name"]).code();
    assert_eq!(check(), 1);
    let mut holder = run(&urls, "-w 50", "echo up; read line").start();
    assert_eq!(holder.line(), "up");
    assert_eq!(check(), 0);
    holder.write("go\n");
    assert_eq!(holder.finish().code(), 0);
    cluster.kill(2);
    assert_eq!(check(), 1, "two of three say so");
    cluster.kill(1);
    assert_eq!(check(), 2);
}

#[test]
fn what_servers_say_does_not_reach_the_terminal_raw() {
    let server = RedisServer::start();
    server.cli(&["HSET", "name", "\u{1b}[2Ja\nb: free:1", "1"]);
    let urls = [server.url()];
    let held = inspect(&urls, &["name"]);
    assert_eq!(held.output.len(), 1, "{held:?}");
    assert!(held.output[0].contains(r"held by \u{1b}[2Ja\nb: free:1"), "{held:?}");
    let refused = run(&urls, "-n", "true").finish();
    assert!(refused.said().contains(r"\u{1b}[2Ja\nb"), "{refused:?}");
    let unknown = palisade(&["inspect", "--\u{1b}[2J"]).finish();
    assert_eq!(unknown.code(), 64);
    assert!(!unknown.said().contains('\u{1b}'), "{unknown:?}");
}

#[test]
fn server_that_may_have_forgotten_a_lock_is_no_witness_that_it_is_free() {
    let cluster = Cluster::start(3);
    let urls = cluster.urls();
    let young = inspect(&urls, &["--check", "name"]);
    assert_eq!(young.code(), 2, "{young:?}");
    let told = |line: &String| line.contains(": free; quarantined until 20");
    assert!(young.output.iter().all(told), "{young:?}");
    let json = inspect(&urls, &["--json", "name"]).output.join("\n");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert!(json["servers"][0]["counts_in_ms"].as_u64().is_some_and(|ms| ms <= 70_000), "{json}");
    // A lock on one server waits for nothing, unless that is asked for.
    assert_eq!(inspect(&urls[..1], &["--check", "name"]).code(), 1);
    assert_eq!(inspect(&urls[..1], &["--check", "--quarantine", "always", "name"]).code(), 2);
}

#[test]
fn server_that_takes_no_more_clients_is_said_to() {
    let server = RedisServer::start();
    let mut only = server.connect();
    only.command(&["CONFIG", "SET", "maxclients", "1"]).expect("the server answers");
    let full = inspect(&[server.url()], &["name"]);
    assert_eq!(full.code(), 69, "{full:?}");
    assert!(full.output[0].contains("no connection is left"), "{full:?}");
}
