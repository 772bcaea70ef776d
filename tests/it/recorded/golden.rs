//! The recorded file: sections of lines, compared one by one.

use std::{fmt::Write, fs, path::PathBuf};

use super::stage::FAILED;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) lines: Vec<String>,
}

/// Panics with the first section that is not as recorded.
pub(super) fn compare(played: &[Section]) {
    if std::env::var_os("PALISADE_RECORD").is_some() {
        let failed = played.iter().find(|section| section.lines.iter().any(|line| line == FAILED));
        assert!(failed.is_none(), "{failed:?}");
        fs::write(path(), written(played)).unwrap();
        panic!("recorded anew: look at the difference, and run this without PALISADE_RECORD");
    }
    let recorded = read(&fs::read_to_string(path()).unwrap());
    for (recorded, played) in recorded.iter().zip(played) {
        assert!(recorded == played, "{}\n{HINT}", difference(recorded, played));
    }
    let names = |sections: &[Section]| -> Vec<_> {
        sections.iter().map(|section| section.name.clone()).collect()
    };
    assert_eq!(names(&recorded), names(played), "{HINT}");
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("it/recorded/expected.txt")
}

fn written(sections: &[Section]) -> String {
    let mut text = String::from(HEAD);
    for section in sections {
        write!(text, "\n{MARK}{}\n", section.name).unwrap();
        section.lines.iter().for_each(|line| writeln!(text, "{line}").unwrap());
    }
    text
}

fn read(text: &str) -> Vec<Section> {
    let mut sections = Vec::<Section>::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(name) = line.strip_prefix(MARK) {
            sections.push(Section { name: name.to_owned(), lines: Vec::new() });
        } else if let Some(section) = sections.last_mut() {
            section.lines.push(line.to_owned());
        }
    }
    sections
}

/// The lines between those at both ends that are the same, with a few of these.
fn difference(recorded: &Section, played: &Section) -> String {
    if recorded.name != played.name {
        return format!("{} stands where {} is recorded", played.name, recorded.name);
    }
    let (old, new) = (&recorded.lines, &played.lines);
    let same = |(one, other): &(&String, &String)| one == other;
    let before = old.iter().zip(new).take_while(same).count();
    let shorter = old.len().min(new.len()) - before;
    let after = old.iter().rev().zip(new.iter().rev()).take(shorter).take_while(same).count();
    let context = before.saturating_sub(CONTEXT)..before;
    let mut text = format!("in {} (- recorded, + said now):\n", played.name);
    let mut tell = |sign: &str, lines: &[String]| {
        lines.iter().take(MANY).for_each(|line| writeln!(text, "{sign} {line}").unwrap());
        if lines.len() > MANY {
            writeln!(text, "{sign} and {} lines more", lines.len() - MANY).unwrap();
        }
    };
    tell(" ", &old[context]);
    tell("-", &old[before..old.len() - after]);
    tell("+", &new[before..new.len() - after]);
    let rest = &old[old.len() - after..];
    tell(" ", &rest[..rest.len().min(CONTEXT)]);
    text
}

const CONTEXT: usize = 3;
/// For more, the file has them all, after a recording.
const MANY: usize = 40;
const MARK: &str = "## ";
const HEAD: &str = "\
What the library says to each server (s) on each connection (c), in order of arrival: see mod.rs.
Written by PALISADE_RECORD=1, not by hand. Scripts go by their names, processes are p1 and p2. What a
connection begins with is told in full where it is met first, and then as hello (number).
";
const HINT: &str = "if that is wanted: PALISADE_RECORD=1 cargo test -p palisade-tests --test it \
                    -- recorded, and look at the difference";

#[test]
fn a_difference_shows_what_is_not_the_same_and_what_is_around_it() {
    let section = |lines: &str| Section {
        name: "room::scenario".to_owned(),
        lines: lines.split(' ').map(str::to_owned).collect(),
    };
    let told = difference(&section("a b c d e f"), &section("a b c x y e f"));
    let lines: Vec<_> = told.lines().skip(1).collect();
    assert_eq!(lines, ["  a", "  b", "  c", "- d", "+ x", "+ y", "  e", "  f"]);
    let told = difference(&section("a a"), &section("a a a"));
    assert_eq!(told.lines().skip(1).collect::<Vec<_>>(), ["  a", "  a", "+ a"]);
}

#[test]
fn what_was_written_is_read_again() {
    let lines = vec!["s1 c1 PING".to_owned(), "s1 c1 TIME".to_owned()];
    let section = |name: &str| Section { name: name.to_owned(), lines: lines.clone() };
    let sections = [section("a::b"), section("c::d")];
    assert_eq!(read(&written(&sections)), sections);
}
