//! Masters that are restarted empty, one after the other, while commands hold locks.

use testkit::{Cluster, RedisServer, SlotCluster};

use crate::support::tool::{Finished, Running, palisade};

/// The shortest wait after a start that there is.
const FLEET: [&str; 6] = ["--fleet-max-lease", "4s", "--max-lease", "4s", "--clock-skew", "500ms"];

fn fleet() -> Cluster {
    let cluster = Cluster::start(3);
    let urls = cluster.urls();
    let servers: Vec<&str> = urls.iter().flat_map(|url| ["-s", url.as_str()]).collect();
    let words = [&["bless", "--new"][..], &FLEET, &servers].concat();
    assert_eq!(palisade(&words).finish().code(), 0);
    cluster
}

/// Commands that run until their input ends.
fn jobs(cluster: &Cluster, count: usize) -> Vec<Running> {
    let urls = cluster.urls();
    let servers: Vec<&str> = urls.iter().flat_map(|url| ["-s", url.as_str()]).collect();
    let job = |number: usize| {
        let name = format!("job-{number}");
        let command = [&*name, "--", "sh", "-c", "echo runs; read line; exit 0"];
        let words =
            [&["run", "-w", "50", "--lease", "3s"][..], &FLEET, &servers, &command].concat();
        palisade(&words).start()
    };
    let jobs: Vec<_> = (0..count).map(job).collect();
    jobs.iter().for_each(|job| assert_eq!(job.line(), "runs"));
    jobs
}

fn wait_safe(urls: &[String], options: &[&str]) -> Finished {
    let servers: Vec<&str> = urls.iter().flat_map(|url| ["-s", url.as_str()]).collect();
    palisade(&[&["doctor"][..], options, &FLEET, &servers].concat()).finish()
}

#[test]
fn masters_that_are_restarted_when_it_is_safe_cost_no_command_its_lock() {
    let cluster = fleet();
    let jobs = jobs(&cluster, 20);
    for master in 0..3 {
        let safe = wait_safe(&cluster.urls(), &["--wait-safe=60s"]);
        assert_eq!(safe.code(), 0, "{safe:?}");
        cluster.kill(master);
        cluster.restart_empty(master);
    }
    let codes: Vec<_> = jobs.into_iter().map(|job| job.finish().code()).collect();
    assert_eq!(codes, [0; 20]);
}

/// Those that come back before the next one goes get what they forgot written again; the next one went too early.
#[test]
fn second_master_that_goes_before_the_first_is_back_costs_locks() {
    let cluster = fleet();
    let jobs = jobs(&cluster, 20);
    cluster.kill(0);
    cluster.kill(1);
    let lost = |mut job: Running| job.ended_with();
    assert_eq!(jobs.into_iter().map(lost).collect::<Vec<_>>(), [74; 20]);
}

#[test]
fn what_a_majority_has_and_another_server_lacks_is_waited_for() {
    let cluster = fleet();
    let holder = "01234567-89ab-4cde-8123-456789abcdef:1";
    let hold = |master: usize, name: &str| {
        cluster[master].cli(&["HSET", name, holder, "1"]);
        cluster[master].cli(&["PEXPIRE", name, "600000"]);
    };
    (0..3).for_each(|master| hold(master, "complete"));
    hold(1, "few");
    let safe = wait_safe(&cluster.urls(), &["--wait-safe=30s"]);
    assert_eq!(safe.code(), 0, "{safe:?}");
    assert!(safe.said().contains("few on 1 of 3"), "{safe:?}");
    let strict = wait_safe(&cluster.urls(), &["--wait-safe=0", "--strict"]);
    assert_eq!(strict.code(), 1, "{strict:?}");
    hold(2, "few");
    let partial = wait_safe(&cluster.urls(), &["--wait-safe=0"]);
    assert_eq!(partial.code(), 1, "{partial:?}");
    assert!(partial.said().contains("few on 2 of 3"), "{partial:?}");
    hold(0, "few");
    assert_eq!(wait_safe(&cluster.urls(), &["--wait-safe=30s", "--fast"]).code(), 0);
}

#[test]
fn server_that_is_gone_or_has_no_vote_is_waited_for() {
    let cluster = fleet();
    cluster.kill(2);
    let gone = wait_safe(&cluster.urls(), &["--wait-safe=0"]);
    assert_eq!(gone.code(), 1, "{gone:?}");
    assert!(gone.said().contains("refused"), "{gone:?}");
    let address = cluster.urls().pop().expect("there are three").replace("redis://", "");
    assert_eq!(gone.said().matches(&address).count(), 1, "it is told once: {gone:?}");
    cluster.restart_empty(2);
    let young = wait_safe(&cluster.urls(), &["--wait-safe=0"]);
    assert_eq!(young.code(), 1, "{young:?}");
    assert!(young.said().contains("forgotten"), "{young:?}");
    assert_eq!(wait_safe(&cluster.urls(), &["--wait-safe=60s"]).code(), 0);
}

#[test]
fn one_server_alone_cannot_be_judged_nor_what_may_not_be_read() {
    let server = RedisServer::start();
    assert_eq!(wait_safe(&[server.url()], &["--wait-safe"]).code(), 2);
    let cluster = fleet();
    let _job = jobs(&cluster, 1);
    let seers: Vec<String> = cluster
        .iter()
        .map(|server| {
            server.command(&["ACL", "SETUSER", "seer", "on", ">pw", "~palisade:*", "&*", "+@all"]);
            server.url_with("seer", "pw")
        })
        .collect();
    let unread = wait_safe(&seers, &["--wait-safe"]);
    assert_eq!(unread.code(), 2, "{unread:?}");
}

/// Where replicas take the places of masters, those have to have what their masters have.
#[test]
fn master_without_a_replica_that_follows_is_waited_for() {
    let cluster = SlotCluster::replicated(3).patient();
    let urls = [format!("redis+cluster://{}", cluster.hosts().join(","))];
    let safe = wait_safe(&urls, &["--wait-safe=60s"]);
    assert_eq!(safe.code(), 0, "{safe:?}");
    let is_replica = |server: &&RedisServer| server.cli(&["ROLE"]).starts_with("slave");
    let replica = cluster.servers().find(is_replica).expect("there are three");
    replica.kill();
    let bare = wait_safe(&urls, &["--wait-safe=0"]);
    assert_eq!(bare.code(), 1, "{bare:?}");
    assert!(bare.said().contains("has no replica that has all"), "{bare:?}");
}

#[test]
fn what_cannot_be_looked_at_cannot_be_judged() {
    let cluster = fleet();
    for rules in ["-scan", "-info"] {
        let seers: Vec<String> = cluster
            .iter()
            .map(|server| {
                let rules =
                    ["ACL", "SETUSER", "seer", "reset", "on", ">pw", "~*", "&*", "+@all", rules];
                server.command(&rules);
                server.url_with("seer", "pw")
            })
            .collect();
        let unread = wait_safe(&seers, &["--wait-safe=5s"]);
        assert_eq!(unread.code(), 2, "{rules}: {unread:?}");
    }
    // More readers than are looked at, of which some are on two servers alone.
    for server in &cluster {
        for reader in 0..70 {
            let holder = format!("01234567-89ab-4cde-8123-456789abcdef:{reader}");
            server.cli(&["HSET", "readers", &holder, "1"]);
            let timer = format!("{{readers}}:{holder}:rwlock_timeout:1");
            server.cli(&["SET", &timer, "1", "PX", "600000"]);
        }
        server.cli(&["HSET", "readers", "mode", "read"]);
        server.cli(&["PEXPIRE", "readers", "600000"]);
    }
    let many = wait_safe(&cluster.urls(), &["--wait-safe=5s"]);
    assert_eq!(many.code(), 2, "{many:?}");
    assert!(many.said().contains("readers has more readers"), "{many:?}");
}

/// Two looks are two seconds apart, whatever the limit.
#[test]
fn limit_leaves_time_for_two_looks_or_it_is_not_safe() {
    let cluster = fleet();
    let short = wait_safe(&cluster.urls(), &["--wait-safe=1s"]);
    assert_eq!(short.code(), 1, "{short:?}");
    assert!(short.said().contains("looked at once"), "{short:?}");
}
