//! What is said of a lock that is waited for: its other holders, never its waiters.

use std::{env, fs, process};

use serde_json::{Value, json};
use testkit::{Cluster, RedisServer};

use crate::support::tool::run;

/// A `--all` keeps what it was granted, in this order, until the next server grants too.
fn last_in_common_order(cluster: &Cluster) -> &RedisServer {
    let run_id = |server: &&RedisServer| {
        let info = server.cli(&["INFO", "server"]);
        info.lines().find_map(|line| line.strip_prefix("run_id:").map(str::to_owned))
    };
    cluster.iter().max_by_key(run_id).expect("not empty")
}

#[test]
fn who_keeps_some_servers_while_waiting_for_the_last_names_the_holder_there() {
    let cluster = Cluster::start(3).blessed();
    let last = last_in_common_order(&cluster);
    let holder = run(&[last.url()], "", "echo $PALISADE_HOLDER; read line").start();
    let who = format!("pid {} ({})", holder.pid(), holder.line());

    let waited = run(&cluster.urls(), "--all -w 2", "true").finish();
    assert_eq!(waited.code(), 75, "{waited:?}");
    let [notice, end] = waited.errors.as_slice() else { panic!("{waited:?}") };
    assert!(notice.contains("waiting for name: held by ") && notice.contains(&who), "{notice}");
    assert!(end.contains("name is held by ") && end.contains(&who), "{end}");
}

#[test]
fn a_free_lock_of_which_one_server_hangs_is_held_by_nobody() {
    let cluster = Cluster::start(3).blessed();
    cluster.freeze(2);
    let waited = run(&cluster.urls(), "--all -w 3", "true").finish();
    assert_eq!(waited.code(), 69, "{waited:?}");
    let [notice, end] = waited.errors.as_slice() else { panic!("{waited:?}") };
    let silent = format!("too few servers answer: 127.0.0.1:{}/0: ", cluster[2].port());
    assert!(notice.contains(&format!("waiting for name: {silent}")), "{notice}");
    assert!(!waited.said().contains("held by"), "{waited:?}");
    assert!(end.contains("not enough servers answered"), "{end}");
}

/// Another holds it on this server, for longer than any test.
fn held_by_another(server: &RedisServer) {
    server.command(&["HSET", "name", "2a6dbf1c-2c5c-4f8b-9d5a-0c1d2e3f4a5b:1", "1"]);
    server.command(&["PEXPIRE", "name", "600000"]);
}

#[test]
fn without_a_limit_it_rides_out_an_outage_once_enough_have_answered() {
    let server = RedisServer::start();
    let urls = [server.url()];
    held_by_another(&server);
    let waiting = run(&urls, "", "echo mine").start();
    assert!(waiting.complaint().contains("waiting for name: held by"));
    server.kill();
    let said = waiting.complaint();
    assert!(said.contains("too few servers answer"), "{said}");
    server.restart_empty();
    assert_eq!(waiting.line(), "mine");
    assert_eq!(waiting.finish().code(), 0);
    server.kill();
    let refused = run(&urls, "", "true").finish();
    assert_eq!(refused.code(), 69, "before the first answer: {refused:?}");
}

#[test]
fn one_that_has_waited_says_for_how_long_unless_it_is_quiet() {
    let server = RedisServer::start();
    for (options, lines) in [("", 2), ("-q", 0)] {
        held_by_another(&server);
        let waiting = run(&[server.url()], options, "echo mine").start();
        if lines > 0 {
            assert!(waiting.complaint().contains("waiting for name: held by"));
        } else {
            waiting.pass(2);
        }
        server.command(&["DEL", "name"]);
        let finished = waiting.finish();
        assert_eq!((finished.code(), finished.output.len()), (0, 1), "{finished:?}");
        let told = finished.errors.iter().any(|line| line.contains("acquired name after "));
        assert_eq!((told, finished.errors.len()), (lines > 0, lines.min(1)), "{finished:?}");
    }
}

/// What a run has left in its status file, without what differs from one to the next.
fn status(server: &RedisServer, options: &str, script: &str) -> (Value, Option<i32>) {
    let path = env::temp_dir().join(format!("palisade-status-{}-{}", process::id(), server.port()));
    let options = format!("{options} --status-file {}", path.display());
    let code = run(&[server.url()], &options, script).finish().status.code();
    let mut status: Value =
        serde_json::from_str(&fs::read_to_string(&path).expect("written")).expect("JSON");
    fs::remove_file(&path).expect("nothing else is left");
    let status = status.as_object_mut().expect("an object");
    for time in ["waited_ms", "held_ms"] {
        let is_told = status.remove(time).expect(time).is_u64();
        assert!(is_told || time == "held_ms", "{status:?}");
    }
    (Value::Object(status.clone()), code)
}

#[test]
fn what_became_of_the_lock_and_the_command_is_told_in_a_file() {
    let server = RedisServer::start();
    let expected = json!({"name": "name", "outcome": "ran", "exit_code": 3, "signal": null, "command": {"code": 3}, "cause": null});
    assert_eq!(status(&server, "", "exit 3"), (expected, Some(3)));
    let expected = json!({"name": "name", "outcome": "ran", "exit_code": 137, "signal": null, "command": {"signal": 9}, "cause": null});
    assert_eq!(status(&server, "", "kill -KILL $$"), (expected, Some(137)));

    let (lost, code) = status(
        &server,
        "--lease 3",
        &format!("redis-cli -p {} DEL name; sleep 3601", server.port()),
    );
    assert_eq!(
        (&lost["outcome"], &lost["exit_code"], code),
        (&json!("lost"), &json!(74), Some(74))
    );
    assert!(lost["cause"].as_str().is_some_and(|cause| cause.contains("name was lost")), "{lost}");

    held_by_another(&server);
    let (held, code) = status(&server, "-n", "true");
    assert_eq!(
        (&held["outcome"], &held["command"], code),
        (&json!("held"), &Value::Null, Some(75))
    );
    server.kill();
    let (down, _) = status(&server, "-n", "true");
    assert_eq!((&down["outcome"], &down["exit_code"]), (&json!("unavailable"), &json!(69)));
}

#[test]
fn a_status_file_that_cannot_be_written_is_wrong_use_and_nothing_is_begun() {
    let server = RedisServer::start();
    for path in ["/nowhere/status", "/tmp", "/tmp/", "/proc/self/fd"] {
        let refused = run(&[server.url()], &format!("--status-file {path}"), "echo ran").finish();
        assert_eq!((refused.code(), refused.output.len()), (64, 0), "{refused:?}");
    }
}

#[test]
fn what_happens_to_connections_is_told_if_it_is_asked_for() {
    let server = RedisServer::start();
    let told = |options: &str| run(&[server.url()], options, "exit 3").finish();
    assert_eq!(told("-n").errors, Vec::<String>::new());
    let all = told("-n -vv");
    assert_eq!(all.code(), 3, "{all:?}");
    let connected = format!("palisade: debug: connected; node: 127.0.0.1:{}/0", server.port());
    assert!(all.errors.contains(&connected), "{all:?}");
}

/// As root the devices of the machine would be replaced by files; here a pipe stands for them.
#[test]
fn status_goes_to_what_is_no_file_as_it_is_and_to_what_a_link_leads_to() {
    let server = RedisServer::start();
    let folder =
        env::temp_dir().join(format!("palisade-places-{}-{}", process::id(), server.port()));
    fs::create_dir(&folder).expect("a folder of our own");
    let place = |name: &str| folder.join(name).display().to_string();
    let status =
        |path: &str| run(&[server.url()], &format!("--status-file {path}"), "echo mine").finish();

    // By a name at which nothing can be made in its place.
    let to_output = status("/proc/self/fd/1");
    assert_eq!(to_output.code(), 0, "{to_output:?}");
    assert_eq!(to_output.output.first().map(String::as_str), Some("mine"), "{to_output:?}");
    assert!(
        to_output.output.iter().any(|line| line.contains("\"outcome\": \"ran\"")),
        "{to_output:?}"
    );

    let made =
        process::Command::new("mkfifo").arg(place("pipe")).status().expect("mkfifo is there");
    assert!(made.success());
    let unread = status(&place("pipe"));
    assert_eq!((unread.code(), unread.output.len()), (64, 0), "{unread:?}");
    assert!(fs::metadata(place("pipe")).is_ok_and(|found| !found.is_file()), "it is a pipe still");

    fs::write(place("file"), "old").expect("our folder");
    std::os::unix::fs::symlink(place("file"), place("link")).expect("our folder");
    assert_eq!(status(&place("link")).code(), 0);
    assert!(fs::symlink_metadata(place("link")).is_ok_and(|found| found.is_symlink()));
    assert!(fs::read_to_string(place("file")).is_ok_and(|text| text.contains("ran")));
    fs::remove_dir_all(&folder).expect("our folder");
}
