//! The promise: the group is dead before the lock can have another holder.

use std::time::Duration;

use rustix::process::Signal;
use testkit::{Cluster, RedisServer};

use crate::support::{
    CLOCK,
    tool::{Finished, Running, run},
    until, wall_clock,
};

/// Renewed every two seconds; what stands still for less than twice that does no harm.
const LEASE: Duration = Duration::from_secs(6);

fn clock(urls: &[String]) -> Running {
    // A short lease makes for short time-outs: on a busy machine the first attempt may fail.
    let options = format!("--lease {} -w 50", LEASE.as_secs());
    let running = run(urls, &options, CLOCK).start();
    running.line();
    running
}

/// The command is dead before the keys, of which the last was set before `trouble`, end.
fn assert_dead_in_time(finished: &Finished, trouble: Duration) {
    let last = finished.last_time();
    assert!(last < trouble + LEASE, "ran until {last:?}, {:?} too long", last - trouble - LEASE);
}

#[test]
fn three_of_five_masters_die_while_the_command_runs() {
    let cluster = Cluster::start(5).blessed();
    let running = clock(&cluster.urls());
    for i in 0..3 {
        cluster.kill(i);
    }
    let trouble = wall_clock();
    let finished = running.finish();
    assert_eq!(finished.code(), 74, "{:?}", finished.errors);
    assert_dead_in_time(&finished, trouble);
    assert!(finished.output.contains(&"term".to_owned()), "SIGTERM came first");
    assert!(finished.said().contains("cannot be renewed: 127.0.0.1:"), "{:?}", finished.errors);
    assert!(finished.said().contains(" did not renew it: "), "{:?}", finished.errors);
}

#[test]
fn two_of_five_masters_die_while_the_command_runs_and_nobody_minds() {
    let cluster = Cluster::start(5).blessed();
    let mut running = run(&cluster.urls(), "--lease 9 -w 50", "echo up; read line; exit 3").start();
    assert_eq!(running.line(), "up");
    cluster.kill(0);
    cluster.freeze(1);
    let up = std::time::Instant::now();
    // A lease on: only renewal through the other three can have kept the command alive.
    crate::support::until("a lease", || (up.elapsed() > Duration::from_secs(9)).then_some(()));
    running.write("go\n");
    let finished = running.finish();
    assert_eq!((finished.code(), finished.said().as_str()), (3, ""));
}

#[test]
fn the_next_holder_begins_after_the_last_sign_of_one_whose_masters_froze() {
    let cluster = Cluster::start(5).blessed();
    let urls = cluster.urls();
    let running = clock(&urls);
    for i in 0..3 {
        cluster.freeze(i);
    }
    let finished = running.finish();
    assert_eq!(finished.code(), 74, "{:?}", finished.errors);
    for i in 0..3 {
        cluster.thaw(i);
    }
    assert_next_begins_after(&urls, &finished);
}

fn assert_next_begins_after(urls: &[String], last: &Finished) {
    assert_begins_after(run(urls, "-w 50", "date +%s%N").start(), last);
}

fn assert_begins_after(next: Running, last: &Finished) {
    let next = next.finish();
    assert_eq!(next.code(), 0, "{next:?}");
    assert!(next.last_time() > last.last_time());
}

#[test]
fn palisade_is_killed() {
    let server = RedisServer::start();
    let urls = vec![server.url()];
    let running = clock(&urls);
    let next = run(&urls, "-w 50", "date +%s%N").start();
    running.signal(Signal::KILL);
    // Its output ends only when the last process of the group is dead.
    let finished = running.finish();
    assert!(finished.died_of(Signal::KILL));
    assert!(finished.output.contains(&"term".to_owned()), "SIGTERM came first");
    assert_begins_after(next, &finished);
}

#[test]
fn palisade_is_stopped() {
    let server = RedisServer::start();
    let urls = vec![server.url()];
    let running = clock(&urls);
    let next = run(&urls, "-w 50", "date +%s%N").start();
    running.signal(Signal::STOP);
    let next = next.finish();
    assert_eq!(next.code(), 0, "{next:?}");
    // Only now does the first palisade get to do anything.
    running.signal(Signal::CONT);
    let finished = running.finish();
    assert_eq!(finished.code(), 74, "{:?}", finished.errors);
    assert!(finished.output.contains(&"term".to_owned()), "SIGTERM came first");
    assert!(!finished.said().contains("supervisor"), "it did act in time: {:?}", finished.errors);
    assert!(next.last_time() > finished.last_time());
}

#[test]
fn a_lock_that_is_deleted_kills_the_command_without_term() {
    let server = RedisServer::start();
    let running = run(&[server.url()], "--lease 9 -w 50", CLOCK).start();
    running.line();
    server.command(&["DEL", "name"]);
    let finished = running.finish();
    assert_eq!(finished.code(), 74, "{:?}", finished.errors);
    assert!(!finished.output.contains(&"term".to_owned()), "killed at once");
    assert!(finished.said().contains("lost"), "{:?}", finished.errors);
}

/// With a lease of which the third is longer than anything waits here.
#[test]
fn lock_that_is_deleted_is_told_of_at_once() {
    let server = RedisServer::start();
    let running = run(&[server.url()], "--lease 600 --max-lease 600 -w 50", CLOCK).start();
    running.line();
    let is_told = || server.cli(&["INFO", "stats"]).contains("tracking_total_keys:1");
    until("the server is to tell", || is_told().then_some(()));
    server.command(&["DEL", "name"]);
    let finished = running.finish();
    assert_eq!(finished.code(), 74, "{:?}", finished.errors);
    assert!(finished.said().contains("lost"), "{:?}", finished.errors);
}

/// What came of a look is no renewal that failed.
#[test]
fn server_that_does_not_answer_a_look_is_not_told_as_a_lock_that_is_not_renewed() {
    let server = RedisServer::start();
    let running = run(&[server.url()], "-v --lease 600 --max-lease 600 -w 50", CLOCK).start();
    running.line();
    let is_told = || server.cli(&["INFO", "stats"]).contains("tracking_total_keys:1");
    until("the server is to tell", || is_told().then_some(()));
    let looks = server.calls_of("evalsha");
    let (pause, cut) = (["CLIENT", "PAUSE", "2000", "WRITE"], ["PEXPIRE", "name", "500000"]);
    for command in [&["MULTI"][..], &pause, &cut, &["EXEC"]] {
        assert!(!server.command(command).is_error(), "{command:?}");
    }
    // The one that was given up, and the next.
    until("it is looked at again", || (server.calls_of("evalsha") >= looks + 2).then_some(()));
    server.command(&["DEL", "name"]);
    let finished = running.finish();
    assert_eq!(finished.code(), 74, "{:?}", finished.errors);
    assert!(!finished.said().contains("is not renewed"), "{:?}", finished.errors);
}

/// That it lacks is said, and no more: renewals find it.
#[test]
fn user_that_is_not_told_of_deletions_goes_on_without() {
    let server = RedisServer::start();
    server.cli(&["ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all", "-client|tracking"]);
    let running = run(&[server.url_with("app", "pw")], "-v --lease 9 -w 50", CLOCK).start();
    running.line();
    let said = until("it is said", || {
        Some(running.complaint()).filter(|line| line.contains("is not told at once"))
    });
    assert!(said.contains("the user lacks a permission"), "{said}");
    server.command(&["DEL", "name"]);
    let finished = running.finish();
    assert_eq!(finished.code(), 74, "{:?}", finished.errors);
    assert!(!finished.said().contains("is not told at once"), "once: {:?}", finished.errors);
}

#[test]
fn one_master_that_dies_ends_the_command_in_time() {
    let server = RedisServer::start();
    let running = clock(&[server.url()]);
    server.kill();
    let trouble = wall_clock();
    let finished = running.finish();
    assert_eq!(finished.code(), 74, "{:?}", finished.errors);
    assert_dead_in_time(&finished, trouble);
}

/// The supervisor of this palisade.
fn supervisor_of(running: &Running) -> i32 {
    let pid = running.pid();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.expect("readable");
    children.split_whitespace().next().and_then(|pid| pid.parse().ok()).expect("one child")
}

fn kill(pid: i32, signal: Signal) {
    let pid = rustix::process::Pid::from_raw(pid).expect("not zero");
    rustix::process::kill_process(pid, signal).expect("it is there");
}

#[test]
fn the_supervisor_is_killed() {
    let server = RedisServer::start();
    let script = format!("(trap '' TERM; setsid -w sh -c \"{CLOCK}\") & {CLOCK}");
    let running = run(&[server.url()], "-w 50", &script).start();
    running.line();
    kill(supervisor_of(&running), Signal::KILL);
    let finished = running.finish();
    assert_eq!(finished.code(), 71, "{:?}", finished.errors);
    assert!(finished.said().contains("supervisor has ended"), "{:?}", finished.errors);
    assert_eq!(server.keys(), Vec::<String>::new(), "released after the command was dead");
}

#[test]
fn the_supervisor_is_stopped_and_the_masters_die() {
    let server = RedisServer::start();
    let running = clock(&[server.url()]);
    kill(supervisor_of(&running), Signal::STOP);
    server.kill();
    let trouble = wall_clock();
    let finished = running.finish();
    assert_eq!(finished.code(), 74, "{:?}", finished.errors);
    assert_dead_in_time(&finished, trouble);
    // A little before the deadline, not once it has passed.
    assert!(finished.said().contains("did not act in time"), "{:?}", finished.errors);
    assert!(!finished.said().contains("was lost"), "{:?}", finished.errors);
}

#[test]
fn the_supervisor_is_stopped_for_a_while_and_nobody_minds() {
    let server = RedisServer::start();
    let mut running = run(&[server.url()], "--lease 9 -w 50", "echo up; read line; exit 3").start();
    assert_eq!(running.line(), "up");
    kill(supervisor_of(&running), Signal::STOP);
    let stopped = std::time::Instant::now();
    crate::support::until("a lease", || (stopped.elapsed() > Duration::from_secs(9)).then_some(()));
    kill(supervisor_of(&running), Signal::CONT);
    running.write("go\n");
    let finished = running.finish();
    assert_eq!((finished.code(), finished.said().as_str()), (3, ""));
}

#[test]
fn everything_called_palisade_is_killed() {
    // As `killall -9 palisade` does: the supervisor is not called that.
    let server = RedisServer::start();
    let running = clock(&[server.url()]);
    let supervisor = supervisor_of(&running);
    let name = std::fs::read_to_string(format!("/proc/{supervisor}/comm")).expect("readable");
    assert!(!name.contains("palisade"), "{name}");
}
