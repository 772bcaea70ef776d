//! Several masters, some of them down.

use std::time::Duration;

use testkit::Cluster;

use crate::support::tool::run;

/// Whatever ends soon has not waited as long as it was told to.
const SOON: Duration = Duration::from_secs(25);

#[test]
fn over_five_masters_it_starts_with_two_killed_and_not_with_three() {
    let cluster = Cluster::start(5).blessed();
    let urls = cluster.urls();
    for dead in 0..=2 {
        let finished = run(&urls, "-n", "exit 3").finish();
        assert_eq!(finished.code(), 3, "{dead} are dead: {finished:?}");
        cluster.kill(dead);
    }
    for options in ["-n", ""] {
        let finished = run(&urls, options, "exit 3").finish();
        assert_eq!(finished.code(), 69, "{finished:?}");
        assert!(finished.took < SOON, "{finished:?}");
        assert!(finished.said().contains("refused"), "{finished:?}");
    }
    let waited = run(&urls, "-w 6", "exit 3").finish();
    assert_eq!(waited.code(), 69, "{waited:?}");
    assert!(waited.took >= Duration::from_secs(6), "{waited:?}");
    assert!(waited.said().contains("too few servers answer"), "{waited:?}");
    for alive in [3, 4] {
        let keys = cluster.iter().nth(alive).expect("five").keys();
        assert!(!keys.contains(&"name".to_owned()), "left of what was not won: {keys:?}");
    }
}

#[test]
fn with_w_it_rides_out_an_outage() {
    let cluster = Cluster::start(3).blessed();
    cluster.kill(0);
    cluster.kill(1);
    let running = run(&cluster.urls(), "-w 80", "echo mine").start();
    assert!(running.complaint().contains("too few servers answer"));
    cluster.restart(0);
    cluster[0].bless();
    assert_eq!(running.line(), "mine");
    assert_eq!(running.finish().code(), 0);
}

#[test]
fn all_of_them_means_all() {
    let cluster = Cluster::start(3).blessed();
    let urls = cluster.urls();
    assert_eq!(run(&urls, "--all -n", "exit 3").finish().code(), 3);
    cluster.kill(2);
    assert_eq!(run(&urls, "--all -n", "exit 3").finish().code(), 69);
    assert_eq!(run(&urls, "-n", "exit 3").finish().code(), 3);
}

#[test]
fn a_wrong_password_is_78_at_once_and_says_so() {
    let server = testkit::RedisServer::builder().password("right").start();
    let url = |password| vec![server.url_with("default", password)];
    let refused = run(&url("wrong"), "-w 30", "true").finish();
    assert_eq!(refused.code(), 78, "{refused:?}");
    assert!(refused.took < SOON, "{refused:?}");
    assert!(refused.said().contains("credentials"), "{refused:?}");
    assert!(!refused.said().contains("wrong@"), "{refused:?}");
    assert_eq!(run(&url("right"), "-n", "exit 3").finish().code(), 3);
}

#[test]
fn a_missing_right_is_77_if_it_keeps_the_lock_from_being_granted() {
    let cluster = Cluster::start(3).blessed();
    for server in cluster.iter() {
        server.command(&["ACL", "SETUSER", "poor", "on", ">pw", "~*", "&*", "+@all", "-pexpire"]);
    }
    let poor: Vec<_> = cluster.iter().map(|server| server.url_with("poor", "pw")).collect();
    let refused = run(&poor, "-w 30", "true").finish();
    assert_eq!(refused.code(), 77, "{refused:?}");
    assert!(refused.took < SOON, "{refused:?}");
    // Of one server of three it is no reason to fail, and with another that is down it may pass.
    let mut urls = cluster.urls();
    urls[0].clone_from(&poor[0]);
    assert_eq!(run(&urls, "-n", "exit 3").finish().code(), 3);
    cluster.kill(1);
    let down = run(&urls, "-n", "exit 3").finish();
    assert_eq!(down.code(), 69, "{down:?}");
}

#[test]
fn a_number_of_a_database_that_is_not_there_is_78() {
    let server = testkit::RedisServer::start();
    let refused = run(&[format!("{}/99", server.url())], "-n", "true").finish();
    assert_eq!(refused.code(), 78, "{refused:?}");
}

#[test]
fn permits_wait_as_long_as_they_were_told_to_for_a_server_that_is_down() {
    let cluster = Cluster::start(1);
    let urls = cluster.urls();
    cluster.kill(0);
    let gave_up = run(&urls, "--permits 1 --of 2 -w 2", "true").finish();
    assert_eq!(gave_up.code(), 69, "{gave_up:?}");
    assert!(gave_up.took >= Duration::from_secs(2), "{gave_up:?}");
    let waiting = run(&urls, "--permits 1 --of 2 -w 80", "echo mine").start();
    cluster.restart_empty(0);
    assert_eq!(waiting.line(), "mine");
    assert_eq!(waiting.finish().code(), 0);
}

#[test]
fn two_addresses_of_one_server_are_wrong_use() {
    let server = testkit::RedisServer::start();
    let urls = vec![server.url(), format!("redis://localhost:{}", server.port())];
    let finished = run(&urls, "-n", "true").finish();
    assert_eq!(finished.code(), 64, "{finished:?}");
    assert_eq!(server.keys(), Vec::<String>::new());
}
