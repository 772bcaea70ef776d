use testkit::SlotCluster;

#[test]
fn slots_move_with_their_keys() {
    let cluster = SlotCluster::start(3);
    let slot = cluster.slot_of("x");
    let (from, to) = (cluster.owner_of(slot), (cluster.owner_of(slot) + 1) % 3);
    cluster[from].cli(&["SET", "x", "1"]);
    cluster.begin_move(slot, to);
    assert_eq!(cluster[from].cli(&["GET", "x"]), "1");
    let other = cluster[from].command(&["GET", "{x}y"]).to_string();
    assert!(other.contains("ASK") && other.contains(&cluster[to].port().to_string()), "{other}");
    let both = cluster[from].command(&["MGET", "x", "{x}y"]).to_string();
    assert!(both.contains("TRYAGAIN"), "{both}");
    cluster.move_keys(slot, to);
    cluster.finish_move(slot, to);
    assert_eq!((cluster.owner_of(slot), cluster[to].cli(&["GET", "x"])), (to, "1".to_owned()));
    let moved = cluster[from].command(&["GET", "x"]).to_string();
    assert!(moved.contains("MOVED"), "{moved}");
    assert_eq!(cluster.keys(), ["x"]);
}

#[test]
fn replica_takes_the_place_of_a_dead_master() {
    let cluster = SlotCluster::replicated(3);
    let slot = cluster.slot_of("x");
    let owner = cluster.owner_of(slot);
    cluster[owner].cli(&["SET", "x", "1"]);
    cluster[owner].cli(&["WAIT", "1", "5000"]);
    cluster.kill(owner);
    cluster.wait_until_replaced(owner);
    assert_eq!(cluster[cluster.owner_of(slot)].cli(&["GET", "x"]), "1");
    assert_eq!(cluster.keys(), ["x"]);
    cluster.restart(owner);
    cluster.wait_until_ok();
    assert_ne!(cluster.owner_of(slot), owner);
}
