//! A block of the book that shows a terminal, played again.

use std::fs;

use testkit::{Cluster, RedisServer};

use super::page;
use crate::support::{
    PALISADE,
    folder::Folder,
    tool::{Running, palisade, program},
    until,
};

/// Shown commands, with what is around them here.
pub(super) struct Transcript {
    shown: Vec<Shown>,
    /// The masters of the page, in its order.
    pub(super) servers: Cluster,
    /// The home and the current directory.
    pub(super) folder: Folder,
    pub(super) variables: Vec<(&'static str, String)>,
    /// What goes on beside it until its end.
    pub(super) beside: Vec<Running>,
}

/// One command, and the lines that it is said to print.
#[derive(Debug)]
struct Shown {
    command: String,
    lines: Vec<String>,
}

impl Transcript {
    /// The block of this number in a page, on as many masters.
    pub(super) fn of(path: &str, number: usize, servers: Cluster) -> Self {
        let text = page(path);
        let block = text.split("```console\n").nth(number + 1).expect("a block of this number");
        let mut shown = Vec::<Shown>::new();
        for line in block.split("```").next().expect("its lines").lines() {
            match (line.strip_prefix("$ "), shown.last_mut()) {
                (Some(command), _) => {
                    shown.push(Shown { command: command.to_owned(), lines: Vec::new() });
                }
                (None, Some(last)) => last.lines.push(line.to_owned()),
                (None, None) => panic!("{path}: {line} comes before any command"),
            }
        }
        let variables = vec![("PALISADE_SERVERS", servers.urls().join(","))];
        Self { shown, servers, folder: Folder::new(), variables, beside: Vec::new() }
    }

    /// Masters that are no news.
    pub(super) fn blessed(path: &str, number: usize) -> Self {
        let transcript = Self::of(path, number, Cluster::start(3));
        let blessed = transcript.tool(&["bless", "--new"]).finish();
        assert_eq!(blessed.code(), 0, "{blessed:?}");
        transcript
    }

    /// One master, which votes at once.
    pub(super) fn alone(path: &str, number: usize) -> Self {
        Self::of(path, number, Cluster::start(1))
    }

    pub(super) fn with(mut self, variable: &'static str, value: String) -> Self {
        self.variables.push((variable, value));
        self
    }

    /// What the command of this number is said to print.
    pub(super) fn lines_of(&self, number: usize) -> &[String] {
        self.shown.get(number).map_or(&[], |shown| &shown.lines)
    }

    /// The tool, with the servers of this.
    pub(super) fn tool(&self, words: &[&str]) -> crate::support::tool::Tool {
        self.variables.iter().fold(palisade(words), |tool, (name, value)| tool.env(name, value))
    }

    /// Has `name` held by a command that runs on.
    pub(super) fn hold(&mut self, options: &[&str], name: &str) {
        self.hold_for("600", options, name);
    }

    /// The same for so many seconds.
    pub(super) fn hold_for(&mut self, seconds: &str, options: &[&str], name: &str) {
        let line = format!("echo held; sleep {seconds}");
        let words = [&["run"], options, &[name, "--", "sh", "-c", &line]].concat();
        let holder = self.tool(&words).start();
        assert_eq!(holder.line(), "held");
        self.beside.push(holder);
        self.wait_until_told();
    }

    /// Waits until each server can tell for how long something is held there.
    fn wait_until_told(&self) {
        let is_told =
            |server: &RedisServer| !server.cli(&["KEYS", "palisade_process:*"]).is_empty();
        until("it tells what it holds", || self.servers.iter().all(is_told).then_some(()));
    }

    /// Plays it. Calls `before` with the number of each command that is about to be played.
    pub(super) fn play(mut self, mut before: impl FnMut(&mut Self, usize)) {
        let (mut lasting, mut said) = (String::new(), Vec::<String>::new());
        for (number, shown) in std::mem::take(&mut self.shown).into_iter().enumerate() {
            before(&mut self, number);
            let command = self.here(&shown.command, &said);
            if command.starts_with("export ") {
                lasting += &format!("{command}\n");
                continue;
            }
            let port = self.servers[0].port();
            let script = format!(
                "exec 2>&1\nredis-cli() {{ command redis-cli -p {port} \"$@\"; }}\n{lasting}{}",
                command.trim_end_matches('&')
            );
            let shell = self.shell(&script);
            if command.ends_with('&') {
                self.beside.push(shell.start());
                self.wait_until_told();
                continue;
            }
            said = shell.finish().output;
            let told: Vec<_> = said.iter().map(|line| self.told(line)).collect();
            let expected: Vec<_> = shown.lines.iter().map(|line| self.told(line)).collect();
            assert!(fits(&expected, &told), "{}: {:#?}\nis: {said:#?}", shown.command, shown.lines);
        }
    }

    fn shell(&self, script: &str) -> crate::support::tool::Tool {
        let folder = std::path::Path::new(PALISADE).parent().expect("where it is").display();
        let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
        let shell = program("bash", &["-c", script]).env("PATH", path);
        let shell = shell.env("HOME", &self.folder.path).in_folder(&self.folder.path);
        self.variables.iter().fold(shell, |shell, (name, value)| shell.env(name, value))
    }

    /// A command, with the masters of this in place of those of the page, and the holder that was shown last.
    fn here(&self, command: &str, said: &[String]) -> String {
        let mut command = command.to_owned();
        for (at, server) in self.servers.iter().enumerate() {
            let names = [
                format!("127.0.0.1:730{}", at + 1),
                format!("127.0.0.1:731{}", at + 1),
                format!("db{}", at + 1),
            ];
            for name in names {
                command = command.replace(&name, &server.addr().to_string());
            }
        }
        if let Some((before, _)) = command.split_once("--holder ") {
            let shown =
                said.iter().find_map(|line| Some(line.split_once(" (")?.1.split_once(')')?.0));
            command = format!("{before}--holder {}", shown.expect("a holder"));
        }
        command
    }

    /// A line without what differs each time: words with digits, but for exit codes; this machine and folder.
    fn told(&self, line: &str) -> String {
        if line.parse::<u8>().is_ok() {
            return line.to_owned();
        }
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let line = line.replace(&self.folder.path.display().to_string(), "/home/ops");
        let words = line.split_whitespace().map(|word| match word {
            word if word == host.trim() => "vm",
            word if word.contains(|c: char| c.is_ascii_digit()) => "#",
            word => word,
        });
        let mut told: Vec<_> = words.collect();
        told.dedup_by(|one, other| *one == "#" && *other == "#");
        told.join(" ")
    }
}

/// `…` stands for any lines, and inside of a line for any words.
fn fits(expected: &[String], told: &[String]) -> bool {
    match expected {
        [] => told.is_empty(),
        [dots, rest @ ..] if dots == "…" => {
            (0..=told.len()).any(|n| fits(rest, told.get(n..).unwrap_or_default()))
        }
        [first, rest @ ..] => match told {
            [line, told @ ..] => is_like(first, line) && fits(rest, told),
            [] => false,
        },
    }
}

fn is_like(expected: &str, line: &str) -> bool {
    match expected.split_once('…') {
        Some((begins, ends)) => line.starts_with(begins) && line.ends_with(ends),
        None => expected == line,
    }
}

#[test]
fn what_is_shown_is_compared() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    for (expected, told, is_same) in [
        ("a\nb", "a\nb", true),
        ("a", "a\nb", false),
        ("a\n…", "a\nb\nc", true),
        ("…\nc", "a\nb\nc", true),
        ("…\nc", "a\nb", false),
        ("a\nb", "a", false),
        ("a … b", "a c d b", true),
        ("a … b", "a c d", false),
    ] {
        assert_eq!(fits(&lines(expected), &lines(told)), is_same, "{expected} {told}");
    }
    let transcript = Transcript::alone("docs/src/start/five-minutes.md", 0);
    assert_eq!(transcript.told("x for 1m 5s, 3/3"), "x for #");
    assert_eq!(transcript.told("75"), "75");
}
