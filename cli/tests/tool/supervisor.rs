//! The supervisor alone, fed by a pipe: no lock, no server.

use std::{
    io::Write,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{
    CLOCK, is_alive, last_time, read_line, read_to_end, supervisor::Supervisor, until, wall_clock,
    within_limit,
};

const LONG: Duration = Duration::from_secs(3600);
/// So long that a shell that was asked to end can say so.
const GRACE: Duration = Duration::from_secs(4);

/// Says `up`, and `term` when asked to end, which it does not.
const STUBBORN: &str = "trap 'echo term' TERM; echo up; while :; do sleep 0.01; done";

fn kill(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).expect("a process number"), signal).expect("it is there");
}

#[test]
fn the_exit_status_is_reported() {
    let supervisor = Supervisor::start(LONG, GRACE, "exit 7");
    supervisor.begin();
    assert_eq!(supervisor.hear(), "ended exit 7 itself 0 0");
    assert_eq!(supervisor.hear(), "", "the supervisor has ended");
}

#[test]
fn death_by_a_signal_is_reported() {
    let supervisor = Supervisor::start(LONG, GRACE, "kill -SEGV $$");
    supervisor.begin();
    assert_eq!(supervisor.hear(), "ended signal 11 itself 0 0");
}

#[test]
fn standard_input_is_passed_through() {
    let (read, write) = std::io::pipe().expect("a pipe");
    let stdin = Some(OwnedFd::from(read));
    let mut supervisor = Supervisor::start_command(LONG, GRACE, &["cat"], stdin);
    let mut write = write;
    write.write_all(b"through").expect("cat reads");
    drop(write);
    supervisor.begin();
    assert_eq!(supervisor.hear(), "ended exit 0 itself 0 0");
    assert_eq!(read_to_end(supervisor.stdout()), "through");
}

#[test]
fn the_command_does_not_begin_before_it_is_told_to() {
    let mut supervisor = Supervisor::start(LONG, GRACE, "echo began");
    assert!(supervisor.hear().starts_with("ready "));
    let output = supervisor.stdout();
    supervisor.send("kill");
    assert_eq!(supervisor.hear(), "ended signal 9 gone 0 0");
    assert_eq!(read_to_end(output), "");
}

#[test]
fn the_end_of_palisade_ends_the_group_with_term_and_then_kill() {
    let mut supervisor = Supervisor::start(LONG, GRACE, STUBBORN);
    supervisor.begin();
    let (up, output) = read_line(supervisor.stdout());
    assert_eq!(up, "up");
    let hung_up = Instant::now();
    let mut process = supervisor.hang_up();
    assert_eq!(read_to_end(output), "term\n");
    assert!(hung_up.elapsed() >= GRACE);
    within_limit("the supervisor's end", move || process.wait()).expect("our child");
}

#[test]
fn near_the_deadline_term_comes_a_grace_before_kill() {
    let (lease, grace) = (Duration::from_secs(10), Duration::from_secs(5));
    let earliest = wall_clock() + lease;
    let mut supervisor = Supervisor::start(lease, grace, CLOCK);
    let latest = wall_clock() + lease;
    supervisor.begin();
    let output = supervisor.stdout();
    assert_eq!(supervisor.hear(), "asked");
    assert!(wall_clock() >= earliest - grace - Duration::from_millis(100), "not too early");
    assert_eq!(supervisor.hear(), "ended signal 9 deadline 0 0");
    let lines = read_to_end(output);
    assert!(lines.contains("term"), "there was time to see SIGTERM");
    let last = last_time(lines.lines());
    assert!(last < latest - Duration::from_millis(50), "ran until {last:?} of {latest:?}");
}

#[test]
fn a_command_that_heeds_term_is_not_killed() {
    let script = "trap 'exit 5' TERM; while :; do sleep 0.01; done";
    let supervisor = Supervisor::start(Duration::from_secs(10), Duration::from_secs(5), script);
    supervisor.begin();
    assert_eq!(supervisor.hear(), "asked");
    assert_eq!(supervisor.hear(), "ended exit 5 deadline 0 0");
}

#[test]
fn a_stopped_command_is_continued_so_that_it_sees_term() {
    let script = "trap 'exit 5' TERM; kill -STOP $$; while :; do sleep 0.01; done";
    let supervisor = Supervisor::start(Duration::from_secs(10), Duration::from_secs(5), script);
    supervisor.begin();
    assert_eq!(supervisor.hear(), "stopped 19");
    assert_eq!(supervisor.hear(), "asked");
    assert_eq!(supervisor.hear(), "ended exit 5 deadline 0 0");
}

#[test]
fn a_new_deadline_puts_off_the_end() {
    let lease = Duration::from_secs(6);
    let (stdin, mut go) = std::io::pipe().expect("a pipe");
    let command = ["sh", "-c", "read line; exit 4"];
    let supervisor = Supervisor::start_command(lease, GRACE, &command, Some(stdin.into()));
    let started = Instant::now();
    supervisor.begin();
    supervisor.safe_for(LONG);
    until("the first deadline", || (started.elapsed() > lease).then_some(()));
    go.write_all(b"\n").expect("the shell reads");
    assert_eq!(supervisor.hear(), "ended exit 4 itself 0 0");
}

#[test]
fn a_lock_that_is_gone_kills_at_once_and_without_term() {
    let mut supervisor = Supervisor::start(LONG, LONG / 2, STUBBORN);
    supervisor.begin();
    let (up, output) = read_line(supervisor.stdout());
    assert_eq!(up, "up");
    supervisor.send("kill");
    assert_eq!(supervisor.hear(), "ended signal 9 gone 0 0");
    assert_eq!(read_to_end(output), "");
}

#[test]
fn kill_reaches_descendants_in_other_groups_and_sessions() {
    let script = "setsid sleep 3601 & setsid -f sleep 3602; echo up; sleep 3603";
    let mut supervisor = Supervisor::start(LONG, GRACE, script);
    supervisor.begin();
    let (up, output) = read_line(supervisor.stdout());
    assert_eq!(up, "up");
    supervisor.send("kill");
    assert_eq!(supervisor.hear(), "ended signal 9 gone 0 0");
    assert_eq!(read_to_end(output), "", "all who held the output are dead");
}

#[test]
fn what_the_command_leaves_in_its_group_is_ended_with_it() {
    let script = "sleep 3601 & (trap '' TERM; sleep 3602 & echo up; wait) & read line; exit 3";
    let (stdin, mut go) = std::io::pipe().expect("a pipe");
    let mut supervisor =
        Supervisor::start_command(LONG, GRACE, &["sh", "-c", script], Some(stdin.into()));
    supervisor.begin();
    let (up, output) = read_line(supervisor.stdout());
    assert_eq!(up, "up");
    let ended = Instant::now();
    go.write_all(b"\n").expect("the shell reads");
    let report = supervisor.hear();
    // The shell that ignores SIGTERM, its sleep, and the other sleep.
    assert_eq!(report, "ended exit 3 itself 3 0");
    assert!(ended.elapsed() >= GRACE, "one of them ignored SIGTERM");
    assert_eq!(read_to_end(output), "");
}

#[test]
fn a_daemon_in_its_own_session_outlives_the_command_that_ends_by_itself() {
    let script = "trap 'exit 0' USR1; setsid -f sh -c 'echo up; read line; echo on'; \
                  while :; do sleep 0.01; done";
    let (stdin, mut go) = std::io::pipe().expect("a pipe");
    let command = ["sh", "-c", script];
    let mut supervisor = Supervisor::start_command(LONG, GRACE, &command, Some(stdin.into()));
    supervisor.begin();
    let (_up, output) = read_line(supervisor.stdout());
    supervisor.send("signal 10");
    assert_eq!(supervisor.hear(), "ended exit 0 itself 0 0");
    go.write_all(b"\n").expect("the daemon reads");
    assert_eq!(read_to_end(output), "on\n");
}

#[test]
fn a_daemon_whose_parent_ends_before_it_has_a_session_is_let_go() {
    let script =
        "exec 3<&0; (sleep 0.3; exec setsid sh -c 'echo up; read line; echo on' <&3) & exit 3";
    let (stdin, mut go) = std::io::pipe().expect("a pipe");
    let command = ["sh", "-c", script];
    let mut supervisor = Supervisor::start_command(LONG, GRACE, &command, Some(stdin.into()));
    supervisor.begin();
    assert_eq!(supervisor.hear(), "ended exit 3 itself 0 0");
    let (up, output) = read_line(supervisor.stdout());
    assert_eq!(up, "up");
    go.write_all(b"\n").expect("the daemon reads");
    assert_eq!(read_to_end(output), "on\n");
}

#[test]
fn nothing_the_command_has_started_outlives_one_that_is_ended() {
    let script = "setsid sh -c 'echo up; exec sleep 3601' & wait";
    let mut supervisor = Supervisor::start(Duration::from_secs(10), Duration::from_secs(5), script);
    supervisor.begin();
    let (_up, output) = read_line(supervisor.stdout());
    assert_eq!(supervisor.hear(), "asked");
    assert_eq!(supervisor.hear(), "ended signal 15 deadline 0 0");
    assert_eq!(read_to_end(output), "", "all who held the output are dead");
}

#[test]
fn stops_are_reported_and_signals_passed_on() {
    // No other process: one that is stopped between vfork and exec keeps its parent from stopping.
    let script = "trap 'echo usr1' USR1; trap 'exit 6' INT; echo up; while :; do read line; done";
    let (stdin, _open) = std::io::pipe().expect("a pipe");
    let mut supervisor =
        Supervisor::start_command(LONG, GRACE, &["sh", "-c", script], Some(stdin.into()));
    supervisor.begin();
    let (up, output) = read_line(supervisor.stdout());
    assert_eq!(up, "up");
    for _ in 0..3 {
        supervisor.send("signal 20");
        assert_eq!(supervisor.hear(), "stopped 20");
        supervisor.send("signal 18");
        supervisor.send("signal 10");
    }
    let (usr1, output) = read_line(output);
    assert_eq!(usr1, "usr1");
    supervisor.send("signal 2");
    assert_eq!(supervisor.hear(), "ended exit 6 itself 0 0");
    drop(output);
}

#[test]
fn signals_sent_to_the_supervisor_itself_reach_the_command() {
    let mut supervisor = Supervisor::start(LONG, GRACE, "echo up; exec sleep 3601");
    supervisor.begin();
    let _up = read_line(supervisor.stdout());
    let pid = i32::try_from(supervisor.process.id()).expect("a process number");
    kill(pid, Signal::TSTP);
    kill(pid, Signal::TERM);
    assert_eq!(supervisor.hear(), "ended signal 15 itself 0 0");
}

#[test]
fn the_death_of_the_supervisor_kills_the_command() {
    let mut supervisor =
        Supervisor::start(LONG, GRACE, "trap '' TERM HUP; echo up; exec sleep 3601");
    let command = supervisor.begin();
    let (_up, output) = read_line(supervisor.stdout());
    supervisor.process.kill().expect("it is there");
    assert_eq!(read_to_end(output), "");
    until("the command is dead", || (!is_alive(command)).then_some(()));
}

#[test]
fn orphans_are_reaped_while_the_command_runs() {
    let script = "(sleep 0.05 & echo $!); read line";
    let (stdin, go) = std::io::pipe().expect("a pipe");
    let mut supervisor =
        Supervisor::start_command(LONG, GRACE, &["sh", "-c", script], Some(stdin.into()));
    supervisor.begin();
    let (orphan, _output) = read_line(supervisor.stdout());
    let path = format!("/proc/{orphan}");
    until("the orphan is reaped", || (!std::path::Path::new(&path).exists()).then_some(()));
    drop(go);
    assert_eq!(supervisor.hear(), "ended exit 1 itself 0 0");
}

#[test]
fn commands_that_cannot_start_get_the_codes_of_a_shell() {
    for (command, code, words) in [
        ("/nonexistent/command", 127, "command not found"),
        ("/etc/passwd", 126, "ermission denied"),
        ("/etc", 126, "ermission denied"),
        ("echo hello", 127, "use: sh -c 'echo hello'"),
    ] {
        let mut supervisor = Supervisor::start_command(LONG, GRACE, &[command], None);
        supervisor.begin();
        assert_eq!(supervisor.hear(), format!("ended exit {code} itself 0 0"));
        let said = read_to_end(supervisor.stderr());
        assert!(said.contains(command) && said.contains(words), "{said}");
    }
}
