//! What either language leaves on the servers after each operation: keys, their fields and ttl, and
//! what was published.
//!
//! Each file beside this one is played by both. `> COMMAND` is told to the process, and
//! `> server N: WORDS` to a server. The lines below are what must come to be true: of both, or of one
//! only behind `java:` or `rust:`. There are no others.
//!
//! | line | what |
//! |---|---|
//! | `granted` | the answer |
//! | `x = <holder> 1, ttl up to 100 s` | a key |
//! | `redisson_lock__channel:{x} <- 0` | a message |
//! | `redisson_unlock_latch:{x}:<id> came and went` | a key that is gone again |
//!
//! Of several servers, a line begins with the number of its own.

mod view;
mod words;

use std::{thread, time::Duration};

use self::view::View;
use crate::peers::{LONG_MS, Peer, Servers, Side};

#[test]
fn plain_locks_leave_the_same() {
    play_by_both("lock", include_str!("lock.txt"));
}

#[test]
fn fenced_locks_leave_the_same() {
    play_by_both("fenced", include_str!("fenced.txt"));
}

#[test]
fn fair_locks_leave_the_same() {
    play_by_both("fair", include_str!("fair.txt"));
}

#[test]
fn latches_leave_the_same() {
    play_by_both("latch", include_str!("latch.txt"));
}

#[test]
fn multi_locks_leave_the_same() {
    play_by_both("multi", include_str!("multi.txt"));
}

#[test]
fn read_write_locks_leave_the_same() {
    play_by_both("rw", include_str!("rw.txt"));
}

#[test]
fn multi_locks_of_readers_leave_the_same() {
    play_by_both("multi-read", include_str!("multi-read.txt"));
}

#[test]
fn multi_locks_of_fair_locks_leave_the_same() {
    play_by_both("multi-fair", include_str!("multi-fair.txt"));
}

#[test]
fn semaphores_leave_the_same() {
    play_by_both("semaphore", include_str!("semaphore.txt"));
}

#[test]
fn expirable_semaphores_leave_the_same() {
    play_by_both("expirable", include_str!("expirable.txt"));
}

fn play_by_both(kind: &str, text: &str) {
    let wrong = [Side::Java, Side::Rust].map(|side| {
        let servers = Servers::start_for(kind);
        let mut stage = Stage {
            peer: side.start(&servers, LONG_MS),
            views: servers.iter().map(View::of).collect(),
            servers: &servers,
        };
        let wrong: Vec<_> = steps(text, side).filter_map(|step| stage.play(&step)).collect();
        format!("{side:?}:\n{}", wrong.join("\n"))
    });
    assert_eq!(wrong, ["Java:\n", "Rust:\n"], "{kind}, - expected, + seen:\n{}", wrong.join("\n"));
}

/// What is done, and what must come of it.
struct Step<'a> {
    command: &'a str,
    expected: Vec<&'a str>,
}

/// Those of a file, as far as they concern `side`.
fn steps(text: &str, side: Side) -> impl Iterator<Item = Step<'_>> {
    let other = if matches!(side, Side::Java) { Side::Rust } else { Side::Java };
    text.split("\n> ").skip(1).map(move |step| {
        let mut lines = step.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let command = lines.next().unwrap();
        let ours = lines.filter(|line| !line.starts_with(other.mark()));
        let expected = ours.map(|line| line.strip_prefix(side.mark()).unwrap_or(line));
        Step { command, expected: expected.collect() }
    })
}

struct Stage<'a> {
    peer: Peer,
    views: Vec<View<'a>>,
    servers: &'a Servers,
}

impl Stage<'_> {
    /// What is wrong afterwards, if anything.
    fn play(&mut self, step: &Step<'_>) -> Option<String> {
        self.views.iter_mut().for_each(View::begin);
        let answer = match step.command.strip_prefix("server ") {
            Some(rest) => {
                let (number, words) = rest.split_once(": ").unwrap();
                let words: Vec<_> = words.split(' ').collect();
                self.servers[number.parse().unwrap()].cli(&words);
                Vec::new()
            }
            // Each language has words of its own for what it cannot do.
            None => match self.peer.ask(step.command) {
                answer if answer.starts_with("failed: ") => vec!["failed".to_owned()],
                answer => vec![words::shown(&answer)],
            },
        };
        let mut expected = step.expected.clone();
        expected.sort_unstable();
        let began = std::time::Instant::now();
        // What is done in the background comes to be true a little later.
        loop {
            let mut seen = answer.clone();
            seen.extend(self.seen());
            seen.sort();
            if seen == expected {
                return None;
            }
            if began.elapsed() > SETTLED {
                return Some(difference(step.command, &expected, &seen));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn seen(&mut self) -> Vec<String> {
        let several = self.views.len() > 1;
        let lines = self.views.iter_mut().map(View::lines).enumerate();
        let number = |i| if several { format!("{i} ") } else { String::new() };
        lines.flat_map(|(i, of)| of.into_iter().map(move |line| number(i) + &line)).collect()
    }
}

fn difference(command: &str, expected: &[&str], seen: &[String]) -> String {
    let missing = expected.iter().filter(|line| !seen.iter().any(|it| it == *line));
    let extra = seen.iter().filter(|line| !expected.contains(&line.as_str()));
    let lines =
        missing.map(|line| format!("- {line}")).chain(extra.map(|line| format!("+ {line}")));
    format!("> {command}\n{}", lines.collect::<Vec<_>>().join("\n"))
}

/// Whatever is done in the background is done by then.
const SETTLED: Duration = Duration::from_secs(20);
