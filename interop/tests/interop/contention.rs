//! Twenty contenders of each language on one name, with a client each: two processes of a language, ten clients in each.
//!
//! `PALISADE_CONTENTION_SECS` has them contend for longer than in every day's run.

use std::{
    env, fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use testkit::RedisServer;

use crate::{
    peers::{HANG, LONG_MS, Peer, Servers, Side},
    places::{Hold, Look, lost_places},
};

#[test]
fn twenty_of_each_language_on_a_plain_lock_are_granted_again_and_again() {
    let servers = Servers::start_for("lock");
    let folder = folder(&servers[0], "both");
    let urls = vec![servers[0].url(); CLIENTS];
    let peers = contend(
        &[(Side::Java, "lock", &urls, &folder), (Side::Rust, "lock", &urls, &folder)],
        SHORT,
    );
    let holds = holds_of(&peers, &folder);
    assert_progress(&holds, "java", "a plain lock");
    assert_progress(&holds, "rust", "a plain lock");
    assert_eq!(servers[0].keys(), Vec::<String>::new());
}

/// They exclude each other within their language: the ones want one master of three, the others any two.
#[test]
fn twenty_on_a_red_lock_and_twenty_of_redisson_on_one_of_its_masters_are_granted_again_and_again() {
    let servers = Servers::start_for("multi");
    let [ours, theirs] = ["ours", "theirs"].map(|name| folder(&servers[0], name));
    let all = vec![servers.urls(); CLIENTS].concat();
    let one = vec![servers[0].url(); CLIENTS];
    let peers =
        contend(&[(Side::Java, "lock", &one, &theirs), (Side::Rust, "red", &all, &ours)], SHORT);
    let (java, rust) = peers.split_at(PROCESSES);
    assert_progress(&holds_of(java, &theirs), "java", "one master of a red lock");
    assert_progress(&holds_of(rust, &ours), "rust", "a red lock");
    assert!(servers.iter().all(|server| server.keys().is_empty()));
}

/// A waiter loses its place if its id leaves the queue without a grant, or behind one that came later.
#[test]
fn none_of_twenty_of_each_language_loses_its_place_in_the_queue_of_a_fair_lock() {
    let servers = Servers::start_for("fair");
    let folder = folder(&servers[0], "both");
    let urls = vec![servers[0].url(); CLIENTS];
    let peers = contend(
        &[(Side::Java, "fair", &urls, &folder), (Side::Rust, "fair", &urls, &folder)],
        LONG,
    );
    let mut looks = vec![Look::take(&servers[0])];
    let began = SystemTime::now();
    while began.elapsed().unwrap() < length() || !looks.last().unwrap().queue.is_empty() {
        assert!(began.elapsed().unwrap() < length() + HANG, "the queue does not end");
        let look = Look::take(&servers[0]);
        if looks.last().is_none_or(|last| !last.is_like(&look)) {
            looks.push(look);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    let holds = holds_of(&peers, &folder);
    assert_progress(&holds, "java", "a fair lock");
    assert_progress(&holds, "rust", "a fair lock");
    let longest = looks.iter().map(|look| look.queue.len()).max();
    println!("{} states of the queue were seen, with {longest:?} waiters at most", looks.len());
    assert!(longest >= Some(30), "they waited for each other");
    assert_eq!(lost_places(&looks, &holds), Vec::<String>::new());
    assert_eq!(servers[0].keys(), Vec::<String>::new());
}

const CLIENTS: usize = 10;
const PROCESSES: usize = 2;
/// How long holds are, in ms.
const SHORT: [u64; 2] = [1, 5];
/// Forty of them in a row take longer than the five seconds after which Redisson looks again.
const LONG: [u64; 2] = [50, 300];
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Far below the leases, far above what a busy machine explains.
const WAKES: Duration = Duration::from_secs(30);

fn length() -> Duration {
    let named = env::var("PALISADE_CONTENTION_SECS").ok();
    Duration::from_secs(named.map_or(12, |secs| secs.parse().expect("a number of seconds")))
}

/// Where holders write.
fn folder(server: &RedisServer, name: &str) -> PathBuf {
    let folder = server.folder().join(name);
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("count"), "0").unwrap();
    folder
}

/// Two processes for each of these, with a client for each URL.
fn contend(sides: &[(Side, &str, &[String], &Path)], [shortest, longest]: [u64; 2]) -> Vec<Peer> {
    let sides = sides.iter().flat_map(|side| [side; PROCESSES]);
    let mut peers: Vec<_> =
        sides.clone().map(|(side, _, urls, _)| side.start_at(urls, LONG_MS)).collect();
    peers.iter_mut().for_each(Peer::wait_until_up);
    let ms = length().as_millis();
    for (peer, (_, kind, _, folder)) in peers.iter_mut().zip(sides) {
        peer.tell(&format!("contend {kind} x {ms} {shortest} {longest} {}", folder.display()));
    }
    peers
}

/// What the holders wrote, once all have ended: no two held at once.
fn holds_of(peers: &[Peer], folder: &Path) -> Vec<Hold> {
    let ended = peers.iter().map(|peer| peer.answer(length() + HANG));
    let told: usize = ended.map(|answer| number(&answer)).sum();
    let text = fs::read_to_string(folder.join("holds")).unwrap();
    let holds: Vec<_> = text
        .lines()
        .map(|line| {
            let [side, id, times @ ..] = &line.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let [asked, granted, left] = [0, 1, 2].map(|i| times[i].parse().unwrap());
            Hold { side: (*side).to_owned(), id: (*id).to_owned(), asked, granted, left }
        })
        .collect();
    for pair in holds.windows(2) {
        assert!(pair[0].left <= pair[1].granted, "two held at once: {pair:?}");
    }
    let counted = fs::read_to_string(folder.join("count")).unwrap();
    assert_eq!((holds.len(), counted), (told, told.to_string()), "updates were lost");
    holds
}

fn number(answer: &str) -> usize {
    answer.parse().unwrap_or_else(|_| panic!("{answer}"))
}

/// That a side was granted all the time.
fn assert_progress(holds: &[Hold], side: &str, what: &str) {
    let own: Vec<_> = holds.iter().filter(|hold| hold.side == side).collect();
    let ends = holds.first().into_iter().chain(own.iter().copied()).chain(holds.last());
    let granted: Vec<_> = ends.map(|hold| hold.granted).collect();
    let gap = granted.windows(2).map(|pair| pair[1] - pair[0]).max().map(Duration::from_micros);
    let wait = own.iter().map(|hold| hold.granted - hold.asked).max().map(Duration::from_micros);
    println!(
        "{side} on {what}: {} of {} holds; longest time between two grants {gap:?}, longest wait {wait:?}",
        own.len(),
        holds.len()
    );
    assert!(own.len() >= 20 && own.len() >= holds.len() / 20, "{side} is kept out");
    assert!(gap < Some(WAKES), "{side} was not granted for so long: {gap:?}");
}
