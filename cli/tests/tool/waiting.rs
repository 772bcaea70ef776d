//! What is said of a lock that is waited for: who else has it, never who waits.

use testkit::{Cluster, RedisServer};

use crate::support::tool::run;

/// A `--all` keeps what it was granted, in this order, until the next server grants too.
fn last_in_common_order(cluster: &Cluster) -> &RedisServer {
    let run_id = |server: &&RedisServer| {
        let info = server.cli(&["INFO", "server"]);
        info.lines().find_map(|line| line.strip_prefix("run_id:").map(str::to_owned))
    };
    cluster.iter().max_by_key(run_id).expect("not empty")
}

#[test]
fn who_keeps_some_servers_while_waiting_for_the_last_names_the_holder_there() {
    let cluster = Cluster::start(3).blessed();
    let last = last_in_common_order(&cluster);
    let holder = run(&[last.url()], "", "echo $PALISADE_HOLDER; read line").start();
    let who = format!("pid {} ({})", holder.pid(), holder.line());

    let waited = run(&cluster.urls(), "--all -w 2", "true").finish();
    assert_eq!(waited.code(), 75, "{waited:?}");
    let [notice, end] = waited.errors.as_slice() else { panic!("{waited:?}") };
    assert!(notice.contains("waiting for name: held by ") && notice.contains(&who), "{notice}");
    assert!(end.contains("name is held by ") && end.contains(&who), "{end}");
}

#[test]
fn a_free_lock_of_which_one_server_hangs_is_held_by_nobody() {
    let cluster = Cluster::start(3).blessed();
    cluster.freeze(2);
    let waited = run(&cluster.urls(), "--all -w 3", "true").finish();
    assert_eq!(waited.code(), 69, "{waited:?}");
    let [notice, end] = waited.errors.as_slice() else { panic!("{waited:?}") };
    let silent = format!("too few servers answer: 127.0.0.1:{}/0: ", cluster[2].port());
    assert!(notice.contains(&format!("waiting for name: {silent}")), "{notice}");
    assert!(!waited.said().contains("held by"), "{waited:?}");
    assert!(end.contains("not enough servers answered"), "{end}");
}
