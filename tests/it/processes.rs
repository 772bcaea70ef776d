//! Processes that share a lock on one server, and how they may end.

use std::{sync::mpsc::RecvTimeoutError, thread, time::Duration};

use testkit::{Actor, RedisServer};

use crate::fleet::HANG;

/// A wait for a process, between two questions to the server: where that or we stand still, so does
/// the count.
const TURN: Duration = Duration::from_millis(10);
/// More than three and a half seconds, for what the process may stand still.
const PROMPT: u32 = 350;

#[test]
fn thousand_hand_overs_each_way_between_two_processes_lose_none() {
    let server = RedisServer::start();
    let mut actors = [(); 2].map(|()| actor(&server));
    acquire(&mut actors[0], 600_000);
    for turn in 0..2_000 {
        let [holder, waiter] = &mut actors;
        let (holder, waiter) = if turn % 2 == 0 { (holder, waiter) } else { (waiter, holder) };
        // Told at once, so that the release meets the waiter at every stage of its waiting.
        waiter.send("acquire x 600000").unwrap();
        holder.send("release").unwrap();
        assert_eq!(says_promptly(waiter, &server), "acquired");
        assert_eq!(holder.recv(HANG).unwrap(), "released");
    }
    assert_eq!(actors[0].ask("release", HANG), "released");
    assert_eq!(server.keys(), [""; 0]);
}

#[test]
fn two_processes_do_not_starve_each_other() {
    let server = RedisServer::start();
    let mut actors = [(); 2].map(|()| actor(&server));
    let mut contend = || {
        for actor in &mut actors {
            actor.send("contend x 5000").unwrap();
        }
        let times = actors.each_ref().map(|actor| actor.recv(HANG).unwrap());
        let mut times = times.map(|times| times.parse::<u32>().unwrap());
        times.sort_unstable();
        times
    };
    let is_fair = |[less, more]: [u32; 2]| less > 0 && less * 20 >= more;
    // One that the machine lets stand still is not starved by the other: it is again each time.
    let rounds: Vec<_> = (0..3).map(|_| contend()).take_while(|times| !is_fair(*times)).collect();
    assert!(rounds.len() < 3, "{rounds:?}");
    assert_eq!(server.keys(), [""; 0]);
}

#[test]
fn lock_of_a_killed_process_is_free_when_its_lease_is_over() {
    let server = RedisServer::start();
    let [mut dies, mut waits] = [(); 2].map(|()| actor(&server));
    acquire(&mut dies, 1_000);
    waits.send("acquire x 1000").unwrap();
    dies.kill();
    assert_eq!(says_behind_the_lease(&waits, &server), "acquired");
}

#[test]
fn lock_of_a_process_that_aborts_or_exits_is_free_when_its_lease_is_over() {
    for end in ["abort", "exit"] {
        let server = RedisServer::start();
        let [mut dies, mut waits] = [(); 2].map(|()| actor(&server));
        acquire(&mut dies, 1_000);
        waits.send("acquire x 1000").unwrap();
        dies.send(end).unwrap();
        assert!(dies.wait(HANG).is_some());
        assert_eq!(says_behind_the_lease(&waits, &server), "acquired", "{end}");
    }
}

#[test]
fn panic_in_the_section_releases() {
    let server = RedisServer::start();
    let [mut panics, mut waits] = [(); 2].map(|()| actor(&server));
    acquire(&mut panics, 600_000);
    waits.send("acquire x 600000").unwrap();
    assert_eq!(panics.ask("panic", HANG), "panicked");
    assert_eq!(says_promptly(&waits, &server), "acquired");
}

#[test]
fn process_stopped_past_its_lease_learns_of_the_loss_when_it_goes_on() {
    let server = RedisServer::start();
    let [mut stops, mut waits] = [(); 2].map(|()| actor(&server));
    acquire(&mut stops, 6_000);
    assert_eq!(stops.ask("valid", HANG), "valid");
    stops.freeze();
    assert_eq!(waits.ask("acquire x 600000", HANG), "acquired");
    // In the pipe before it goes on: the first thing it does is to look.
    stops.send("valid").unwrap();
    stops.thaw();
    let said = stops.recv(HANG).unwrap();
    assert!(said.contains(": the lock was lost: its lease ran out (holder "), "{said}");
    assert_eq!(stops.ask("lost", HANG), "its lease ran out");
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

/// Its next line. No waiter waits longer for a lock that is free, unless a wake-up was lost: then it
/// is looked for after 5 s.
#[track_caller]
fn says_promptly(actor: &Actor, server: &RedisServer) -> String {
    for _ in 0..PROMPT {
        match actor.recv(TURN) {
            Err(RecvTimeoutError::Timeout) => drop(server.command(&["PING"])),
            said => return said.unwrap(),
        }
    }
    panic!("not within {PROMPT} turns");
}

/// The same once a lease of a second that is not renewed is over. Nothing tells of an expiry: the
/// waiters look when the holder's ttl is over.
#[track_caller]
fn says_behind_the_lease(actor: &Actor, server: &RedisServer) -> String {
    thread::sleep(Duration::from_secs(1));
    says_promptly(actor, server)
}
