//! Processes that share a lock on one server, and how they may end.

use std::time::{Duration, Instant};

use testkit::{Actor, RedisServer};

use crate::fleet::{HANG, SOON};

/// Nobody waits this long for a lock that is free, unless a wake-up was lost: then it is looked for
/// after 5 s.
const WITHOUT_A_WAKE_UP: Duration = Duration::from_millis(4_500);

#[test]
fn thousand_hand_overs_each_way_between_two_processes_lose_none() {
    let server = RedisServer::start();
    let mut actors = [(); 2].map(|()| actor(&server));
    acquire(&mut actors[0], 60_000);
    let mut longest = Duration::ZERO;
    for turn in 0..2_000 {
        let [holder, waiter] = &mut actors;
        let (holder, waiter) = if turn % 2 == 0 { (holder, waiter) } else { (waiter, holder) };
        // Told at once, so that the release meets the waiter at every stage of its waiting.
        waiter.send("acquire x 60000").unwrap();
        holder.send("release").unwrap();
        let released = Instant::now();
        assert_eq!(waiter.recv(HANG).unwrap(), "acquired");
        assert_eq!(holder.recv(HANG).unwrap(), "released");
        longest = longest.max(released.elapsed());
    }
    assert!(longest < WITHOUT_A_WAKE_UP, "{longest:?}");
    assert_eq!(actors[0].ask("release", HANG), "released");
    assert_eq!(server.keys(), [""; 0]);
}

#[test]
fn two_processes_do_not_starve_each_other() {
    let server = RedisServer::start();
    let mut actors = [(); 2].map(|()| actor(&server));
    for actor in &mut actors {
        actor.send("contend x 5000").unwrap();
    }
    let times = actors.each_ref().map(|actor| actor.recv(HANG).unwrap().parse::<u32>().unwrap());
    let [less, more] = [times[0].min(times[1]), times[0].max(times[1])];
    assert!(less > 0 && less * 20 >= more, "{times:?}");
    assert_eq!(server.keys(), [""; 0]);
}

#[test]
fn lock_of_a_killed_process_is_free_when_its_lease_is_over() {
    let server = RedisServer::start();
    let [mut dies, mut waits] = [(); 2].map(|()| actor(&server));
    acquire(&mut dies, 2_000);
    waits.send("acquire x 2000").unwrap();
    dies.kill();
    let killed = Instant::now();
    assert_eq!(waits.recv(HANG).unwrap(), "acquired");
    assert_within_the_lease(killed, Duration::from_secs(2));
}

#[test]
fn lock_of_a_process_that_aborts_or_exits_is_free_when_its_lease_is_over() {
    for end in ["abort", "exit"] {
        let server = RedisServer::start();
        let [mut dies, mut waits] = [(); 2].map(|()| actor(&server));
        acquire(&mut dies, 2_000);
        waits.send("acquire x 2000").unwrap();
        dies.send(end).unwrap();
        assert!(dies.wait(HANG).is_some());
        let ended = Instant::now();
        assert_eq!(waits.recv(HANG).unwrap(), "acquired", "{end}");
        assert_within_the_lease(ended, Duration::from_secs(2));
    }
}

#[test]
fn panic_in_the_section_releases() {
    let server = RedisServer::start();
    let [mut panics, mut waits] = [(); 2].map(|()| actor(&server));
    acquire(&mut panics, 60_000);
    waits.send("acquire x 60000").unwrap();
    assert_eq!(panics.ask("panic", HANG), "panicked");
    assert_eq!(waits.recv(SOON).unwrap(), "acquired");
}

#[test]
fn process_stopped_past_its_lease_learns_of_the_loss_when_it_goes_on() {
    let server = RedisServer::start();
    let [mut stops, mut waits] = [(); 2].map(|()| actor(&server));
    acquire(&mut stops, 1_000);
    assert_eq!(stops.ask("valid", HANG), "valid");
    stops.freeze();
    assert_eq!(waits.ask("acquire x 60000", HANG), "acquired");
    // In the pipe before it goes on: the first thing it does is to look.
    stops.send("valid").unwrap();
    stops.thaw();
    assert_eq!(stops.recv(HANG).unwrap(), "the lock was lost: its lease ran out");
    assert_eq!(stops.ask("lost", SOON), "its lease ran out");
    assert!(stops.ask("release", HANG).contains("lost"));
    // What it does too late does not touch the new holder.
    assert_eq!(waits.ask("valid", HANG), "valid");
    assert_eq!(waits.ask("release", HANG), "released");
}

fn actor(server: &RedisServer) -> Actor {
    Actor::spawn(env!("CARGO_BIN_EXE_actor"), &[server.url()])
}

fn acquire(actor: &mut Actor, lease_ms: u32) {
    assert_eq!(actor.ask(&format!("acquire x {lease_ms}"), HANG), "acquired");
}

/// Nothing tells of an expiry: those who wait look when the holder's ttl is over.
#[track_caller]
fn assert_within_the_lease(ended: Instant, lease: Duration) {
    assert!(ended.elapsed() < lease + Duration::from_secs(1), "{:?}", ended.elapsed());
}
