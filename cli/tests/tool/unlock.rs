//! `palisade unlock`.

use testkit::{Cluster, RedisServer, Reply};

use crate::support::{
    PALISADE,
    terminal::Terminal,
    tool::{Finished, Running, palisade, run},
};

fn unlock(urls: &[String], holder: &str, more: &[&str]) -> Finished {
    let mut words = vec!["unlock", "--holder", holder];
    words.extend(urls.iter().flat_map(|url| ["-s", url.as_str()]));
    words.extend(more);
    words.push("name");
    palisade(&words).finish()
}

/// A command that has the lock, and its holder id.
fn held(urls: &[String], options: &str) -> (Running, String) {
    let holder = run(urls, options, "echo $PALISADE_HOLDER; read line").start();
    let id = holder.line();
    (holder, id)
}

#[test]
fn command_is_ended_before_another_begins() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let (mut holder, id) = held(&urls, "--lease 3s");
    let end = server.end_of("name");
    let taken = unlock(&urls, &id, &[]);
    assert_eq!(taken.code(), 0, "{taken:?}");
    assert!(taken.output[0].contains("taken away: palisade-unlock:"), "{taken:?}");
    assert!(server.end_of("name") <= end || server.end_of("name") == -2);
    let next = run(&urls, "-w 50", "echo ran; read line").start();
    assert_eq!(next.line(), "ran");
    assert_eq!(holder.ended_with(), 74);
    let again = unlock(&urls, &id, &[]);
    assert_eq!(again.code(), 3, "{again:?}");
    assert!(again.output[0].ends_with(": held by another"), "{again:?}");
    assert_eq!(next.finish().code(), 1, "it holds it, to the end of its input");
    assert_eq!(unlock(&urls, &id, &[]).code(), 3, "free");
}

#[test]
fn what_is_let_go_of_at_once_needs_a_word() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let (_holder, id) = held(&urls, "");
    let refused = unlock(&urls, &id, &["--now"]);
    assert_eq!(refused.code(), 64, "{refused:?}");
    assert!(refused.said().contains("two may run until the holder looks"), "{refused:?}");
    let url = &urls[0];
    let mut terminal =
        Terminal::start_with(&[PALISADE, "unlock", "-s", url, "name", "--holder", &id, "--now"]);
    terminal.see("Type yes:");
    terminal.type_in("no\n");
    assert_eq!(terminal.status().code(), Some(3));
    assert_eq!(run(&urls, "-n", "echo ran").finish().code(), 75);
    let mut terminal =
        Terminal::start_with(&[PALISADE, "unlock", "-s", url, "name", "--holder", &id, "--now"]);
    terminal.see("Type yes:");
    terminal.type_in("yes\n");
    assert_eq!(terminal.status().code(), Some(0));
    let ran = run(&urls, "-n", "echo $PALISADE_HOLDER; read line").start();
    let freed = unlock(&urls, &ran.line(), &["--now", "--yes"]);
    assert_eq!(freed.code(), 0, "{freed:?}");
    assert!(freed.output[0].ends_with(": taken away, and given back"), "{freed:?}");
}

#[test]
fn majority_is_needed_and_the_rest_is_told() {
    let cluster = Cluster::start(3).blessed();
    let urls = cluster.urls();
    let (_holder, id) = held(&urls, "-w 50");
    let other = unlock(&urls, "a:1", &["--json"]);
    assert_eq!(other.code(), 3, "{other:?}");
    cluster.kill(2);
    let taken = unlock(&urls, &id, &["--json"]);
    assert_eq!(taken.code(), 0, "{taken:?}");
    let json: serde_json::Value = serde_json::from_str(&taken.output.join("\n")).expect("JSON");
    let fields = [&json["name"], &json["holder"], &json["result"]];
    assert_eq!(fields, ["name", id.as_str(), "taken_away"]);
    assert_eq!(json["taken_away"], 2);
    let servers = json["servers"].as_array().expect("a list");
    assert_eq!(servers[0]["state"], "replaced");
    assert_eq!(servers[0]["by"], servers[1]["by"]);
    assert!(servers[0]["ttl_ms"].as_u64().is_some_and(|ttl| ttl > 0 && ttl <= 30_000));
    assert_eq!(servers[2]["state"], "error");
    assert!(servers[2]["error"].is_string(), "{servers:?}");
    let words = ["inspect", "-s", &urls[0], "name"];
    let seen = palisade(&words).finish().output.join("");
    assert!(
        seen.contains("held by palisade unlock, which took it away (palisade-unlock:"),
        "{seen}"
    );
    cluster.kill(1);
    let few = unlock(&urls, &id, &[]);
    assert_eq!((few.code(), few.output.len()), (69, 3), "{few:?}");
    assert!(few.output[0].contains("taken away before"), "{few:?}");
    assert!(few.said().contains("on 1 of 3 servers, too few"), "{few:?}");
}

#[test]
fn readers_go_one_by_one_and_permits_at_once_only() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let (mut one, id) = held(&urls, "--shared --lease 3s");
    let (other, _) = held(&urls, "--shared");
    assert_eq!(unlock(&urls, &id, &[]).code(), 0);
    assert_eq!(one.ended_with(), 74);
    assert_eq!(other.finish().code(), 1, "it reads on, to the end of its input");
    server.flush();
    let (mut holder, id) = held(&urls, "--permits 1 --of 1 --lease 3s");
    let refused = unlock(&urls, &id, &[]);
    assert_eq!(refused.code(), 64, "{refused:?}");
    let freed = unlock(&urls, &id, &["--now", "--yes"]);
    assert_eq!(freed.code(), 0, "{freed:?}");
    let again = unlock(&urls, &id, &["--now", "--yes"]);
    assert_eq!(again.code(), 3, "{again:?}");
    assert_eq!(holder.ended_with(), 74);
}

#[test]
fn number_that_is_no_permits_is_not_said_to_have_some() {
    let server = RedisServer::start();
    let urls = [server.url()];
    for number in ["42", "0", "-1"] {
        server.command(&["SET", "name", number]);
        for more in [&[][..], &["--now", "--yes"], &["--json"]] {
            let told = unlock(&urls, "a:1", more);
            assert_eq!(told.code(), 3, "{number} {more:?}: {told:?}");
            assert!(told.said().contains("name is a number"), "{number} {more:?}: {told:?}");
            assert!(!told.said().contains("has permits"), "{number} {more:?}: {told:?}");
        }
    }
    let json = unlock(&urls, "a:1", &["--json"]).output.join("\n");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(
        (&json["result"], &json["servers"][0]["state"]),
        (&"not_held".into(), &"free".into())
    );
    // Permits without a lease, which a program holds.
    server.command(&["SET", "name", "1"]);
    server.command(&[
        "HSET",
        "{name}:palisade_holders",
        "01234567-89ab-4cde-8123-456789abcdef:7",
        "1",
    ]);
    let held = unlock(&urls, "01234567-89ab-4cde-8123-456789abcdef:7", &[]);
    assert_eq!(held.code(), 64, "{held:?}");
    assert!(held.said().contains("name has permits"), "{held:?}");
}

#[test]
fn rights_and_foreign_keys_have_codes_of_their_own() {
    let server = RedisServer::start();
    server.command(&["SET", "name", "text"]);
    assert_eq!(unlock(&[server.url()], "a:1", &[]).code(), 78);
    server.flush();
    let rules = palisade(&["acl", "--user", "jobs", "name"]).finish();
    let words: Vec<&str> = rules.output[0].split(' ').chain(["on", ">pw"]).collect();
    server.cli(&words);
    let urls = [server.url_with("jobs", "pw")];
    let (_holder, id) = held(&urls, "");
    assert_eq!(unlock(&urls, &id, &[]).code(), 77);
}

#[test]
fn rights_of_an_operator_are_enough() {
    for options in ["-w 50", "-w 50 --shared", "-w 50 --exclusive", "-w 50 --fair"] {
        let server = RedisServer::start();
        let printed = palisade(&["acl", "--role", "operator", "--user", "ops", "na*"]).finish();
        let printed = printed.output.join("");
        let words: Vec<&str> = printed.split_whitespace().collect();
        assert!(!matches!(server.command(&words), Reply::Error(_)), "{printed}");
        server.cli(&["ACL", "SETUSER", "ops", "on", ">pw"]);
        let ops = [server.url_with("ops", "pw")];
        for more in [&[][..], &["--now", "--yes"]] {
            let (_holder, id) = held(&[server.url()], options);
            let taken = unlock(&ops, &id, more);
            assert_eq!(taken.code(), 0, "{options} {more:?}: {taken:?}");
            server.cli(&["FLUSHALL"]);
        }
    }
}

#[test]
fn what_was_taken_away_is_taken_away_from_its_holder_alone() {
    let server = RedisServer::start();
    let urls = [server.url()];
    for options in ["-w 50", "-w 50 --shared"] {
        let (_holder, id) = held(&urls, options);
        assert_eq!(unlock(&urls, &id, &[]).code(), 0);
        let again = unlock(&urls, &id, &[]);
        assert_eq!(again.code(), 0, "{options}: {again:?}");
        assert!(again.output[0].contains("taken away before: "), "{again:?}");
        for other in ["01234567-89ab-4cde-8123-456789abcdef:7", "garbage"] {
            let other = unlock(&urls, other, &[]);
            assert_eq!(other.code(), 3, "{options}: {other:?}");
        }
        // Nothing would end it.
        server.cli(&["PERSIST", "name"]);
        assert_eq!(unlock(&urls, &id, &[]).code(), 0);
        assert!(server.end_of("name") > 0, "{options}");
        let now = unlock(&urls, &id, &["--now", "--yes"]);
        assert_eq!(now.code(), 0, "{options}: {now:?}");
        assert_eq!(server.cli(&["EXISTS", "name"]), "0", "{options}: {now:?}");
    }
}

#[test]
fn what_stands_for_no_holder_is_given_back_at_once_or_not() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let (_holder, id) = held(&urls, "-w 50");
    let taken = unlock(&urls, &id, &["--json"]).output.join("");
    let taken: serde_json::Value = serde_json::from_str(&taken).expect("JSON");
    let by = taken["servers"][0]["by"].as_str().expect("text");
    assert_eq!(unlock(&urls, by, &[]).code(), 64);
    assert_eq!(unlock(&urls, by, &["--now", "--yes"]).code(), 0);
    assert_eq!(server.cli(&["EXISTS", "name"]), "0");
    server.cli(&["HSET", "name", "a", "b"]);
    let foreign = unlock(&urls, &id, &[]);
    assert_eq!(foreign.code(), 78, "{foreign:?}");
    assert!(foreign.said().contains("name is no lock"), "{foreign:?}");
}
