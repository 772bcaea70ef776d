//! Many processes that want one lock at the same moment.

use std::collections::BTreeSet;

use testkit::{Cluster, RedisServer};

use crate::support::{
    tool::{Running, run},
    until,
};

/// How many processes have a connection there.
fn processes(server: &RedisServer) -> usize {
    let clients = server.cli(&["CLIENT", "LIST"]);
    let names = clients.split_whitespace().filter(|word| word.starts_with("name=palisade:"));
    names.collect::<BTreeSet<_>>().len()
}

/// So many wait for what one holds, which ends as soon as its input does. All are run `with` the same options.
fn herd(cluster: &Cluster, many: usize, with: &str) -> (Running, Vec<Running>) {
    let urls = cluster.urls();
    let holder = run(&urls, &format!("{with} -w 50"), "echo held; cat").start();
    assert_eq!(holder.line(), "held");
    let options = format!("{with} -q -w 300");
    let herd: Vec<_> = (0..many).map(|_| run(&urls, &options, "true").start()).collect();
    for server in cluster {
        until("all have come", || (processes(server) == many + 1).then_some(()));
    }
    (holder, herd)
}

/// All ran, one after the other.
fn finish(holder: Running, herd: Vec<Running>) {
    assert_eq!(holder.finish().code(), 0);
    for one in herd {
        let ended = one.finish();
        assert_eq!(ended.code(), 0, "{ended:?}");
    }
}

#[test]
fn what_a_herd_asks_grows_with_how_many_they_are_and_not_with_their_square() {
    const MANY: usize = 80;
    for with in ["", "--all"] {
        let cluster = Cluster::start(3).blessed();
        let (holder, herd) = herd(&cluster, MANY, with);
        let calls = || cluster.iter().map(|server| server.calls_of("evalsha")).collect::<Vec<_>>();
        let before = calls();
        finish(holder, herd);
        for (after, before) in calls().iter().zip(before) {
            // Twice for the turn, twice or thrice for the lock, and what is taken back: 7 each, up to 15 on a busy
            // machine. If all asked after each release, it were 230 each.
            let calls = after - before;
            assert!(calls < 30 * MANY as u64, "{with}: {calls} calls");
        }
    }
}

#[test]
fn herd_goes_on_without_the_server_that_it_met_on() {
    for (place, kills) in [(0, true), (1, false), (2, true)] {
        let cluster = Cluster::start(3).blessed();
        let (holder, herd) = herd(&cluster, 12, "");
        if kills {
            cluster.kill(place);
        } else {
            cluster.freeze(place);
        }
        finish(holder, herd);
    }
}
