//! The queue of a fair lock, in which both languages stand.

use std::time::{Duration, Instant};

use testkit::RedisServer;

use crate::peers::{HANG, LONG_MS, Peer, Servers, Side, both_ways, eventually, listeners, queue};

const ACQUIRE: &str = "acquire fair x a -1 300000";
const RELEASE: &str = "release fair x a";

/// Processes that wait for the fair lock `x`, in this order.
fn queued(servers: &Servers, sides: &[Side]) -> Vec<Peer> {
    let mut peers: Vec<_> = sides.iter().map(|side| side.start(servers, LONG_MS)).collect();
    peers.iter_mut().for_each(Peer::wait_until_up);
    for (before, peer) in peers.iter_mut().enumerate() {
        peer.tell(ACQUIRE);
        eventually(|| queue(&servers[0]).len() == before + 1);
    }
    eventually(|| listeners(&servers[0]) == i64::try_from(sides.len()).unwrap());
    peers
}

fn holder(servers: &Servers) -> String {
    servers[0].command(&["HKEYS", "x"]).array()[0].to_string()
}

#[test]
fn processes_of_both_languages_are_granted_in_the_order_in_which_they_asked() {
    both_ways(|[one, other]| {
        let servers = Servers::start_for("fair");
        let mut last = one.start(&servers, LONG_MS);
        assert_eq!(last.ask(ACQUIRE), "granted");
        let waiters = queued(&servers, &[other, one, one, other, other, one]);
        let order = queue(&servers[0]);
        for (id, waiter) in order.iter().zip(waiters) {
            assert_eq!(last.ask(RELEASE), "released");
            assert_eq!(waiter.answer_promptly(&servers[0]), "granted");
            assert_eq!(holder(&servers), *id);
            last = waiter;
        }
        assert_eq!(last.ask(RELEASE), "released");
        assert_eq!(servers[0].keys(), Vec::<String>::new());
    });
}

/// A waiter of palisade looks every two seconds, told or not. That it was told is seen from how long most
/// hand-overs take.
#[test]
fn release_wakes_who_waits_in_the_other_language() {
    both_ways(|[holds, waits]| {
        let servers = Servers::start_for("fair");
        let [mut holds, mut waits] = [holds, waits].map(|side| side.start(&servers, LONG_MS));
        let mut woken_in = Vec::new();
        for _ in 0..20 {
            assert_eq!(holds.ask(ACQUIRE), "granted");
            waits.tell(ACQUIRE);
            eventually(|| listeners(&servers[0]) == 1);
            let began = Instant::now();
            assert_eq!(holds.ask(RELEASE), "released");
            assert_eq!(waits.answer(HANG), "granted");
            woken_in.push(began.elapsed());
            assert_eq!(waits.ask(RELEASE), "released");
        }
        woken_in.sort_unstable();
        println!("woken in {:?}", woken_in[10]);
        assert!(woken_in[10] < LOOKS / 4, "{woken_in:?}");
    });
}

const LOOKS: Duration = Duration::from_secs(2);

/// Redisson leaves them their places, for five minutes each.
#[test]
fn killed_waiters_first_and_second_in_the_queue_are_passed_over_by_palisade() {
    both_ways(|[one, other]| {
        let servers = Servers::start_for("fair");
        let mut holds = one.start(&servers, LONG_MS);
        assert_eq!(holds.ask(ACQUIRE), "granted");
        let sides = [one, other, Side::Java, Side::Rust];
        let mut waiters = queued(&servers, &sides);
        waiters[..2].iter_mut().for_each(Peer::kill);
        eventually(|| listeners(&servers[0]) == 2);
        let began = Instant::now();
        assert_eq!(holds.ask(RELEASE), "released");
        // The one of Redisson is told by the one of palisade behind it.
        assert_eq!(waiters[2].answer(HANG), "granted");
        println!("two dead waiters took {:?}", began.elapsed());
        assert_eq!(waiters[2].ask(RELEASE), "released");
        assert_eq!(waiters[3].answer_promptly(&servers[0]), "granted");
        assert_eq!(waiters[3].ask(RELEASE), "released");
        assert_eq!(servers[0].keys(), Vec::<String>::new());
    });
}

/// It hears of the release from the process that holds, and takes those before it out itself.
#[test]
fn redisson_behind_killed_waiters_of_palisade_waits_for_seconds() {
    let servers = Servers::start_for("fair");
    let mut holds = Side::Rust.start(&servers, LONG_MS);
    assert_eq!(holds.ask(ACQUIRE), "granted");
    let mut waiters = queued(&servers, &[Side::Rust, Side::Rust, Side::Java]);
    waiters[..2].iter_mut().for_each(Peer::kill);
    eventually(|| listeners(&servers[0]) == 1 && looked_before(&servers[0], 500));
    let began = Instant::now();
    assert_eq!(holds.ask(RELEASE), "released");
    assert_eq!(waiters[2].answer(HANG), "granted");
    println!("two dead waiters of palisade took {:?}", began.elapsed());
    assert_eq!(waiters[2].ask(RELEASE), "released");
    assert_eq!(servers[0].keys(), Vec::<String>::new());
}

/// Whether the first in the queue, one of palisade, has not looked for so many ms: its place lasts for ten seconds
/// from its last look.
fn looked_before(server: &RedisServer, ms: i64) -> bool {
    let first = queue(server)[0].clone();
    let score = server.command(&["ZSCORE", "redisson_lock_timeout:{x}", &first]).to_string();
    let time = server.command(&["TIME"]);
    let now_ms = time.array()[0].to_string().parse::<i64>().unwrap() * 1_000;
    score.parse::<i64>().unwrap() - now_ms < 10_000 - ms
}

#[test]
fn waiter_that_gives_up_leaves_the_others_their_places() {
    both_ways(|[one, other]| {
        let servers = Servers::start_for("fair");
        let mut holds = one.start(&servers, LONG_MS);
        assert_eq!(holds.ask(ACQUIRE), "granted");
        let mut gives_up = other.start(&servers, LONG_MS);
        gives_up.tell("acquire fair x a -1 3000");
        eventually(|| queue(&servers[0]).len() == 1);
        let mut waits = one.start(&servers, LONG_MS);
        waits.tell(ACQUIRE);
        assert_eq!(gives_up.answer(HANG), "refused");
        eventually(|| queue(&servers[0]).len() == 1 && listeners(&servers[0]) == 1);
        assert_eq!(holds.ask(RELEASE), "released");
        assert_eq!(waits.answer_promptly(&servers[0]), "granted");
        assert_eq!(waits.ask(RELEASE), "released");
        assert_eq!(servers[0].keys(), Vec::<String>::new());
    });
}
