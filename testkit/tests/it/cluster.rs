use testkit::{Cluster, RedisServer};

#[test]
fn masters_are_independent() {
    let cluster = Cluster::start(3);
    assert_eq!((cluster.len(), cluster.urls().len()), (3, 3));
    cluster[0].cli(&["SET", "a", "1"]);
    assert!(cluster[1].keys().is_empty());
    cluster.kill(0);
    assert_eq!(cluster[2].cli(&["ECHO", "alive"]), "alive");
    cluster.restart(0);
    cluster.freeze(1);
    cluster.thaw(1);
    assert!(cluster.iter().all(|server| server.keys().is_empty()));
}

#[test]
fn settings_hold_for_every_master() {
    let cluster = Cluster::start_with(2, &RedisServer::builder().arg("--appendonly", "yes"));
    for server in &cluster {
        assert_eq!(server.cli(&["CONFIG", "GET", "appendonly"]), "appendonly\nyes");
    }
}
