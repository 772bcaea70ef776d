//! A process forks: its children have all that it has, but its threads.

use std::collections::BTreeSet;

use testkit::{Actor, RedisServer};

use crate::fleet::HANG;

/// So often that on the way of a mutex at the moment of a fork would be met.
const PAIRS: u32 = 20;

#[test]
fn client_in_two_children_of_one_process_grants_nothing_and_leaves_the_parents_hold_alone() {
    let server = RedisServer::start();
    let args = [server.url(), PAIRS.to_string()];
    let mut forker = Actor::spawn(env!("CARGO_BIN_EXE_forker"), &args);
    let forked = format!("the client was made before a fork, by process {};", forker.pid());
    let lost = "the lock was lost: it is held by the process that this one was forked from";
    let mut processes = BTreeSet::new();
    for _ in 0..PAIRS * 2 {
        let line = forker.recv(HANG).unwrap();
        for part in ["tried", "looked", "names"] {
            assert!(line.contains(&format!("{part}: {forked}")), "{line}");
        }
        for part in ["valid", "again", "released"] {
            assert!(line.contains(&format!("{part}: held: {lost}")), "{line}");
        }
        assert!(line.contains(&format!("permit: permits: {lost}")), "{line}");
        let (_, id) = line.rsplit_once("own client: ").unwrap();
        assert!(processes.insert(id.split(':').next().unwrap().to_owned()), "{line}");
    }
    assert_eq!(forker.recv(HANG).unwrap(), "parent: held; released; permit released; turn granted");
    assert!(forker.wait(HANG).is_some_and(|status| status.success()));
}
