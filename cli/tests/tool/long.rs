//! Commands that hold their lock for long.

use testkit::RedisServer;

use crate::support::{
    tool::{palisade, run},
    until,
};

fn warning<'a>(url: &'a str, options: &[&'a str], script: &'a str) -> Vec<&'a str> {
    let words = [&["run", "-s", url][..], options, &["name", "--", "sh", "-c", script]];
    words.concat()
}

#[test]
fn it_is_said_that_a_lock_is_held_for_long_and_a_command_is_run_for_that() {
    let server = RedisServer::start();
    let url = server.url();
    let line = r#"echo "$PALISADE_NAME $PALISADE_HELD_MS $PALISADE_HOLDER $PALISADE_HOST""#;
    let options = ["--warn-held", "1s", "--on-warn", line];
    let script = "echo $PALISADE_HOLDER; read line";
    let holder = palisade(&warning(&url, &options, script)).start();
    let id = holder.line();
    assert!(holder.complaint().contains("name is held by this command for 1"));
    for least in [1_000, 2_000] {
        let said = holder.line();
        let [name, ms, by, host] = said.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{said}")
        };
        assert_eq!((name, by), ("name", &*id));
        let ms: u64 = ms.parse().unwrap();
        assert!(ms >= least, "{ms}");
        assert!(!host.is_empty());
    }
    assert_eq!(holder.finish().code(), 1, "the end of its input is an error of `read`");
}

/// What is run then is none of the command's, and has its time.
#[test]
fn what_is_run_then_outlives_the_command() {
    let server = RedisServer::start();
    let url = server.url();
    let options = ["--warn-held", "1s", "--on-warn", "echo begun; sleep 2; echo done"];
    let holder = palisade(&warning(&url, &options, "echo ran; read line")).start();
    assert_eq!([holder.line(), holder.line()], ["ran", "begun"]);
    let ended = holder.finish();
    assert_eq!(ended.code(), 1, "the end of its input is an error of `read`");
    assert_eq!(ended.output, ["done"]);
}

/// A lock that is lost ends the command, whatever is run meanwhile.
#[test]
fn what_is_run_then_delays_nothing() {
    let server = RedisServer::start();
    let url = server.url();
    let options = ["--warn-held", "1s", "--lease", "3s", "--on-warn", "echo begun; sleep 9"];
    let holder = palisade(&warning(&url, &options, "echo $$; read line")).start();
    let command: i32 = holder.line().parse().unwrap();
    assert_eq!(holder.line(), "begun");
    server.cli(&["DEL", "name"]);
    let is_dead = || (!crate::support::is_alive(command)).then_some(());
    let began = std::time::Instant::now();
    until("the command is killed", is_dead);
    assert!(began.elapsed() < std::time::Duration::from_secs(8));
    assert_eq!(holder.finish().code(), 74);
}

/// With all that it has begun, while the command goes on; or soon behind the command.
#[test]
fn what_is_run_then_is_killed_when_its_time_is_over() {
    let server = RedisServer::start();
    let url = server.url();
    let options = ["--warn-held", "1s", "--on-warn", "sleep 600 & echo $!; wait"];
    for (goes_on, least) in [(true, 29), (false, 4)] {
        let holder = palisade(&warning(&url, &options, "echo ran; read line")).start();
        assert_eq!(holder.line(), "ran");
        let sleeper: i32 = holder.line().parse().unwrap();
        let began = std::time::Instant::now();
        if goes_on {
            // Behind those after 1, 2, 4, 8 and 16 seconds.
            let said: Vec<String> = (0..6).map(|_| holder.complaint()).collect();
            assert!(said[5].contains("--on-warn has not ended in time: killed"), "{said:?}");
            assert!(began.elapsed() > std::time::Duration::from_secs(least));
            until("it is killed", || (!crate::support::is_alive(sleeper)).then_some(()));
            assert_eq!(holder.finish().code(), 1, "the command was left alone");
        } else {
            let ended = holder.finish();
            assert!(ended.took > std::time::Duration::from_secs(least), "{ended:?}");
            until("it is killed", || (!crate::support::is_alive(sleeper)).then_some(()));
        }
    }
}

#[test]
fn a_command_that_holds_its_lock_for_too_long_is_ended() {
    let server = RedisServer::start();
    let url = server.url();
    let folder = std::env::temp_dir().join(format!("palisade-long-{}", std::process::id()));
    let file = folder.to_str().unwrap();
    let options = ["--max-hold", "3s", "--grace", "1s", "--status-file", file];
    let script = "trap 'echo asked' TERM; echo ran; while :; do read line || sleep 0.1; done";
    let holder = palisade(&warning(&url, &options, script)).start();
    assert_eq!([holder.line(), holder.line()], ["ran", "asked"]);
    let ended = holder.finish();
    assert_eq!(ended.code(), 79, "{ended:?}");
    assert!(ended.said().contains("name was held for as long as --max-hold allows"), "{ended:?}");
    let status = std::fs::read_to_string(&folder).unwrap();
    assert!(status.contains(r#""outcome": "held too long""#), "{status}");
    std::fs::remove_file(&folder).unwrap();
    // It is free.
    let next = run(&[url], "-n", "echo ran").finish();
    assert_eq!(next.code(), 0, "{next:?}");
}

/// One that ends in time is left alone.
#[test]
fn a_command_that_ends_in_time_has_its_own_code() {
    let server = RedisServer::start();
    let url = server.url();
    let ended =
        palisade(&warning(&url, &["--max-hold", "1h", "--warn-held", "1h"], "exit 3")).finish();
    assert_eq!((ended.code(), ended.errors.len()), (3, 0), "{ended:?}");
}

#[test]
fn times_that_cannot_work_are_wrong_use() {
    let urls = ["redis://127.0.0.1:1".to_owned()];
    for options in [
        "--on-warn true",
        "--warn-held 0",
        "--warn-held 999ms",
        "--max-hold 1s",
        "--max-hold 3s --grace 3s",
        "--max-hold never",
    ] {
        let refused = run(&urls, options, "echo ran").finish();
        assert_eq!((refused.code(), refused.output.len()), (64, 0), "{options}: {refused:?}");
    }
}
