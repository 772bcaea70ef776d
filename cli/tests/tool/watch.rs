//! `palisade watch`.

use serde_json::Value;
use testkit::{Cluster, RedisServer};

use crate::support::tool::{Running, palisade, run};

fn watch(urls: &[String], more: &[&str]) -> Running {
    let servers = urls.iter().flat_map(|url| ["-s", url.as_str()]);
    let words = ["watch", "--every", "100ms"].into_iter().chain(more.iter().copied());
    palisade(&words.chain(servers).collect::<Vec<_>>()).start()
}

/// The next line, and what it is about.
fn next(watcher: &Running) -> (String, Value) {
    let line: Value = serde_json::from_str(&watcher.line()).expect("JSON");
    let text = |name: &str| line.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    (format!("{} {}", text("change"), text("name")), line)
}

/// The next one that is not about how many wait.
fn next_of_holders(watcher: &Running) -> (String, Value) {
    loop {
        let (what, line) = next(watcher);
        if !what.starts_with("waiting") {
            return (what, line);
        }
    }
}

#[test]
fn what_becomes_of_a_lock_is_told() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let watcher = watch(&urls, &["name", "other*"]);
    let mut first = [next(&watcher).0, next(&watcher).0];
    first.sort_unstable();
    assert_eq!(first, ["free name", "free other*"]);
    let holder = run(&urls, "-w 50", "echo $PALISADE_HOLDER; read line").start();
    let id = holder.line();
    let (what, line) = next(&watcher);
    assert_eq!(what, "held name");
    assert_eq!(line.pointer("/lock/holders/0/holder"), Some(&Value::from(id)));
    assert!(line["at"].is_string());
    let waiter = run(&urls, "-w 50", "echo $PALISADE_HOLDER; read line").start();
    let (what, line) = next(&watcher);
    assert_eq!(what, "waiting name");
    assert_eq!(line.pointer("/lock/waiting"), Some(&1.into()));
    drop(holder.finish());
    let id = waiter.line();
    // It may have been free for a moment.
    let line =
        std::iter::repeat_with(|| next_of_holders(&watcher)).find(|(what, _)| what != "free name");
    let (what, line) = line.expect("there is always one more");
    assert!(what == "holder name" || what == "held name", "{what}");
    assert_eq!(line.pointer("/lock/holders/0/holder"), Some(&Value::from(id)));
    drop(waiter.finish());
    assert_eq!(next_of_holders(&watcher).0, "free name");
}

#[test]
fn all_locks_are_found_and_votes_are_counted() {
    let cluster = Cluster::start(3).blessed();
    let watcher = watch(&cluster.urls(), &["--all"]);
    let holder = run(&cluster.urls(), "-w 50", "echo ran; read line").start();
    assert_eq!(holder.line(), "ran");
    let (what, line) = next(&watcher);
    assert_eq!((what.as_str(), &line["lock"]["votes"]), ("held name", &3.into()));
    cluster.kill(2);
    let (what, line) = next(&watcher);
    assert_eq!((what.as_str(), &line["lock"]["votes"]), ("votes name", &2.into()));
    cluster.kill(1);
    assert_eq!(next(&watcher).0, "unknown ");
}

/// As `head` does.
#[test]
fn it_ends_when_nothing_reads_it() {
    let server = RedisServer::start();
    let line = format!("$PALISADE watch --every 100ms name -s {} | head -n 1", server.url());
    let holder = run(&[server.url()], "-w 50", "echo ran; read line").start();
    assert_eq!(holder.line(), "ran");
    let shell = crate::support::tool::program("sh", &["-c", &line]);
    let shell = shell.env("PALISADE", crate::support::PALISADE).start();
    assert!(shell.line().contains("\"held\""));
    drop(holder.finish());
    assert_eq!(shell.finish().code(), 0);
}

#[test]
fn what_cannot_be_watched_is_wrong_use() {
    let url = ["redis://127.0.0.1:1".to_owned()];
    for more in [&[][..], &["--all", "name"], &["name", "--every", "1ms"], &[""]] {
        let refused = watch(&url, more).finish();
        assert_eq!(refused.code(), 64, "{more:?}: {refused:?}");
    }
}
