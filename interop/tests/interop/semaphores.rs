//! Semaphores of which both languages take permits.

use testkit::RedisServer;

use crate::peers::{HANG, LONG_MS, Peer, Servers, Side, both_ways, eventually};

/// Ten thousand holds of two processes of each language, on two permits.
#[test]
fn holds_of_semaphores_are_never_more_than_there_are_permits() {
    crowd("semaphore", 2);
}

#[test]
fn holds_of_expirable_semaphores_are_never_more_than_there_are_permits() {
    crowd("expirable", 2);
}

fn crowd(kind: &str, permits: u32) {
    let servers = Servers::start_for(kind);
    let sides = [Side::Java, Side::Rust, Side::Java, Side::Rust];
    let mut peers = sides.map(|side| side.start(&servers, LONG_MS));
    peers.iter_mut().for_each(Peer::wait_until_up);
    assert_eq!(peers[0].ask(&format!("permits {kind} set x {permits}")), "true");
    let folder = servers[0].folder();
    for peer in &mut peers {
        peer.tell(&format!("permits {kind} crowd x 2500 {}", folder.display()));
    }
    // Far below the leases, whatever a busy machine does.
    let most = peers.each_ref().map(|peer| peer.answer(2 * HANG));
    println!("the most inside at once, of {permits} {kind} permits: {most:?}");
    assert!(most.iter().all(|most| most.parse::<u32>().unwrap() <= permits), "{most:?}");
    assert!(most.iter().any(|most| *most == permits.to_string()), "they met: {most:?}");
    assert_eq!(peers[1].ask(&format!("permits {kind} count x")), permits.to_string());
    let [key] = &servers[0].keys()[..] else { panic!("{:?}", servers[0].keys()) };
    assert_eq!(key, "x");
}

#[test]
fn release_of_a_permit_wakes_the_other_language() {
    let servers = Servers::start_for("semaphore");
    let [mut java, mut rust] = [Side::Java, Side::Rust].map(|side| side.start(&servers, LONG_MS));
    assert_eq!(rust.ask("permits semaphore set x 2"), "true");
    assert_eq!(java.ask("permits semaphore take x 2 0"), "granted");
    for turn in 0..300 {
        let (holder, waiter) =
            if turn % 2 == 0 { (&mut java, &mut rust) } else { (&mut rust, &mut java) };
        waiter.tell(&format!("permits semaphore take x 2 {LONG_MS}"));
        holder.tell("permits semaphore give x 2");
        assert_eq!(waiter.answer_promptly(&servers[0]), "granted", "turn {turn}");
        assert_eq!(holder.answer(HANG), "given");
    }
}

#[test]
fn release_of_a_permit_with_a_lease_wakes_the_other_language() {
    let servers = Servers::start_for("expirable");
    let [mut java, mut rust] = [Side::Java, Side::Rust].map(|side| side.start(&servers, LONG_MS));
    assert_eq!(java.ask("permits expirable set x 1"), "true");
    let mut held = id(&java.ask(&format!("permits expirable take x {LONG_MS} 0")));
    for turn in 0..300 {
        let (holder, waiter) =
            if turn % 2 == 0 { (&mut java, &mut rust) } else { (&mut rust, &mut java) };
        waiter.tell(&format!("permits expirable take x {LONG_MS} {LONG_MS}"));
        holder.tell(&format!("permits expirable give x {held}"));
        held = id(&waiter.answer_promptly(&servers[0]));
        assert_eq!(holder.answer(HANG), "true", "turn {turn}");
    }
}

#[test]
fn whatever_brings_permits_wakes_who_waits_in_the_other_language() {
    both_ways(|sides| {
        let servers = Servers::start_for("semaphore");
        let [mut waits, mut brings] = sides.map(|side| side.start(&servers, LONG_MS));
        for bring in ["set x 2", "add x 2", "give x 2"] {
            waits.tell(&format!("permits semaphore take x 2 {LONG_MS}"));
            eventually(|| listeners(&servers[0]) == 1);
            drop(brings.ask(&format!("permits semaphore {bring}")));
            assert_eq!(waits.answer_promptly(&servers[0]), "granted", "{bring}");
            eventually(|| listeners(&servers[0]) == 0);
        }
    });
}

/// What one side took, the other gives back.
#[test]
fn permits_pass_across() {
    let servers = Servers::start_for("semaphore");
    let [mut java, mut rust] = [Side::Java, Side::Rust].map(|side| side.start(&servers, LONG_MS));
    assert_eq!(rust.ask("permits semaphore set x 3"), "true");
    assert_eq!(rust.ask("permits semaphore take x 2 0"), "granted");
    assert_eq!(rust.ask("permits semaphore forget x 2"), "forgotten");
    assert_eq!(java.ask("permits semaphore give x 2"), "given");
    assert_eq!(java.ask("permits semaphore take x 3 0"), "granted");
    assert_eq!(rust.ask("permits semaphore give x 3"), "given");
    assert_eq!((rust.ask("permits semaphore count x"), servers[0].keys().len()), ("3".into(), 1));

    assert_eq!(java.ask("permits expirable set y 1"), "true");
    for (takes, gives) in [(0, 1), (1, 0)] {
        let peers = &mut [&mut java, &mut rust];
        let id = id(&peers[takes].ask("permits expirable take y 60000 0"));
        assert_eq!(peers[gives].ask("permits expirable take y 60000 0"), "refused");
        assert_eq!(peers[gives].ask(&format!("permits expirable extend y {id} 90000")), "true");
        for peer in peers.iter_mut() {
            assert_eq!(peer.ask("permits expirable total y"), "1");
            assert_eq!(peer.ask("permits expirable count y"), "0");
        }
        assert_eq!(peers[gives].ask(&format!("permits expirable give y {id}")), "true");
        assert_eq!(peers[takes].ask(&format!("permits expirable give y {id}")), "false");
    }
}

/// A permit with a lease comes back without a word of the holder that died.
#[test]
fn permit_of_a_process_that_was_killed_is_had_by_the_other_language_when_its_lease_ends() {
    both_ways(|sides| {
        let servers = Servers::start_for("expirable");
        let [mut dies, mut waits] = sides.map(|side| side.start(&servers, LONG_MS));
        assert_eq!(dies.ask("permits expirable set x 1"), "true");
        drop(id(&dies.ask("permits expirable take x 2000 0")));
        waits.tell(&format!("permits expirable take x 60000 {LONG_MS}"));
        dies.kill();
        drop(id(&waits.answer(HANG)));
    });
}

fn id(answer: &str) -> String {
    answer.strip_prefix("granted ").unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn listeners(server: &RedisServer) -> i64 {
    server.command(&["PUBSUB", "NUMSUB", "redisson_sc:{x}"]).array()[1].int()
}
