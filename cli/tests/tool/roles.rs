//! `palisade acl --role exporter`: enough for it, and none of it is for nothing.

use testkit::{RedisServer, Reply};

use crate::support::{
    exporter::Exporter,
    tool::{palisade, run},
    until,
};

/// A user that may do what the role says, and its rights to commands.
fn grant(server: &RedisServer) -> Vec<String> {
    let printed =
        palisade(&["acl", "--role", "exporter", "--user", "seer"]).finish().output.join("");
    let words: Vec<&str> = printed.split_whitespace().collect();
    server.cli(&["ACL", "SETUSER", "seer", "reset"]);
    assert!(!matches!(server.command(&words), Reply::Error(_)), "{printed}");
    server.cli(&["ACL", "SETUSER", "seer", "on", ">pw"]);
    server.cli(&["ACL", "LOG", "RESET"]);
    words.iter().filter_map(|word| word.strip_prefix('+')).map(str::to_owned).collect()
}

#[test]
fn rights_of_an_exporter_are_enough() {
    let server = RedisServer::start();
    let holders = [("plain", "-q"), ("shared", "--shared"), ("elected", "--proclaim=x")];
    let holders = holders.map(|(name, option)| {
        let words = ["run", "-s", &server.url(), option, name, "-c", "echo ran; read line"];
        let holder = palisade(&words).start();
        assert_eq!(holder.line(), "ran");
        holder
    });
    grant(&server);
    let seer = [server.url_with("seer", "pw")];
    let exporter = Exporter::start(&seer, &["--every", "1s"]);
    let told = exporter.when("all of them tell", |told| {
        told.is("palisade_holds_of_unknown_age", |it| it == 0.0)
            && told.has("palisade_oldest_hold_seconds")
            && told.is("palisade_votes", |it| it == 1.0)
    });
    for (metric, number) in [
        ("palisade_locks_held{sort=\"lock\"}", 1.0),
        ("palisade_locks_held{sort=\"fenced\"}", 1.0),
        ("palisade_locks_held{sort=\"read/write\"}", 1.0),
        ("palisade_waiting_processes", 0.0),
        ("palisade_scan_unread_hashes", 0.0),
    ] {
        assert_eq!(told[metric], number, "{metric}");
    }
    assert_eq!(server.cli(&["ACL", "LOG"]), "", "all that is asked is allowed");
    assert_eq!(run(&seer, "-n", "true").finish().code(), 77, "it holds nothing");
    drop(holders);
}

/// By each command that asks servers, of users that may not, and of a password that is wrong.
#[test]
fn what_servers_refuse_has_its_code_whatever_asks() {
    let server = RedisServer::start();
    server.cli(&["ACL", "SETUSER", "seer", "on", ">pw", "+ping", "+client", "+info", "~*", "&*"]);
    let commands: [&[&str]; 12] = [
        &["inspect", "x"],
        &["inspect", "--last", "x"],
        &["ls"],
        &["ls", "x"],
        &["ls", "--older-than", "1h"],
        &["unlock", "x", "--holder", "a:1"],
        &["unlock", "x", "--holder", "a:1", "--now", "--yes"],
        &["leader", "x"],
        &["permits", "x", "3"],
        &["bless", "--new"],
        &["run", "-n", "x", "-c", "true"],
        &["hold", "-n", "x"],
    ];
    for (user, password, code) in [("seer", "pw", 77), ("seer", "wrong", 78)] {
        let url = server.url_with(user, password);
        for words in commands {
            let words = [&words[..1], &["-s", &url], &words[1..]].concat();
            let finished = palisade(&words).finish();
            assert_eq!(finished.code(), code, "{words:?}: {finished:?}");
        }
    }
}

/// A blessing is written last.
#[test]
fn right_that_only_writing_lacks_has_its_code() {
    let server = RedisServer::start();
    let printed = palisade(&["acl", "--role", "doctor", "--user", "seer"]).finish().output.join("");
    server.command(&printed.split_whitespace().collect::<Vec<_>>());
    server.cli(&["ACL", "SETUSER", "seer", "on", ">pw"]);
    let url = server.url_with("seer", "pw");
    let refused = palisade(&["bless", "--new", "-s", &url]).finish();
    assert_eq!(refused.code(), 77, "{refused:?}");
}

/// Without any one of them, the server refuses something that is asked for.
#[test]
fn each_right_of_an_exporter_is_used() {
    let server = RedisServer::start();
    let uuid = "0fa6aec3-9a0f-4f7e-8dd2-52d7a3f9ae3d";
    // In a database of its own, which is asked for by SELECT.
    server.cli(&["SELECT", "1"]);
    server.cli(&["HSET", "plain", &format!("{uuid}:1"), "1"]);
    server.cli(&["HSET", "shared", "mode", "read", &format!("{uuid}:2"), "1"]);
    let script = "for i = 1, 100 do redis.call('HSET', KEYS[1], ARGV[1] .. ':' .. i, 1) end";
    server.cli(&["EVAL", script, "1", "many", uuid]);
    server.cli(&["HSET", "many", "mode", "read"]);
    let url = format!("{}/1", server.url_with("seer", "pw"));
    let rights = grant(&server);
    assert!(rights.len() > 10, "{rights:?}");
    for right in rights {
        grant(&server);
        server.cli(&["SCRIPT", "FLUSH"]);
        server.cli(&["ACL", "SETUSER", "seer", &format!("-{right}")]);
        let _exporter = Exporter::start(std::slice::from_ref(&url), &["--every", "1s"]);
        until(&format!("{right} is asked for"), || {
            server.cli(&["ACL", "LOG"]).contains(&right).then_some(())
        });
    }
}
