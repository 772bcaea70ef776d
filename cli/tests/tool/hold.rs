//! `palisade hold`, and the ways to write the command of `palisade run`.

use std::time::Duration;

use rustix::process::Signal;
use testkit::{Cluster, RedisServer};

use crate::support::{
    CLOCK, PALISADE, is_alive,
    tool::{Running, Tool, palisade, program, run},
    until, wall_clock,
};

fn hold(urls: &[String], options: &str) -> Tool {
    let mut words = vec!["hold"];
    words.extend(urls.iter().flat_map(|url| ["-s", url.as_str()]));
    words.extend(options.split_whitespace());
    words.push("name");
    palisade(&words)
}

/// A process that is none of palisade's, and that lives until its input ends.
fn stranger() -> Running {
    let stranger = program("sh", &["-c", "echo up; read line"]).start();
    assert_eq!(stranger.line(), "up");
    stranger
}

fn assert_held(urls: &[String]) {
    assert_eq!(run(urls, "-n", "true").finish().code(), 75);
}

fn assert_free(urls: &[String]) {
    assert_eq!(run(urls, "-n", "true").finish().code(), 0);
}

#[test]
fn lock_is_held_until_the_end_of_input() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let mut holder = hold(&urls, "--until-eof").start();
    let line = holder.line();
    assert!(line.starts_with("held name holder=") && !line.contains("token="), "{line}");
    holder.write("some input is no end\n");
    assert_held(&urls);
    assert_eq!(hold(&urls, "-n").finish().code(), 75);
    let held = holder.finish();
    assert_eq!((held.code(), held.output.len(), held.errors.len()), (0, 0, 0), "{held:?}");
    assert_free(&urls);
}

#[test]
fn lock_is_held_until_a_signal() {
    let server = RedisServer::start();
    let urls = [server.url()];
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut holder = hold(&urls, "").start();
        holder.line();
        assert_held(&urls);
        holder.signal(signal);
        assert_eq!(holder.ended_with(), 0, "{signal:?}");
        assert_free(&urls);
    }
    let other = hold(&urls, "").start();
    other.line();
    let mut waiter = hold(&urls, "").start();
    assert!(waiter.complaint().contains("waiting for name"));
    waiter.signal(Signal::TERM);
    assert_eq!(waiter.ended_with(), 128 + 15, "it was never held");
}

#[test]
fn ready_line_is_for_programs_too() {
    let cluster = Cluster::start(3).blessed();
    let holder = hold(&cluster.urls(), "--json --until-eof -w 50").start();
    let json: serde_json::Value = serde_json::from_str(&holder.line()).expect("JSON");
    assert_eq!(json["name"], "name");
    assert!(json["token"].as_u64().is_some_and(|token| token > 0), "{json}");
    assert_eq!(json["holders"][0], json["holder"]);
    let seen = palisade(&["inspect", "--json", "name"])
        .env("PALISADE_SERVERS", cluster.urls().join(","))
        .finish();
    assert!(seen.output.join("").contains(json["holder"].as_str().expect("text")), "{seen:?}");
    assert_eq!(holder.finish().code(), 0);
}

#[test]
fn ready_line_goes_to_the_descriptor_that_was_named() {
    let server = RedisServer::start();
    let file = server.folder().join("ready");
    let line = format!(
        "exec {PALISADE} hold -s {} --until-eof --ready-fd 7 name 7>{}",
        server.url(),
        file.display()
    );
    let holder = program("sh", &["-c", &line]).start();
    until("the line", || {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        (text.starts_with("held name holder=") && text.ends_with('\n')).then_some(())
    });
    let held = holder.finish();
    assert_eq!((held.code(), held.output.len()), (0, 0), "{held:?}");
    assert_eq!(hold(&[server.url()], "--ready-fd 99").finish().code(), 64);
}

#[test]
fn lock_is_held_until_a_process_has_ended() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let process = stranger();
    let mut holder = hold(&urls, &format!("--with-pid {}", process.pid())).start();
    holder.line();
    assert_held(&urls);
    process.finish();
    assert_eq!(holder.ended_with(), 0);
    assert_free(&urls);
    for wrong in ["--with-pid 0", "--with-pid 2147483647", "--kill", "--with-pid soon"] {
        assert_eq!(hold(&urls, wrong).finish().code(), 64, "{wrong}");
    }
}

#[test]
fn loss_is_74_and_the_process_lives_unless_it_is_to_be_killed() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let process = stranger();
    let with = format!("--lease 2s -w 50 --with-pid {}", process.pid());
    let mut holder = hold(&urls, &with).start();
    holder.line();
    server.flush();
    assert_eq!(holder.ended_with(), 74);
    assert!(holder.complaint().contains("name was lost"));
    assert!(is_alive(process.pid()));
    let mut holder = hold(&urls, &format!("{with} --kill")).start();
    holder.line();
    server.flush();
    assert_eq!(holder.ended_with(), 74);
    assert!(process.finish().died_of(Signal::KILL));
}

/// It ends before the key, of which the last was set before the server froze.
#[test]
fn process_is_asked_and_killed_before_the_lease_ends() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let process = program("sh", &["-c", CLOCK]).start();
    process.line();
    let options = format!("--lease 6 -w 50 --kill --with-pid {}", process.pid());
    let mut holder = hold(&urls, &options).start();
    holder.line();
    server.freeze();
    let trouble = wall_clock();
    let ended = process.finish();
    server.thaw();
    assert!(ended.died_of(Signal::KILL), "{:?}", ended.status);
    assert!(ended.output.contains(&"term".to_owned()), "SIGTERM came first");
    let last = ended.last_time();
    assert!(last < trouble + Duration::from_secs(6), "{:?} too long", last - trouble);
    assert_eq!(holder.ended_with(), 74);
    let told = holder.complaint();
    assert!(told.contains("could not be renewed (127.0.0.1:"), "{told}");
    assert!(told.ends_with("): the process was ended"), "{told}");
}

/// What was to end before the lock does is ended when the lock is given back.
#[test]
fn end_of_the_hold_ends_the_process_first_where_that_is_to_be_killed() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let process = stranger();
    let mut holder = hold(&urls, &format!("--kill --with-pid {}", process.pid())).start();
    holder.line();
    holder.signal(Signal::TERM);
    assert_eq!(holder.ended_with(), 0);
    assert!(process.finish().died_of(Signal::TERM));
    assert_free(&urls);
    let process = stranger();
    let options = format!("--kill --until-eof --with-pid {}", process.pid());
    let holder = hold(&urls, &options).start();
    holder.line();
    assert_eq!(holder.finish().code(), 0);
    assert!(process.finish().died_of(Signal::TERM));
    assert_free(&urls);
}

#[test]
fn command_is_a_line_or_begins_with_the_first_word_behind_the_name() {
    let server = RedisServer::start();
    let url = server.url();
    for (words, output) in [
        (&["name", "-c", "echo a b; exit 3"][..], "a b"),
        (&["-c", "echo $0; exit 3", "name"], "/bin/sh"),
        (
            &["name", "-n", "sh", "-c", "echo x $1 $2 $3; exit 3", "sh", "-n", "--", "-s"],
            "x -n -- -s",
        ),
        (&["name", "--", "sh", "-c", "echo $1; exit 3", "sh", "--"], "--"),
    ] {
        let ran = palisade(&[&["run", "-s", &url], words].concat()).finish();
        assert_eq!((ran.code(), ran.output.join(" ").as_str()), (3, output), "{words:?}: {ran:?}");
    }
    for wrong in [&["name", "-c", "true", "true"][..], &["name", "--nonsense", "true"], &["name"]] {
        let refused = palisade(&[&["run", "-s", &url], wrong].concat()).finish();
        assert_eq!(refused.code(), 64, "{wrong:?}: {refused:?}");
    }
}

/// A script that goes by the code is not to believe that it held it.
#[test]
fn what_ends_before_it_was_held_is_told() {
    let server = RedisServer::start();
    let urls = [server.url()];
    let holder = run(&urls, "-w 50", "echo held; read line").start();
    assert_eq!(holder.line(), "held");
    let never = palisade(&["hold", "-s", &urls[0], "--until-eof", "name"]).finish();
    assert_eq!((never.code(), never.output.len()), (1, 0), "{never:?}");
}

#[test]
fn ready_line_goes_to_what_is_open_or_nothing_is_asked() {
    // Whatever this process has inherited itself.
    let line = "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
        exec $PALISADE hold -s redis://127.0.0.1:1 --ready-fd $0 name";
    for number in 3..10 {
        let shell = program("sh", &["-c", line, &number.to_string()]);
        let refused = shell.env("PALISADE", PALISADE).finish();
        assert_eq!(refused.code(), 64, "{number}: {refused:?}");
        assert!(refused.said().contains("No such file"), "{number}: {refused:?}");
    }
}
