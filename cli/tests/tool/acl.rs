//! The rights that are printed.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
};

use testkit::{RedisServer, Reply};

use crate::support::tool::{palisade, run};

/// Says a line to the server, which reads quotes as redis-cli does.
fn say(server: &RedisServer, line: &str) -> String {
    let mut stream = TcpStream::connect(server.addr()).expect("it listens");
    stream.write_all(format!("{line}\r\n").as_bytes()).expect("it reads");
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).expect("it answers");
    answer.trim_end().to_owned()
}

/// The words of a line that needs no quotes.
fn grant(server: &RedisServer, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    assert!(!matches!(server.command(&words), Reply::Error(_)), "{line}");
    server.cli(&["ACL", "SETUSER", "jobs", "on", ">pw"]);
}

#[test]
fn rights_that_are_printed_are_enough_for_the_tool() {
    for (kinds, options) in [
        ("", "-n"),
        ("--kind rw", "-n --shared"),
        ("--kind fair", "-n --fair"),
        ("--kind permits", "-n --permits 1 --of 2"),
    ] {
        let server = RedisServer::start();
        let line = format!("acl --user jobs {kinds} name");
        let printed = palisade(&line.split_whitespace().collect::<Vec<_>>()).finish();
        assert_eq!(printed.code(), 0, "{printed:?}");
        grant(&server, &printed.output.join(""));
        let urls = [server.url_with("jobs", "pw")];
        assert_eq!(run(&urls, options, "exit 3").finish().code(), 3, "{options}");
        let words = ["inspect", "-s", &urls[0], "name"];
        assert_eq!(palisade(&words).finish().code(), 0, "{options}");
    }
}

#[test]
fn names_with_spaces_have_rules_without_any_and_no_name_is_wrong_use() {
    let server = RedisServer::start();
    let printed = palisade(&["acl", "--user", "jobs", "a\tlong name"]).finish();
    grant(&server, &printed.output.join(""));
    let url = server.url_with("jobs", "pw");
    let words = ["run", "-n", "-s", &url, "a\tlong name", "--", "true"];
    assert_eq!(palisade(&words).finish().code(), 0, "{printed:?}");
    for user in ["", "two words"] {
        assert_eq!(palisade(&["acl", "--user", user, "name"]).finish().code(), 64, "{user:?}");
    }
    assert_eq!(palisade(&["acl"]).finish().code(), 64);
    assert_eq!(palisade(&["acl", ""]).finish().code(), 64);
}

#[test]
fn answer_that_cannot_be_written_is_an_error() {
    let full = std::fs::File::create("/dev/full").unwrap();
    let tool = std::process::Command::new(crate::support::PALISADE)
        .args(["acl", "name"])
        .env("XDG_CONFIG_HOME", crate::support::NO_CONFIGURATION)
        .stdout(full)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&tool.stderr);
    assert_eq!(tool.status.code(), Some(71), "{said}");
    assert!(said.contains("cannot print the answer"), "{said}");
}

#[test]
fn names_stand_for_themselves_and_patterns_for_many() {
    let server = RedisServer::start();
    let words = ["acl", "--user", "jobs", r"a[b]*?\c"];
    let printed = palisade(&words).finish();
    assert!(printed.said().contains("--pattern"), "{printed:?}");
    assert_eq!(say(&server, &printed.output.join("")), "+OK");
    server.cli(&["ACL", "SETUSER", "jobs", "on", ">pw"]);
    let urls = [server.url_with("jobs", "pw")];
    let held = |name: &str| {
        let words = ["run", "-n", "-s", &urls[0], name, "--", "true"];
        palisade(&words).finish().code()
    };
    assert_eq!(held(r"a[b]*?\c"), 0);
    for other in ["ab*?\\c", r"a[b]xx\c", r"a[b]*x\c"] {
        assert_eq!(held(other), 77, "{other}");
    }
    let printed = palisade(&["acl", "--user", "jobs", "--pattern", "a*"]).finish();
    assert_eq!(say(&server, &printed.output.join("")), "+OK");
    assert_eq!(held("abc"), 0);
}

#[test]
fn rights_for_what_not_every_client_has_are_extra() {
    for (extra, right) in [("--replicated", "+wait "), ("--in-cluster", "+cluster|slots")] {
        for (words, has_it) in [(&["acl", "x"][..], false), (&["acl", extra, "x"], true)] {
            let printed = palisade(words).finish();
            assert_eq!(printed.output.join("").contains(right), has_it, "{extra}: {printed:?}");
        }
    }
}

#[test]
fn rights_of_those_who_bless_can_be_left_out() {
    let printed = palisade(&["acl", "--no-bless", "x"]).finish();
    assert_eq!((printed.code(), printed.output.len()), (0, 1), "{printed:?}");
}

#[test]
fn rights_that_not_every_client_needs_can_be_left_out() {
    for (less, right) in
        [("--no-tracking", "+client|tracking"), ("--untold", "~palisade_process:*")]
    {
        for (words, has_it) in [(&["acl", "x"][..], true), (&["acl", less, "x"], false)] {
            let printed = palisade(words).finish();
            assert_eq!((printed.code(), printed.output.len()), (0, 1), "{printed:?}");
            assert_eq!(printed.output.join("").contains(right), has_it, "{less}: {printed:?}");
        }
    }
}
