//! What `--json` prints: each command that has something to tell has it, and its help names each field.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use testkit::{Cluster, RedisServer};

use crate::support::tool::{Running, palisade, run};

/// Those whose output is another's, or no answer.
const WITHOUT: [&str; 3] = ["run", "completions", "exporter"];

fn help(command: &str) -> String {
    let words: Vec<_> = command.split(' ').chain(["--help"]).collect();
    palisade(&words).finish().output.join("\n")
}

#[test]
fn every_command_that_has_an_answer_has_it_for_programs_too() {
    let all = palisade_cli::command();
    // `config` itself is nothing but what stands behind it.
    let of_config = all.find_subcommand("config").expect("it is there").get_subcommands();
    let asked = all.get_subcommands().filter(|it| !it.has_subcommands()).chain(of_config);
    for command in asked.filter(|it| !WITHOUT.contains(&it.get_name())) {
        let has_it = command.get_arguments().any(|argument| argument.get_long() == Some("json"));
        assert!(has_it, "{}", command.get_name());
    }
}

/// Calls it with `--json`, and sees that its help names each field. The answer, and the exit code.
fn told(command: &str, words: &[&str]) -> (Value, i32) {
    let mut all: Vec<_> = command.split(' ').chain(["--json"]).collect();
    all.extend(words);
    let finished = palisade(&all).finish();
    let printed = finished.output.join("\n");
    let answer: Value =
        serde_json::from_str(&printed).unwrap_or_else(|e| panic!("{e}: {finished:?}"));
    let help = help(command);
    let known: BTreeSet<&str> =
        help.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    for field in fields(&answer) {
        assert!(known.contains(field.as_str()), "{command}: its help has no word about {field}");
    }
    (answer, finished.code())
}

/// The names of all fields, but for what is named by users.
fn fields(of: &Value) -> Vec<String> {
    match of {
        Value::Object(all) => {
            let below =
                all.iter().filter(|(name, _)| !["labels", "settings"].contains(&name.as_str()));
            let below = below.flat_map(|(_, value)| fields(value));
            all.keys().cloned().chain(below).collect()
        }
        Value::Array(all) => all.iter().flat_map(fields).collect(),
        _ => Vec::new(),
    }
}

fn held(url: &str, options: &str) -> Running {
    let holder = run(&[url.to_owned()], options, "echo held; read line").start();
    assert_eq!(holder.line(), "held");
    holder
}

#[test]
fn fields_of_what_is_looked_at_are_in_the_help() {
    let server = RedisServer::start();
    let url = server.url();
    let words = ["-s", url.as_str(), "name"];
    assert_eq!(told("inspect", &words).0["servers"][0]["state"], "free");
    for options in ["--note x", "--exclusive", "--shared", "--fair", "--permits 1 --of 2"] {
        let holder = held(&url, options);
        told("inspect", &words);
        told("ls", &words);
        told("ls", &["-s", &url, "--processes"]);
        drop(holder);
        server.flush();
    }
    server.command(&["SET", "name", "text"]);
    assert_eq!(told("inspect", &words).0["servers"][0]["state"], "error");
    server.flush();
    assert_eq!(
        told("leader", &words),
        (json!({"name": "name", "leader": null, "stale": false}), 1)
    );
    let _leader = held(&url, "--proclaim x");
    assert_eq!(told("leader", &words).0["leader"]["value"], "x");
    let settings = told("config show", &["-s", &url]).0["settings"].clone();
    let fields: Vec<_> = settings.as_object().expect("all").values().flat_map(fields).collect();
    assert!(fields.iter().all(|field| help("config show").contains(field)), "{fields:?}");
}

#[test]
fn last_runs_are_told_to_programs() {
    let cluster = Cluster::start(3).blessed();
    let urls = cluster.urls();
    let mut words: Vec<_> = urls.iter().flat_map(|url| ["-s", url.as_str()]).collect();
    words.extend(["--last", "name"]);
    let (none, code) = told("inspect", &words);
    assert_eq!((&none["servers"][0]["run"], &none["answered"], code), (&Value::Null, &json!(3), 0));
    assert_eq!(run(&urls, "-w 50 --once-for today", "true").finish().code(), 0);
    let (last, _) = told("inspect", &words);
    let runs: Vec<_> =
        last["servers"].as_array().expect("three").iter().map(|it| &it["run"]).collect();
    let recorded = runs.into_iter().find(|run| !run.is_null()).expect("a majority has it");
    assert_eq!((&recorded["period"], &recorded["outcome"]), (&json!("today"), &json!("done")));
    assert!(recorded["age_ms"].as_u64().is_some_and(|age| age < 3_600_000), "{recorded}");
    assert!(recorded["start"].as_str().is_some_and(|at| at.ends_with('Z')), "{recorded}");
    cluster.kill(0);
    cluster.kill(1);
    let (few, code) = told("inspect", &words);
    assert_eq!((&few["answered"], code), (&json!(1), 69));
    assert!(few["servers"][0]["error"].is_string(), "{few}");
}

#[test]
fn permits_that_are_set_are_told_to_programs() {
    let server = RedisServer::start();
    let url = server.url();
    let set = |number| told("permits", &["-s", &url, "name", number]);
    assert_eq!(set("2"), (json!({"name": "name", "permits": 2, "left": 2}), 0));
    let _holder = held(&url, "--permits 2 --of 2");
    assert_eq!(set("1"), (json!({"name": "name", "permits": 1, "left": -1}), 0));
}

#[test]
fn blessing_that_was_given_or_refused_is_told_to_programs() {
    let cluster = Cluster::start(3);
    let urls = cluster.urls();
    let words: Vec<_> = urls.iter().flat_map(|url| ["-s", url.as_str()]).chain(["--new"]).collect();
    let (blessed, code) = told("bless", &words);
    assert_eq!((&blessed["blessed"], &blessed["reason"], code), (&json!(true), &Value::Null, 0));
    let servers = blessed["servers"].as_array().expect("a list");
    assert!(servers.iter().all(|server| server["uptime_ms"].is_u64()), "{blessed}");
    let (refused, code) = told("bless", &words);
    assert_eq!((&refused["blessed"], code), (&json!(false), 1));
    assert!(refused["reason"].is_string(), "{refused}");
}

#[test]
fn rights_are_told_to_programs() {
    let (rights, code) = told("acl", &["--user", "jobs", "a name"]);
    assert_eq!((&rights["user"], code), (&json!("jobs"), 0));
    let rules = rights["rules"].as_array().expect("a list");
    assert!(rules.contains(&json!("~a?name")), "{rights}");
    let command = rights["command"].as_str().expect("a line");
    assert!(command.starts_with("ACL SETUSER jobs ") && command.contains(" ~a?name "), "{command}");
}

#[test]
fn health_and_whether_a_restart_is_safe_are_told_to_programs() {
    let cluster = Cluster::start(3).blessed();
    let urls = cluster.urls();
    let words: Vec<_> = urls.iter().flat_map(|url| ["-s", url.as_str()]).collect();
    told("doctor", &words);
    let wait: Vec<_> = words.iter().copied().chain(["--wait-safe=50"]).collect();
    assert_eq!(told("doctor", &wait), (json!({"result": "safe", "reasons": [], "few": []}), 0));
    let (alone, code) = told("doctor", &["-s", &urls[0], "--wait-safe"]);
    assert_eq!((&alone["result"], code), (&json!("unknown"), 2));
    assert!(alone["reasons"][0].as_str().is_some_and(|why| why.contains("one server")), "{alone}");
    cluster.kill(2);
    let wait: Vec<_> = words.into_iter().chain(["--wait-safe=1"]).collect();
    let (unsafe_now, code) = told("doctor", &wait);
    assert_eq!((&unsafe_now["result"], code), (&json!("not_safe"), 1));
    assert!(unsafe_now["reasons"][0].is_string(), "{unsafe_now}");
    told("doctor", &wait[..6]);
}

#[test]
fn what_is_taken_away_and_what_is_held_is_told_in_fields_of_the_help() {
    let server = RedisServer::start();
    let url = server.url();
    let holder =
        run(std::slice::from_ref(&url), "--lease 3s", "echo $PALISADE_HOLDER; read line").start();
    let id = holder.line();
    let (taken, code) = told("unlock", &["-s", &url, "name", "--holder", &id]);
    assert_eq!((&taken["result"], code), (&json!("taken_away"), 0));
    server.kill();
    let (silent, code) = told("unlock", &["-s", &url, "name", "--holder", &id]);
    assert_eq!((&silent["result"], code), (&json!("too_few_servers"), 69));
    let server = RedisServer::start();
    let watch = palisade(&["watch", "--json", "-s", &server.url(), "name"]).start();
    let first: Value = serde_json::from_str(&watch.line()).expect("JSON");
    assert_eq!(first["change"], "free");
    let _holder = held(&server.url(), "");
    let second: Value = serde_json::from_str(&watch.line()).expect("JSON");
    let known = help("watch") + &help("ls");
    assert!(fields(&second).iter().all(|field| known.contains(field.as_str())), "{second}");
    let hold = palisade(&["hold", "--json", "-s", &server.url(), "other"]).start();
    let line: Value = serde_json::from_str(&hold.line()).expect("JSON");
    let known = help("hold");
    assert!(fields(&line).iter().all(|field| known.contains(field.as_str())), "{line}");
}

#[test]
fn status_file_has_the_fields_of_the_help() {
    let server = RedisServer::start();
    let path = std::env::temp_dir().join(format!("palisade-schema-{}", std::process::id()));
    let options = format!("-n --status-file {}", path.display());
    for script in ["exit 3", "kill -9 $$"] {
        run(&[server.url()], &options, script).finish();
        let status = std::fs::read_to_string(&path).expect("it is written");
        let status: Value = serde_json::from_str(&status).expect("JSON");
        let known = help("run");
        let unknown: Vec<_> =
            fields(&status).into_iter().filter(|it| !known.contains(it)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
    std::fs::remove_file(&path).expect("it is there");
}
