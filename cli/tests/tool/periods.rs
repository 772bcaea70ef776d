//! Commands that run once for a period, or so often at most.

use testkit::{Cluster, RedisServer};

use crate::support::tool::{Finished, palisade, run};

fn finished(urls: &[String], options: &str, script: &str) -> Finished {
    run(urls, options, script).finish()
}

/// Its exit code is 0, and it is said in one line that the command was not run.
#[track_caller]
fn is_not_due(finished: &Finished) {
    assert_eq!((finished.code(), finished.output.len()), (0, 0), "{finished:?}");
    assert!(
        finished.errors.len() == 1 && finished.said().contains("name is not due: "),
        "{finished:?}"
    );
}

#[test]
fn command_runs_once_for_a_period_and_only_an_end_with_0_counts() {
    let server = RedisServer::start();
    let urls = [server.url()];
    assert_eq!(finished(&urls, "-n --once-for 26T03", "exit 3").code(), 3);
    assert_eq!(finished(&urls, "-n --once-for 26T03", "kill -TERM $$").code(), 143);
    assert_eq!(finished(&urls, "-n --once-for 26T03", "echo ran").output, ["ran"]);
    is_not_due(&finished(&urls, "-n --once-for 26T03", "echo ran"));
    // The code for a lock that is held is for that alone; what is to be known is said with -q, too.
    is_not_due(&finished(&urls, "-q -n -E 9 --once-for 26T03", "echo ran"));
    assert_eq!(finished(&urls, "-n --once-for 26T04", "echo ran").output, ["ran"]);
    is_not_due(&finished(&urls, "-n --once-for 26T03", "echo ran"));
    assert_eq!(finished(&urls, "-n", "echo ran").output, ["ran"]);
}

#[test]
fn command_runs_so_often_at_most() {
    let server = RedisServer::start();
    let urls = [server.url()];
    assert_eq!(finished(&urls, "-n --at-most-every 1h", "exit 1").code(), 1);
    assert_eq!(finished(&urls, "-n --at-most-every 1h", "echo ran").output, ["ran"]);
    is_not_due(&finished(&urls, "-n --at-most-every 1h", "echo ran"));
    assert_eq!(finished(&urls, "-n --at-most-every 1ms", "echo ran").output, ["ran"]);
}

/// Three hosts whose cron is some moments apart.
#[test]
fn hosts_that_wait_for_the_lock_find_the_period_done() {
    let cluster = Cluster::start(3).blessed();
    let urls = cluster.urls();
    let first = run(&urls, "-w 50 --once-for 26T03", "echo ran; read line").start();
    assert_eq!(first.line(), "ran");
    let second = run(&urls, "-w 50 --once-for 26T03", "echo ran").start();
    assert!(second.complaint().contains("waiting for name"), "it waits for the lock");
    assert_eq!(first.finish().code(), 1, "the end of its input is an error of `read`");
    // That run is not recorded.
    assert_eq!(second.line(), "ran");
    assert_eq!(second.finish().code(), 0);
    is_not_due(&finished(&urls, "-w 50 --once-for 26T03", "echo ran"));
    is_not_due(&finished(&urls, "-n --all --once-for 26T03", "echo ran"));
}

/// The process that ran the command is killed: what it began is repeated.
#[test]
fn run_that_was_killed_is_repeated() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let options = "-w 50 --lease 2s --once-for 26T03";
    let killed = run(&urls, options, "echo ran; read line").start();
    assert_eq!(killed.line(), "ran");
    killed.signal(rustix::process::Signal::KILL);
    assert_eq!(finished(&urls, options, "echo ran").output, ["ran"]);
    is_not_due(&finished(&urls, options, "echo ran"));
}

#[test]
fn status_and_last_run_are_told() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let last = || palisade(&["inspect", "--last", "-s", &urls[0], "name"]).finish();
    assert!(last().output[0].ends_with(": no run is recorded"), "{:?}", last());
    assert_eq!(finished(&urls, "-n --once-for 26T03", "true").code(), 0);
    let told = last();
    assert_eq!(told.code(), 0, "{told:?}");
    assert!(
        told.output[0].contains("26T03: done by ") && told.output[0].contains("ago"),
        "{told:?}"
    );

    let file = std::env::temp_dir().join(format!("palisade-due-{}", std::process::id()));
    let options = format!("-n --once-for 26T03 --status-file {}", file.display());
    is_not_due(&finished(&urls, &options, "true"));
    let status = std::fs::read_to_string(&file).expect("it is written");
    std::fs::remove_file(&file).expect("ours");
    let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
    assert_eq!((&status["outcome"], &status["exit_code"]), (&"not due".into(), &0.into()));
}

#[test]
fn what_cannot_be_asked_for_is_wrong_use() {
    let urls = ["redis://127.0.0.1:1".to_owned()];
    let long = format!("--once-for {}", "x".repeat(257));
    for options in [
        "--at-most-every 0",
        &long,
        "--once-for x --at-most-every 1h",
        "--once-for x --shared",
        "--once-for x --permits 1 --of 2",
    ] {
        assert_eq!(finished(&urls, options, "true").code(), 64, "{options}");
    }
}

#[test]
fn rights_that_are_printed_are_enough() {
    let server = RedisServer::start();
    let printed = palisade(&["acl", "--user", "jobs", "name"]).finish().output.join("");
    server.command(&printed.split_whitespace().collect::<Vec<_>>());
    server.cli(&["ACL", "SETUSER", "jobs", "on", ">pw"]);
    let urls = [server.url_with("jobs", "pw")];
    assert_eq!(finished(&urls, "-n --once-for 26T03", "exit 0").code(), 0);
    is_not_due(&finished(&urls, "-n --once-for 26T03", "exit 0"));
    assert_eq!(palisade(&["inspect", "--last", "-s", &urls[0], "name"]).finish().code(), 0);
}
