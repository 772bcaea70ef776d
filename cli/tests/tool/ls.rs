//! `palisade ls`.

use testkit::{Cluster, RedisServer, Reply};

use crate::support::{
    tool::{Finished, Running, palisade, run},
    until,
};

fn ls(urls: &[String], more: &[&str]) -> Finished {
    let mut words = vec!["ls", "--fast"];
    words.extend(urls.iter().flat_map(|url| ["-s", url.as_str()]));
    words.extend(more);
    palisade(&words).finish()
}

fn json(urls: &[String], more: &[&str]) -> serde_json::Value {
    let told = ls(urls, &[&["--json"], more].concat());
    serde_json::from_str(&told.output.join("\n"))
        .unwrap_or_else(|error| panic!("{error}: {told:?}"))
}

/// A command that holds a lock, and its holder id.
fn hold(urls: &[String], options: &str) -> (Running, String) {
    let holder = run(urls, options, "echo $PALISADE_HOLDER; read line").start();
    let id = holder.line();
    (holder, id)
}

/// A lock that says nothing of its holder, as one of Redisson's.
fn silent(server: &RedisServer, name: &str) {
    let holder = "0fa6aec3-9a0f-4f7e-8dd2-52d7a3f9ae3d:51";
    server.cli(&["HSET", name, holder, "1"]);
    server.cli(&["PEXPIRE", name, "600000"]);
}

/// The only lock, once its process has told since when it holds that.
fn told(urls: &[String]) -> serde_json::Value {
    until("it is told", || {
        let json = json(urls, &[]);
        json.pointer("/locks/0/held_ms").is_some_and(serde_json::Value::is_u64).then_some(json)
    })
}

#[test]
fn locks_are_a_table_with_names_that_do_no_harm() {
    let server = RedisServer::start();
    let urls = [server.url()];
    assert_eq!(ls(&urls, &[]).said(), "", "nothing is held");
    let words = ["run", "-s", &urls[0], "--note", "ticket 7 \u{1b}[31m", "deploy\u{1b}[2J", "--"];
    let script = ["sh", "-c", "echo ran; read line"];
    let holder = palisade(&[&words[..], &script[..]].concat()).start();
    assert_eq!(holder.line(), "ran");
    silent(&server, "java");
    server.cli(&["HSET", "user:1", "name", "x"]);
    told(&urls);
    let seen = ls(&urls, &[]);
    assert_eq!((seen.code(), seen.errors.len(), seen.output.len()), (0, 0, 3), "{seen:?}");
    let [head, first, second] = &seen.output[..] else { panic!("{seen:?}") };
    for column in ["NAME", "SORT", "HOLDER", "HELD FOR", "TTL", "VOTES", "WAITING"] {
        assert!(head.contains(column), "{head}");
    }
    let who = format!("pid {} palisade (ticket 7 \\u{{1b}}[31m)", holder.pid());
    assert!(first.starts_with(r"deploy\u{1b}[2J  lock") && first.contains(&who), "{first}");
    assert!(first.ends_with("1/1    0"), "{first}");
    let id = "0fa6aec3-9a0f-4f7e-8dd2-52d7a3f9ae3d:51";
    assert!(second.starts_with("java ") && second.contains(id), "{second}");
    assert_eq!(ls(&urls, &["ja*"]).output.len(), 2);
    assert_eq!(ls(&urls, &["java"]).output.len(), 2);
    assert_eq!(ls(&urls, &["none"]).output.len(), 0);
}

#[test]
fn json_is_for_programs() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let (holder, id) = hold(&urls, "-w 50 --note why");
    let json = told(&urls);
    assert_eq!((&json["asked"], &json["answered"]), (&1.into(), &1.into()));
    assert_eq!(
        (&json["complete"], &json["unread"], &json["left_out"]),
        (&true.into(), &0.into(), &0.into())
    );
    let lock = &json["locks"][0];
    assert_eq!((&lock["name"], &lock["sort"]), (&"name".into(), &"lock".into()));
    assert_eq!(
        (&lock["votes"], &lock["waiting"], &lock["more_holders"]),
        (&1.into(), &0.into(), &0.into())
    );
    let by = &lock["holders"][0];
    assert_eq!((&by["holder"], &by["access"]), (&id.as_str().into(), &"alone".into()));
    assert_eq!((&by["pid"], &by["note"]), (&holder.pid().into(), &"why".into()));
    assert_eq!(
        (&by["dead"], &by["operator"], &by["count"]),
        (&false.into(), &false.into(), &1.into())
    );
    assert!(by["ttl_ms"].as_u64().is_some_and(|ttl| ttl > 0 && ttl <= 30_000), "{by}");
    for text in ["host", "program", "version", "started", "since"] {
        assert!(by[text].is_string(), "{text}: {by}");
    }
}

#[test]
fn several_servers_are_one_list_with_votes() {
    let cluster = Cluster::start(3).blessed();
    let urls = cluster.urls();
    let (_holder, _id) = hold(&urls, "-w 50");
    until("all have it", || {
        let all = cluster.iter().all(|it| it.command(&["EXISTS", "name"]) == Reply::Int(1));
        all.then_some(())
    });
    cluster[2].command(&["DEL", "name"]);
    let seen = ls(&urls, &[]);
    assert!(seen.output[1].contains("  2/3  ") && seen.output[1].contains("fenced"), "{seen:?}");
    cluster.kill(0);
    let less = ls(&urls, &[]);
    assert_eq!(less.code(), 0, "{less:?}");
    assert!(less.said().contains("refused") && less.output[1].contains("  1/3  "), "{less:?}");
    assert_eq!(json(&urls, &[])["failed"].as_array().map(Vec::len), Some(1));
    cluster.kill(1);
    cluster.kill(2);
    let none = ls(&urls, &[]);
    assert_eq!((none.code(), none.output.len()), (69, 0), "{none:?}");
}

#[test]
fn exit_code_tells_whether_something_is_held_for_too_long() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let older = |limit: &str| {
        let seen = ls(&urls, &["--older-than", limit]);
        (seen.code(), seen.output.len())
    };
    assert_eq!(older("1h"), (0, 0));
    let (_holder, _id) = hold(&urls, "-w 50");
    told(&urls);
    assert_eq!(older("1h"), (0, 0));
    assert_eq!(older("0"), (1, 2));
    silent(&server, "java");
    assert_eq!(older("1h"), (2, 2), "what may be as old is shown");
    assert_eq!(older("0"), (1, 3));
    server.command(&["DEL", "java"]);
    // A server that does not answer may have one.
    let gone = RedisServer::start();
    let both = [server.url(), gone.url()];
    gone.kill();
    assert_eq!(ls(&both, &["--older-than", "1h"]).code(), 2);
    assert_eq!(ls(&both[1..], &["--older-than", "1h"]).code(), 69);
    assert_eq!(ls(&urls, &["--older-than", "x"]).code(), 64);
    assert_eq!(ls(&urls, &[""]).code(), 64);
}

#[test]
fn processes_tell_what_they_are() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let (holder, id) = hold(&urls, "-w 50 --note why");
    told(&urls);
    let seen = ls(&urls, &["--processes"]);
    assert_eq!((seen.code(), seen.output.len()), (0, 2), "{seen:?}");
    assert!(seen.output[1].contains(&format!("  {}  ", holder.pid())), "{seen:?}");
    let json = json(&urls, &["--processes"]);
    let process = &json["processes"][0];
    assert!(id.starts_with(process["uuid"].as_str().expect("text")), "{json}");
    assert_eq!((&process["note"], &process["holds"]), (&"why".into(), &1.into()));
    assert!(process["labels"].is_object() && process["started"].is_string(), "{process}");
    assert_eq!(ls(&urls, &["--processes", "name"]).code(), 64);
}

#[test]
fn rights_of_an_operator_are_enough() {
    let server = RedisServer::start();
    let (_holder, _id) = hold(&[server.url()], "-w 50");
    for (pattern, unread) in [(&[][..], 0), (&["na*"], 0), (&["other*"], 1)] {
        let words = [&["acl", "--role", "operator", "--user", "ops"], pattern].concat();
        let printed = palisade(&words).finish().output.join("");
        let words: Vec<&str> = printed.split_whitespace().collect();
        server.cli(&["ACL", "DELUSER", "ops"]);
        assert!(!matches!(server.command(&words), Reply::Error(_)), "{printed}");
        server.cli(&["ACL", "SETUSER", "ops", "on", ">pw"]);
        let urls = [server.url_with("ops", "pw")];
        let json = json(&urls, &[]);
        assert_eq!((&json["unread"], &json["failed"]), (&unread.into(), &serde_json::json!([])));
        let locks = json["locks"].as_array().expect("a list").len();
        assert_eq!(u64::try_from(locks).expect("few"), 1 - unread, "{json}");
        assert_eq!(ls(&urls, &["--processes"]).code(), 0);
    }
    server.cli(&["ACL", "SETUSER", "ops", "-scan"]);
    assert_eq!(ls(&[server.url_with("ops", "pw")], &[]).code(), 77);
}

/// They are shown where they are named, since any number of any program looks like one of theirs.
#[test]
fn permits_are_shown_by_their_name() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let (_holder, _id) = hold(&urls, "-w 50 --permits 1 --of 3");
    assert_eq!(ls(&urls, &[]).output.len(), 0);
    let seen = ls(&urls, &["name"]);
    assert_eq!((seen.code(), seen.output.len()), (0, 2), "{seen:?}");
    assert!(seen.output[1].starts_with("name  permits, 2 left  "), "{seen:?}");
    assert_eq!(json(&urls, &["name"]).pointer("/locks/0/left"), Some(&2.into()));
    server.cli(&["SET", "number", "7"]);
    let seen = ls(&urls, &["number"]);
    assert!(seen.output[1].starts_with("number  counter, 7 left  none"), "{seen:?}");
}

/// It holds nothing, and ends within a lease.
#[test]
fn what_stands_where_a_lock_was_taken_away_is_not_held_for_long() {
    let server = RedisServer::start();
    let urls = [server.url()];
    for options in ["-w 50", "-w 50 --shared"] {
        let (_holder, id) = hold(&urls, options);
        let words = ["unlock", "-s", &urls[0], "name", "--holder", &id];
        assert_eq!(palisade(&words).finish().code(), 0);
        let json = json(&urls, &[]);
        assert_eq!(json.pointer("/locks/0/holders/0/operator"), Some(&true.into()), "{json}");
        let older = ls(&urls, &["--older-than", "1h"]);
        assert_eq!((older.code(), older.output.len()), (0, 0), "{older:?}");
        server.cli(&["FLUSHALL"]);
    }
}
