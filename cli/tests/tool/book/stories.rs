//! What a reader of a page has done before, and what is seen then.

use std::{fs, net::TcpStream};

use testkit::{Cluster, RedisServer, Reply};

use super::transcript::Transcript;
use crate::support::{folder::mode, until};

const INCIDENTS: &str = "docs/src/incidents";
const OPERATE: &str = "docs/src/operate";

fn incident(name: &str) -> String {
    format!("{INCIDENTS}/{name}.md")
}

fn operate(name: &str) -> String {
    format!("{OPERATE}/{name}.md")
}

fn as_shown(_: &mut Transcript, _: usize) {}

#[test]
fn first_five_minutes() {
    let three = Cluster::start(3);
    Transcript::of("docs/src/start/five-minutes.md", 0, three).play(as_shown);
}

#[test]
fn new_fleet_is_blessed_and_well() {
    Transcript::of(&operate("install"), 0, Cluster::start(3)).play(as_shown);
    Transcript::blessed(&operate("install"), 1).play(as_shown);
    Transcript::blessed(&operate("time"), 0).play(as_shown);
}

#[test]
fn blessed_fleet_is_not_blessed_again() {
    Transcript::blessed(&incident("fleet-mismatch"), 0).play(as_shown);
}

#[test]
fn wrong_password_and_database() {
    let play = Transcript::alone(&incident("credentials"), 0);
    let url = play.servers[0].url_with("jobs", "wrong");
    play.with("PALISADE_SERVERS", url).play(as_shown);
}

#[test]
fn memory_that_is_full_or_is_made_room_in() {
    let limited = |number, limit: &str, policy: &str| {
        let play = Transcript::alone(&incident("eviction"), number);
        play.servers[0].cli(&["CONFIG", "SET", "maxmemory", limit]);
        play.servers[0].cli(&["CONFIG", "SET", "maxmemory-policy", policy]);
        play.play(as_shown);
    };
    limited(0, "1mb", "noeviction");
    limited(1, "100mb", "allkeys-lru");
}

#[test]
fn server_that_is_frozen() {
    let play = Transcript::alone(&incident("frozen-server"), 0);
    play.servers.freeze(0);
    play.play(as_shown);
}

#[test]
fn key_that_is_not_a_lock() {
    Transcript::alone(&incident("key-is-not-a-lock"), 0).play(as_shown);
}

#[test]
fn connections_that_are_all_taken() {
    let play = Transcript::alone(&incident("max-clients"), 0);
    let server = &play.servers[0];
    server.cli(&["CONFIG", "SET", "maxclients", "1"]);
    let taken = TcpStream::connect(server.addr()).expect("it listens");
    play.play(as_shown);
    drop(taken);
}

/// A user with the rights that `words` of `palisade acl` print, but for those that are taken away.
fn grant(server: &RedisServer, words: &[&str], without: &[&str]) {
    let words = [&["acl", "--user", "jobs"], words].concat();
    let printed = crate::support::tool::palisade(&words).finish().output.join("");
    let words: Vec<&str> = printed.split_whitespace().collect();
    assert!(!matches!(server.command(&words), Reply::Error(_)), "{printed}");
    let user = [&["ACL", "SETUSER", "jobs", "on", ">pw"], without].concat();
    server.cli(&user);
}

#[test]
fn rights_that_are_missing() {
    for (page, number, words, without) in [
        (incident("permission"), 0, &["report"][..], &["-time"][..]),
        (incident("permission"), 1, &["report"], &[]),
        (operate("acl"), 0, &["--pattern", "jobs:*"], &[]),
        (incident("permission"), 2, &["report"], &["-publish"]),
    ] {
        let play = Transcript::alone(&page, number);
        grant(&play.servers[0], words, without);
        play.folder.file("jobs.secret", "pw");
        let url = play.servers[0].url_with("jobs", "pw");
        play.with("PALISADE_SERVERS", url).play(as_shown);
    }
}

#[test]
fn number_of_permits_is_set() {
    Transcript::alone(&incident("semaphore-never-set"), 0).play(as_shown);
}

#[test]
fn command_that_is_held_too_long() {
    Transcript::alone(&incident("supervisor"), 0).play(as_shown);
}

#[test]
fn masters_that_are_lost_one_after_the_other() {
    let two_gone = |play: &mut Transcript, number: usize| {
        if number == 0 {
            play.servers.kill(1);
            play.servers.kill(2);
            play.servers.freeze(0);
        } else {
            play.servers.thaw(0);
        }
    };
    Transcript::blessed(&incident("too-few-servers"), 0).play(two_gone);
    Transcript::blessed(&operate("losing-masters"), 0).play(|play, _| play.servers.kill(2));
    Transcript::blessed(&operate("losing-masters"), 1).play(two_gone);
}

#[test]
fn lock_that_another_holds() {
    Transcript::blessed("docs/src/move-over/flock.md", 0).play(|play, _| play.hold(&[], "report"));
    Transcript::blessed(&incident("tool"), 0).play(|play, _| {
        play.hold_for("3", &[], "report");
    });
}

#[test]
fn file_that_others_can_read() {
    let play = Transcript::alone(&incident("tool"), 1);
    let file = play.folder.file("c.toml", "servers = ['redis://:secret@127.0.0.1']");
    mode(&file, 0o644);
    play.play(as_shown);
}

#[test]
fn settings_and_where_they_are_from() {
    let mut play = Transcript::alone(&operate("at-work"), 0);
    play.variables.clear();
    let text = play.lines_of(0).join("\n") + "\n";
    let file = play.folder.file(".config/palisade/config.toml", &text);
    mode(&file, 0o644);
    play.folder.file(".config/palisade/staging-password", "secret");
    let config = play.folder.path.join(".config").display().to_string();
    play.with("XDG_CONFIG_HOME", config).play(as_shown);
}

/// A backup for which one waits, and a report.
fn at_work(number: usize) -> Transcript {
    let mut play = Transcript::blessed(&operate("at-work"), number);
    play.hold(&["--note", "ticket OPS-12"], "nightly-backup");
    play.hold(&[], "report");
    let waiter = play.tool(&["run", "nightly-backup", "--", "true"]).start();
    assert!(waiter.complaint().contains("waiting for"), "it waits");
    play.beside.push(waiter);
    let waits = || {
        let listed = play.tool(&["ls"]).finish();
        listed.output.iter().any(|line| line.contains("nightly") && line.ends_with('1'))
    };
    until("the waiter is heard of", || waits().then_some(()));
    play
}

#[test]
fn fleet_at_work() {
    at_work(1).play(as_shown);
    at_work(2).play(as_shown);
    Transcript::blessed(&operate("at-work"), 3).play(|play, _| play.servers.kill(2));
}

#[test]
fn job_that_was_done() {
    Transcript::alone("docs/src/use/cron-jobs.md", 0).play(as_shown);
    Transcript::alone(&operate("cron"), 0).play(|play, _| {
        let words = ["run", "--once-for", "2026-11-28T20", "nightly", "--", "true"];
        assert_eq!(play.tool(&words).finish().code(), 0);
    });
}

/// Those that are not played need what a test has not, or are played elsewhere.
#[test]
fn blocks_that_are_not_played_are_known() {
    let played = fs::read_to_string(super::root().join("cli/tests/tool/book/stories.rs"));
    let played = played.expect("this file");
    let played = played.split("const EXCUSED").next().expect("what is before");
    for path in super::pages() {
        let name = path.file_stem().and_then(|it| it.to_str()).unwrap_or_default();
        let has_console = super::page(&path.display().to_string()).contains("```console\n");
        let is_played =
            played.contains(&format!("\"{name}\"")) || played.contains(&format!("/{name}.md"));
        let is_excused = EXCUSED.iter().any(|(excused, _)| *excused == name);
        assert!(!has_console || is_played != is_excused, "{}", path.display());
    }
}

const EXCUSED: [(&str, &str); 8] = [
    ("alerts", "the exporter runs on: `exporter` plays it"),
    ("compose", "its servers have TLS and rights: `tls` and the files' own tests"),
    ("healing", "a moment of it: `quorum` and `young` play what it shows"),
    ("lost", "what comes first differs: `loss` plays it"),
    ("quarantine", "how old each master is differs: `young` plays it"),
    ("rolling-restart", "it restarts services of other hosts: `rolling` restarts masters so"),
    ("rotation", "its servers have TLS: `deployment::credentials` of the library rotates"),
    ("tls", "its certificates are made there: `tls` plays it"),
];
