//! The command under the lock, while all is well.

use std::os::unix::{fs::PermissionsExt, process::ExitStatusExt};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use testkit::{Cluster, RedisServer};

use crate::support::tool::{palisade, run};

fn one() -> (RedisServer, Vec<String>) {
    let server = RedisServer::start();
    let urls = vec![server.url()];
    (server, urls)
}

#[test]
fn the_commands_exit_code_is_passed_on_and_the_lock_given_back() {
    let (server, urls) = one();
    for code in [0, 1, 3, 75, 255] {
        assert_eq!(run(&urls, "", &format!("exit {code}")).finish().code(), code);
        assert_eq!(server.keys(), Vec::<String>::new());
    }
    assert_eq!(run(&urls, "", "kill -TERM $$").finish().code(), 143);
    assert_eq!(run(&urls, "", "kill -KILL $$").finish().code(), 137);
    assert_eq!(server.keys(), Vec::<String>::new());
}

#[test]
fn commands_that_cannot_start_give_126_and_127_and_the_lock_back() {
    let (server, urls) = one();
    let start =
        |command| palisade(&["run", "-s", urls[0].as_str(), "name", "--", command]).finish();
    for (command, code) in [("/nonexistent", 127), ("/etc/passwd", 126), ("sleep 3", 127)] {
        let finished = start(command);
        assert_eq!(finished.code(), code, "{finished:?}");
    }
    let script = std::env::temp_dir().join(format!("palisade-script-{}", std::process::id()));
    std::fs::write(&script, "#!/nonexistent\n").expect("written");
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("ours");
    let finished = start(script.to_str().expect("plain"));
    assert_eq!(finished.code(), 126, "{finished:?}");
    assert!(finished.said().contains("bad interpreter"), "{finished:?}");
    std::fs::remove_file(&script).expect("ours");
    let hint = start("sleep 3");
    assert!(hint.said().contains("sh -c 'sleep 3'"), "{hint:?}");
    assert_eq!(server.keys(), Vec::<String>::new());
}

#[test]
fn input_output_and_errors_pass_through() {
    let (_server, urls) = one();
    let mut running = run(&urls, "-w 50", "echo up; cat; echo complaint >&2").start();
    assert_eq!(running.line(), "up");
    running.write("through\n");
    assert_eq!(running.line(), "through");
    let finished = running.finish();
    assert_eq!((finished.code(), finished.said().as_str()), (0, "complaint"));
}

#[test]
fn the_command_knows_its_lock_and_not_the_servers() {
    let (_server, urls) = one();
    let script = "echo $PALISADE_LOCK; echo $PALISADE_HOLDER; echo servers: $PALISADE_SERVERS";
    let words = |extra: &[&str]| {
        let mut words = vec!["run"];
        words.extend(extra);
        words.extend(["some name", "--", "sh", "-c", script]);
        palisade(&words).env("PALISADE_SERVERS", &urls[0]).finish().output
    };
    let output = words(&[]);
    assert_eq!(output[0], "some name");
    assert_eq!(output[1].split(':').nth(1), Some("1"), "{output:?}");
    assert_eq!(output[2], "servers:");
    assert_eq!(words(&["--keep-env"])[2], format!("servers: {}", urls[0]));
}

#[test]
fn held_elsewhere_is_75_at_once_or_after_the_wait_and_the_holder_is_named() {
    let (_server, urls) = one();
    let holder = run(&urls, "-w 50", "echo $PALISADE_HOLDER; read line").start();
    let id = holder.line();

    let at_once = run(&urls, "-n", "true").finish();
    assert_eq!(at_once.code(), 75);
    assert!(at_once.said().contains(&id), "{at_once:?}");
    assert_eq!(run(&urls, "-n -E 9", "true").finish().code(), 9);
    let quiet = run(&urls, "-n -E 0", "echo ran").finish();
    assert_eq!((quiet.code(), quiet.said().as_str(), quiet.output.len()), (0, "", 0));

    let waited = run(&urls, "-w 6", "true").finish();
    assert_eq!(waited.code(), 75);
    assert!(waited.took >= Duration::from_secs(6), "{waited:?}");
    let notice = &waited.errors[0];
    let who = format!("pid {} ({id})", holder.pid());
    assert!(notice.contains("waiting for name: held by ") && notice.contains(&who), "{notice}");
    assert!(notice.contains("ttl "), "{notice}");
}

#[test]
fn without_a_limit_it_waits_until_the_lock_is_free() {
    let (_server, urls) = one();
    let mut holder = run(&urls, "-w 50", "echo up; read line").start();
    assert_eq!(holder.line(), "up");
    let waiter = run(&urls, "", "echo mine").start();
    assert!(waiter.complaint().contains("waiting for name"));
    holder.write("go\n");
    assert_eq!(holder.finish().code(), 0);
    assert_eq!(waiter.line(), "mine");
    assert_eq!(waiter.finish().code(), 0);
}

#[test]
fn a_signal_ends_the_wait() {
    let (server, urls) = one();
    let mut holder = run(&urls, "-w 50", "echo up; read line").start();
    assert_eq!(holder.line(), "up");
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        let waiter = run(&urls, "", "echo mine").start();
        assert!(waiter.complaint().contains("waiting for name"));
        waiter.signal(signal);
        let finished = waiter.finish();
        // Those that a terminal sends it dies of: a script that it is a part of is to end with it.
        let died = [Signal::INT, Signal::QUIT].contains(&signal);
        let expected = if died { None } else { Some(128 + signal.as_raw()) };
        assert_eq!((finished.status.code(), finished.output.len()), (expected, 0));
        assert_eq!(finished.status.signal(), died.then_some(signal.as_raw()));
    }
    holder.write("go\n");
    assert_eq!(holder.finish().code(), 0);
    assert_eq!(server.keys(), Vec::<String>::new());
}

#[test]
fn signals_are_passed_on_to_the_whole_group() {
    let (_server, urls) = one();
    for (signal, name) in [
        (Signal::INT, "INT"),
        (Signal::TERM, "TERM"),
        (Signal::HUP, "HUP"),
        (Signal::QUIT, "QUIT"),
        (Signal::USR1, "USR1"),
    ] {
        // The outer shell gets its own copy, and minds it when the inner one has ended.
        let script = format!(
            "trap 'echo outer' {name}; \
             sh -c 'trap \"echo inner; exit\" {name}; echo up; while :; do sleep 0.01; done'; \
             exit 4"
        );
        let running = run(&urls, "-w 50", &script).start();
        assert_eq!(running.line(), "up");
        running.signal(signal);
        let finished = running.finish();
        assert_eq!(finished.code(), 4, "{name}: {finished:?}");
        assert_eq!(finished.output, ["inner", "outer"], "{name}");
    }
}

/// As systemd does, which signals every process of a unit.
#[test]
fn a_signal_to_all_of_the_unit_reaches_the_command_once() {
    // What comes a quarter of a second later is another signal, and so late is a busy machine now and then.
    let tries: Vec<_> = (0..3).map(|_| signal_a_unit()).collect();
    assert!(tries.contains(&0), "the command got so many more: {tries:?}");
}

/// How many signals its command got beside the first.
fn signal_a_unit() -> usize {
    let (_server, urls) = one();
    let script = "trap 'echo term' TERM; trap 'exit 7' HUP; echo up $$ $PPID; \
                  while :; do sleep 0.01 & wait; done";
    let running = run(&urls, "", script).start();
    let up = running.line();
    let pids: Vec<i32> = up.split(' ').skip(1).map(|pid| pid.parse().expect("a number")).collect();
    let [command, supervisor] = pids[..] else { panic!("{up}") };
    let send = |pid| {
        kill_process(Pid::from_raw(pid).expect("not zero"), Signal::TERM).expect("it is there");
    };
    // Another that comes before it has taken this one would be none.
    send(command);
    assert_eq!(running.line(), "term");
    send(running.pid());
    send(supervisor);
    // What is to be passed on is passed on before this is.
    running.signal(Signal::HUP);
    let finished = running.finish();
    assert_eq!(finished.code(), 7, "{finished:?}");
    finished.output.len()
}

#[test]
fn a_nested_run_of_the_same_lock_is_wrong_use_and_another_lock_is_not() {
    let cluster = Cluster::start(3).blessed();
    let urls = cluster.urls();
    let nested = |name: &str, options: &str| {
        let servers: String = urls.iter().map(|url| format!("-s {url} ")).collect();
        let program = crate::support::PALISADE;
        format!("{program} run {servers} {options} {name} -- echo inner")
    };
    for options in ["", "-n", "-w 5"] {
        let finished = run(&urls, "", &nested("name", options)).finish();
        assert_eq!(finished.code(), 64, "{finished:?}");
        assert!(finished.said().contains("already held"), "{finished:?}");
    }
    let other = run(&urls, "", &nested("other", "")).finish();
    assert_eq!((other.code(), other.output.as_slice()), (0, ["inner".to_owned()].as_slice()));
    // Also when another lock is in between.
    let script = nested("other", "").replace("echo inner", &nested("name", ""));
    assert_eq!(run(&urls, "", &script).finish().code(), 64);
}

#[test]
fn what_the_command_leaves_behind_is_ended_before_the_lock_goes() {
    let (server, urls) = one();
    let finished = run(&urls, "", "sleep 3601 & echo $!; exit 3").finish();
    assert_eq!(finished.code(), 3);
    assert!(finished.said().contains("left 1 process behind"), "{finished:?}");
    assert_eq!(server.keys(), Vec::<String>::new());
}

#[test]
fn no_process_is_left_not_even_a_dead_one() {
    let (_server, urls) = one();
    let script = "echo $$; echo $PPID; (sleep 0 & echo $!); exit 3";
    let finished = run(&urls, "", script).finish();
    assert_eq!((finished.code(), finished.output.len()), (3, 3));
    for pid in &finished.output {
        let path = format!("/proc/{pid}");
        assert!(!std::path::Path::new(&path).exists(), "{path} is there");
    }
}

#[test]
fn ignored_signals_stay_ignored() {
    let (_server, urls) = one();
    let script = format!(
        "trap '' HUP; exec {} run -s {} name -- sh -c 'echo up; read line; echo on'",
        crate::support::PALISADE,
        urls[0]
    );
    let mut nohup = crate::support::tool::program("sh", &["-c", &script]).start();
    assert_eq!(nohup.line(), "up");
    nohup.signal(Signal::HUP);
    nohup.write("go\n");
    assert_eq!(nohup.line(), "on");
    assert_eq!(nohup.finish().code(), 0);
}

/// A name may begin with a dash.
#[test]
fn command_is_what_stands_behind_the_second_dashes() {
    let server = RedisServer::start();
    let url = server.url();
    for words in
        [&["--", "-name", "--", "echo", "--", "ran"][..], &["--", "-name", "echo", "--", "ran"]]
    {
        let ran = palisade(&[&["run", "-n", "-s", &url][..], words].concat()).finish();
        assert_eq!((ran.code(), &*ran.output), (0, &["-- ran".to_owned()][..]), "{ran:?}");
    }
}
