//! Servers that have just started, and the word that they are new.

use std::time::{Duration, Instant};

use testkit::Cluster;

use crate::support::tool::{Finished, palisade, run};

/// Their votes count after more than a minute: whatever ends soon has not waited for that.
const SOON: Duration = Duration::from_secs(25);

/// Distinct from the code of an outage.
const NOT_YET: i32 = 73;

fn bless(urls: &[String], more: &[&str]) -> Finished {
    let mut words = vec!["bless"];
    words.extend(urls.iter().flat_map(|url| ["-s", url.as_str()]));
    words.extend(more);
    if more != ["--force"] {
        words.push("--new");
    }
    palisade(&words).finish()
}

#[test]
fn a_fleet_that_has_just_started_does_not_vote_and_says_so_at_once() {
    let cluster = Cluster::start(3);
    for all in ["", "--all"] {
        let young = run(&cluster.urls(), &format!("-n {all}"), "exit 3").finish();
        assert_eq!(young.code(), NOT_YET, "{young:?}");
        assert!(young.took < SOON, "{young:?}");
        let said = young.said();
        assert!(said.contains("3 of 3 masters started"), "{said}");
        assert!(said.contains("if they never held a lock, bless them"), "{said}");
    }
    let keys: Vec<_> = cluster.iter().flat_map(testkit::RedisServer::keys).collect();
    assert_eq!(keys, Vec::<String>::new(), "nothing was asked of them");
}

#[test]
fn an_outage_has_another_exit_code_than_servers_that_do_not_vote_yet() {
    let cluster = Cluster::start(3);
    cluster.kill(0);
    cluster.kill(1);
    let down = run(&cluster.urls(), "-n", "exit 3").finish();
    assert_eq!(down.code(), 69, "{down:?}");
    cluster.restart_empty(0);
    let young = run(&cluster.urls(), "-n", "exit 3").finish();
    assert_eq!(young.code(), NOT_YET, "{young:?}");
    assert!(!young.said().contains("bless"), "one of them has come back: {young:?}");
}

#[test]
fn which_servers_are_waited_for_is_the_users_to_say() {
    let cluster = Cluster::start(3);
    let granted = run(&cluster.urls(), "-n --quarantine durable", "exit 3").finish();
    assert_eq!(granted.code(), 3, "{granted:?}");
    let one = &cluster.urls()[..1];
    for options in ["--quarantine always", "--quarantine strict"] {
        let young = run(one, &format!("-n {options}"), "exit 3").finish();
        assert_eq!(young.code(), NOT_YET, "{options}: {young:?}");
    }
    let by_env = run(one, "-n", "exit 3").env("PALISADE_QUARANTINE", "always").finish();
    assert_eq!(by_env.code(), NOT_YET, "{by_env:?}");
}

#[test]
fn one_server_alone_votes_at_once() {
    let cluster = Cluster::start(1);
    assert_eq!(run(&cluster.urls(), "-n", "exit 3").finish().code(), 3);
}

#[test]
fn blessed_masters_vote_at_once_until_they_are_restarted() {
    let cluster = Cluster::start(3);
    let urls = cluster.urls();
    let blessed = bless(&urls, &[]);
    assert_eq!(blessed.code(), 0, "{blessed:?}");
    assert_eq!(run(&urls, "-n", "exit 3").finish().code(), 3);

    cluster.kill(0);
    cluster.restart_empty(0);
    assert_eq!(run(&urls, "-n", "exit 3").finish().code(), 3, "two of three are enough");
    let all = run(&urls, "--all -n", "exit 3").finish();
    assert_eq!(all.code(), NOT_YET, "{all:?}");
    assert!(all.said().contains("1 of 3 masters started"), "{all:?}");
}

#[test]
fn who_waits_is_told_at_once_and_goes_on_when_somebody_blesses() {
    let cluster = Cluster::start(3);
    let urls = cluster.urls();
    let waiting = run(&urls, "-w 100", "echo mine").start();
    assert!(waiting.complaint().contains("their votes count in"));
    assert!(waiting.started.elapsed() < SOON);
    assert_eq!(bless(&urls, &[]).code(), 0);
    assert_eq!(waiting.line(), "mine");
    assert_eq!(waiting.finish().code(), 0);
}

#[test]
fn a_wait_that_ends_before_the_votes_count_is_not_begun() {
    let cluster = Cluster::start(3);
    let waited = run(&cluster.urls(), "-w 30", "exit 3").finish();
    assert_eq!(waited.code(), NOT_YET, "{waited:?}");
    assert!(waited.took < SOON, "{waited:?}");
    assert_eq!(waited.errors.len(), 1, "said once: {waited:?}");
}

#[test]
fn with_a_short_longest_lease_of_all_it_is_a_matter_of_seconds() {
    let born = Instant::now();
    let cluster = Cluster::start(3);
    // 4.04 s for the lease, 1 s for the precision of the uptime, 5 s for clocks.
    let finished = run(&cluster.urls(), "--fleet-max-lease 4 -w 50", "exit 3").finish();
    assert_eq!(finished.code(), 3, "{finished:?}");
    assert!(born.elapsed() > Duration::from_secs(8), "{finished:?}");
}

#[test]
fn what_was_blessed_before_is_not_new() {
    let cluster = Cluster::start(3);
    let urls = cluster.urls();
    assert_eq!(bless(&urls[..2], &[]).code(), 0);
    let again = bless(&urls, &[]);
    assert_eq!(again.code(), 1, "{again:?}");
    let forced = bless(&urls, &["--force"]);
    assert_eq!(forced.code(), 0, "{forced:?}");
    assert!(forced.said().contains("was blessed before"), "{forced:?}");
    let newcomer = format!("{}/0: its vote does not count for", cluster[2].addr());
    assert!(forced.said().contains(&newcomer), "each that may have forgotten locks: {forced:?}");
    assert_eq!(run(&urls, "-n --all", "exit 3").finish().code(), 3);
}

/// A script cannot know it: servers that come back after a crash look as new as these.
#[test]
fn without_a_terminal_to_ask_at_bless_needs_the_word() {
    let cluster = Cluster::start(3);
    let urls = cluster.urls();
    let mut words = vec!["bless"];
    words.extend(urls.iter().flat_map(|url| ["-s", url.as_str()]));
    let refused = palisade(&words).finish();
    assert_eq!(refused.code(), 64, "{refused:?}");
    assert!(refused.said().contains("--new says"), "{refused:?}");
    assert!(refused.said().contains("running for"), "{refused:?}");
    let young = run(&urls, "-n", "exit 3").finish();
    assert_eq!(young.code(), NOT_YET, "nothing was written: {young:?}");
}

#[test]
fn a_server_that_is_not_there_cannot_be_blessed_and_the_others_are_not() {
    let cluster = Cluster::start(3);
    let urls = cluster.urls();
    cluster.kill(2);
    let refused = bless(&urls, &[]);
    assert_eq!(refused.code(), 69, "{refused:?}");
    for server in cluster.iter().take(2) {
        assert_eq!(server.keys(), Vec::<String>::new());
    }
}

#[test]
fn a_longer_max_lease_than_the_blessed_one_is_wrong_use() {
    let cluster = Cluster::start(3);
    let urls = cluster.urls();
    assert_eq!(bless(&urls, &["--fleet-max-lease", "40s"]).code(), 0);
    for (options, code) in [("--max-lease 40s", 3), ("", 64)] {
        let finished = run(&urls, &format!("-n {options}"), "exit 3").finish();
        assert_eq!(finished.code(), code, "{finished:?}");
    }
    let by_env = run(&urls, "-n", "exit 3").env("PALISADE_MAX_LEASE", "40").finish();
    assert_eq!(by_env.code(), 3, "{by_env:?}");
}

#[test]
fn a_server_that_cannot_be_written_to_is_not_called_old() {
    let cluster = Cluster::start(2);
    cluster[1].cli(&["ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all", "-set"]);
    let urls = [cluster[0].url(), cluster[1].url_with("app", "pw")];
    let refused = bless(&urls, &[]);
    assert_eq!(refused.code(), 77, "{refused:?}");
    assert!(!refused.said().contains("pw@"), "{refused:?}");
}
