//! What `palisade exporter` tells, and what it costs.

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::Arc,
};

use rustix::process::Signal;
use testkit::{Cluster, RedisServer, SlotCluster, WallClocks};

use crate::support::{
    LIMIT,
    exporter::{Exporter, request},
    tool::{palisade, run},
};

/// A lock that says nothing of its holder, as one of Redisson's.
fn silent(server: &RedisServer, name: &str) {
    server.cli(&["HSET", name, "0fa6aec3-9a0f-4f7e-8dd2-52d7a3f9ae3d:51", "1"]);
    server.cli(&["PEXPIRE", name, "600000"]);
}

fn of(server: &RedisServer, metric: &str) -> String {
    format!("{metric}{{server=\"{}/0\"}}", server.addr())
}

#[test]
fn numbers_are_those_of_the_fleet() {
    let cluster = Cluster::start(3).blessed();
    let urls = cluster.urls();
    let exporter = Exporter::start(&urls, &["--every", "1s"]);
    let none =
        exporter.when("nothing is counted", |told| told.is("palisade_scans_total", |it| it > 0.0));
    assert_eq!(none["palisade_locks_held{sort=\"fenced\"}"], 0.0, "{none:?}");
    assert!(!none.has("palisade_oldest_hold_seconds"), "nothing is held: {none:?}");
    let holder = run(&urls, "-w 50", "echo ran; read line").start();
    assert_eq!(holder.line(), "ran");
    let _waiter = run(&urls, "-w 50", "echo ran; read line").start();
    cluster.iter().for_each(|server| silent(server, "java"));
    cluster.iter().take(2).for_each(|server| silent(server, "two"));
    cluster.iter().take(1).for_each(|server| silent(server, "one"));
    let told = exporter.when("all of it is told", |told| {
        told.is("palisade_waiting_processes", |it| it == 1.0)
            && told.is("palisade_locks_held{sort=\"fenced\"}", |it| it == 1.0)
            && told.is("palisade_locks_held{sort=\"lock\"}", |it| it == 2.0)
            && told.is("palisade_locks_short_of_votes", |it| it == 1.0)
            && told.is("palisade_locks_on_too_few_servers", |it| it == 1.0)
            && told.is("palisade_holds_of_unknown_age", |it| it == 2.0)
            && told.has("palisade_oldest_hold_seconds")
            && told.is("palisade_votes", |it| it == 3.0)
    });
    for (metric, number) in [
        ("palisade_locks_held{sort=\"fair\"}", 0.0),
        ("palisade_locks_held{sort=\"read/write\"}", 0.0),
        ("palisade_servers", 3.0),
        ("palisade_votes_needed", 2.0),
        ("palisade_clock_skew_seconds", 5.0),
        ("palisade_scan_unread_hashes", 0.0),
        ("palisade_scan_left_out_locks", 0.0),
    ] {
        assert_eq!(told[metric], number, "{metric}");
    }
    for server in cluster.iter() {
        for (metric, number) in [
            ("palisade_server_up", 1.0),
            ("palisade_server_votes", 1.0),
            ("palisade_server_quarantine_seconds", 0.0),
            ("palisade_server_evicts", 0.0),
        ] {
            assert_eq!(told[&*of(server, metric)], number, "{metric}");
        }
        assert!(told[&*of(server, "palisade_server_round_trip_seconds")] > 0.0);
        assert!(!told.has(&of(server, "palisade_server_memory_used_ratio")), "there is no limit");
    }
    let all = Exporter::start(&urls, &["--every", "1s", "--all"]);
    let told = all.when("what is not on all is told", |told| {
        told.is("palisade_locks_on_too_few_servers", |it| it == 2.0)
            && told.is("palisade_locks_short_of_votes", |it| it == 0.0)
    });
    assert_eq!(told["palisade_votes_needed"], 3.0);
    drop(holder);
}

#[test]
fn memory_policy_and_clock_of_a_server_are_told() {
    let clocks = Arc::new(WallClocks::build().expect("a C compiler"));
    let server = RedisServer::builder().settable_clock(&clocks).start();
    let exporter = Exporter::start(&[server.url()], &["--every", "1s", "--clock-skew", "7s"]);
    server.set_clock(-3_000);
    server.cli(&["CONFIG", "SET", "maxmemory", "1gb"]);
    server.cli(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    let told = exporter.when("it is told", |told| {
        told.is(&of(&server, "palisade_server_evicts"), |it| it == 1.0)
            && told.is(&of(&server, "palisade_server_clock_offset_seconds"), |it| it < -2.0)
            && told.has(&of(&server, "palisade_server_memory_used_ratio"))
    });
    assert!(told[&*of(&server, "palisade_server_clock_offset_seconds")] > -60.0, "{told:?}");
    let used = told[&*of(&server, "palisade_server_memory_used_ratio")];
    assert!(used > 0.0 && used < 0.5, "{used}");
    assert_eq!(told["palisade_clock_skew_seconds"], 7.0);
}

#[test]
fn neither_names_of_locks_nor_passwords_are_told() {
    let server = RedisServer::builder().password("secret").start();
    let url = format!("redis://:secret@{}", server.addr());
    silent(&server, "orders:4711");
    let exporter = Exporter::start(&[url], &["--every", "1s"]);
    exporter.when("it is counted", |told| {
        told.is("palisade_locks_held{sort=\"lock\"}", |it| it == 1.0)
    });
    let page = exporter.page();
    assert!(!page.contains("4711") && !page.contains("secret"), "{page}");
}

/// Many scrapes, and between them the servers are asked no more than without any.
#[test]
fn scrapes_are_answered_without_a_word_to_the_servers() {
    let server = RedisServer::start();
    let exporter = Exporter::start(&[server.url()], &["--every", "1h"]);
    exporter.when("it is counted", |told| told.is("palisade_scans_total", |it| it == 1.0));
    let calls = || server.calls().values().sum::<u64>();
    let before = calls();
    for _ in 0..200 {
        assert!(exporter.page().contains("palisade_scans_total 1\n"));
    }
    // It may have been time for a look meanwhile, which is a dozen.
    let more = calls() - before;
    assert!(more < 100, "{more} commands");
}

#[test]
fn frozen_server_is_shown_and_holds_up_no_scrape() {
    let cluster = Cluster::start(3).blessed();
    let exporter = Exporter::start(&cluster.urls(), &["--every", "1s"]);
    let up = of(&cluster[0], "palisade_server_up");
    exporter.when("it is counted", |told| {
        told.is("palisade_scans_total", |it| it > 0.0) && told.is(&up, |it| it == 1.0)
    });
    cluster[0].freeze();
    let told = exporter.when("it is shown, and the others as before", |told| {
        told.is(&up, |it| it == 0.0)
            && told.is("palisade_votes", |it| it == 2.0)
            && told.is("palisade_scan_failures_total", |it| it > 0.0)
            && told.has("palisade_locks_held{sort=\"lock\"}")
    });
    assert!(!told.has(&of(&cluster[0], "palisade_server_votes")), "that is not known");
    assert!(exporter.running.complaint().contains("is down"));
    cluster[0].thaw();
    exporter.when("it is back", |told| told.is(&up, |it| it == 1.0));
    assert!(exporter.running.complaint().contains("that is over"));
}

#[test]
fn server_that_may_have_forgotten_locks_has_no_vote_for_a_while() {
    let cluster = Cluster::start(3).blessed();
    cluster.kill(1);
    cluster.restart_empty(1);
    let exporter = Exporter::start(&cluster.urls(), &["--every", "1s"]);
    let quarantine = of(&cluster[1], "palisade_server_quarantine_seconds");
    let told = exporter.when("it is told", |told| {
        told.has(&quarantine) && told.is("palisade_votes", |it| it == 2.0)
    });
    assert!(told[&*quarantine] > 0.0 && told[&*quarantine] < 70.0, "{told:?}");
    assert_eq!(told[&*of(&cluster[1], "palisade_server_votes")], 0.0);
    assert_eq!(told[&*of(&cluster[0], "palisade_server_votes")], 1.0);
    // One by itself grants at once.
    let alone = Exporter::start(&[cluster[1].url()], &["--every", "1s"]);
    let told = alone.when("it is told", |told| told.has(&quarantine));
    assert_eq!((told[&*quarantine], told["palisade_votes"]), (0.0, 1.0));
}

#[test]
fn it_begins_before_its_servers() {
    let cluster = Cluster::start(3).blessed();
    for at in 0..3 {
        cluster.kill(at);
    }
    let exporter = Exporter::start(&cluster.urls(), &["--every", "1s"]);
    let up = of(&cluster[2], "palisade_server_up");
    let told = exporter.when("it is told", |told| {
        told.has(&up) && told.is("palisade_scan_failures_total", |it| it > 0.0)
    });
    assert_eq!((told[&*up], told["palisade_votes"]), (0.0, 0.0));
    for absent in ["palisade_locks_held{sort=\"lock\"}", "palisade_scan_age_seconds"] {
        assert!(!told.has(absent), "{absent} is not known: {told:?}");
    }
    for at in 0..3 {
        cluster.restart(at);
    }
    let told = exporter.when("they are there", |told| {
        told.is(&up, |it| it == 1.0) && told.has("palisade_locks_held{sort=\"lock\"}")
    });
    assert!(told.has("palisade_scan_age_seconds"), "{told:?}");
    // Once they are gone again, what was found is not told as if it was still so, and gets older.
    cluster.iter().for_each(RedisServer::kill);
    let gone =
        exporter.when("they are gone", |told| !told.has("palisade_locks_held{sort=\"lock\"}"));
    let age = gone["palisade_scan_age_seconds"];
    exporter
        .when("it gets older", |told| told.is("palisade_scan_age_seconds", |it| it > age + 1.0));
}

/// More than are answered at once, and each says a part of what it wants.
#[test]
fn clients_that_do_not_say_what_they_want_hold_nothing_up() {
    let server = RedisServer::start();
    let exporter = Exporter::start(&[server.url()], &["--every", "1s"]);
    let counted =
        exporter.when("it is counted", |told| told.is("palisade_scans_total", |it| it > 0.0));
    let slow: Vec<_> = (0..300)
        .map(|_| {
            let mut stream = TcpStream::connect(exporter.address).expect("it listens");
            stream.write_all(b"GET /metrics HTT").expect("it reads");
            stream
        })
        .collect();
    let told = exporter.told();
    assert!(told["palisade_scans_total"] > counted["palisade_scans_total"], "passes go on");
    for mut stream in slow {
        stream.set_read_timeout(Some(LIMIT)).expect("a time-out");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it ends");
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    }
}

#[test]
fn requests_are_answered_by_what_they_ask_for() {
    let server = RedisServer::start();
    let exporter = Exporter::start(&[server.url()], &[]);
    let long = format!("GET /metrics HTTP/1.1\r\nCookie: {}\r\n\r\n", "x".repeat(9_000));
    for (said, status) in [
        ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "200 OK"),
        ("GET / HTTP/1.0\r\n\r\n", "200 OK"),
        ("HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "200 OK"),
        ("GET /metric HTTP/1.1\r\n\r\n", "404 Not Found"),
        ("POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nx=y", "405 Method Not Allowed"),
        ("*1\r\n$4\r\nPING\r\n\r\n", "400 Bad Request"),
        (&long, "431 Request Header Fields Too Large"),
    ] {
        let answer = request(exporter.address, said);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{said}: {answer}");
        assert!(answer.contains("\r\nConnection: close\r\n"), "{answer}");
    }
    let metrics = request(exporter.address, "GET /metrics HTTP/1.1\r\n\r\n");
    assert!(metrics.contains("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    let head = request(exporter.address, "HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(head.ends_with("\r\n\r\n") && !head.contains("palisade_"), "{head}");
    let greeting = request(exporter.address, "GET / HTTP/1.1\r\n\r\n");
    assert!(greeting.ends_with("\r\n\r\npalisade exporter: see /metrics\n"), "{greeting}");
}

#[test]
fn address_that_cannot_be_listened_at_is_said_before_any_server_is_asked() {
    let server = RedisServer::start();
    let url = server.url();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().map(|address| (taken, address.to_string())).expect("it has one");
    let commands = server.top_level_commands();
    for (listen, code, words) in [
        ("9121", 64, "no address and port"),
        ("localhost", 64, "no address and port"),
        ("127.0.0.1:99999", 64, "no address and port"),
        (&*taken.1, 71, "Address already in use"),
        ("192.0.2.1:17254", 71, "Cannot assign requested address"),
    ] {
        let refused = palisade(&["exporter", "-s", &url, "--listen", listen]).finish();
        assert_eq!(refused.code(), code, "{listen}: {refused:?}");
        assert!(refused.said().contains(words) && refused.said().contains(listen), "{refused:?}");
    }
    for more in [&["--every", "100ms"][..], &["--clock-skew", "x"], &["name"]] {
        let words = [&["exporter", "-s", &url][..], more].concat();
        assert_eq!(palisade(&words).finish().code(), 64, "{more:?}");
    }
    assert_eq!(palisade(&["exporter"]).finish().code(), 64);
    assert_eq!(server.top_level_commands(), commands);
}

#[test]
fn it_ends_by_a_signal() {
    let server = RedisServer::start();
    for signal in [Signal::TERM, Signal::INT] {
        let mut exporter = Exporter::start(&[server.url()], &[]);
        exporter.running.signal(signal);
        assert_eq!(exporter.running.ended_with(), 0);
    }
}

/// What its other masters have is no count of it.
#[test]
fn cluster_of_which_a_master_does_not_answer_is_not_counted() {
    let cluster = SlotCluster::start(3);
    let url = [format!("redis+cluster://{}", cluster.hosts().join(","))];
    for server in cluster.servers() {
        server.cli(&["CONFIG", "SET", "cluster-require-full-coverage", "no"]);
    }
    for name in ["a", "b", "c", "d", "e", "f"] {
        silent(&cluster[cluster.owner_of(cluster.slot_of(name))], name);
    }
    let exporter = Exporter::start(&url, &["--every", "1s"]);
    let held = "palisade_locks_held{sort=\"lock\"}";
    exporter.when("all are counted", |told| told.is(held, |it| it == 6.0));
    cluster[0].freeze();
    let told = exporter.when("that is over", |told| !told.is(held, |it| it == 6.0));
    assert!(!told.has(held), "{told:?}");
    cluster[0].thaw();
    exporter.when("all are counted again", |told| told.is(held, |it| it == 6.0));
}
