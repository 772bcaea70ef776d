//! Planted bugs are in no build but their own.

use std::{collections::BTreeSet, fs, process::Command};

use crate::{
    proofs::bugs::{BUGS, Finder},
    tidy::{files, root},
};

/// What a build with planted bugs asks the environment for. Put together here, so that the word does
/// not stand in this very program.
fn choice() -> String {
    ["PALISADE", "PLANTED"].join("_")
}

/// This program contains the whole library.
#[test]
fn a_program_has_planted_bugs_only_if_it_was_built_for_them() {
    let program = fs::read(std::env::current_exe().unwrap()).unwrap();
    let choice = choice();
    let has_them = program.windows(choice.len()).any(|bytes| bytes == choice.as_bytes());
    assert_eq!(has_them, cfg!(planted_bugs));
}

/// Each bug of the list has a place where it is planted, and each place asks for one of the list.
#[test]
fn every_planted_bug_has_its_place() {
    let src = root().join("src");
    let sources: Vec<_> =
        files(&src, "rs").iter().map(|f| fs::read_to_string(f).unwrap()).collect();
    let lines = sources.iter().flat_map(|source| source.lines().map(str::trim));
    let code = lines.filter(|line| !line.starts_with("//"));
    let planted: BTreeSet<_> = code.flat_map(|line| names_after(line, "planted!(")).collect();
    let listed: BTreeSet<_> = BUGS.iter().map(|bug| bug.variant).collect();
    assert_eq!(planted, listed);
}

#[test]
fn planted_bugs_are_called_as_their_variants_are() {
    assert!(BUGS.len() > 40);
    for bug in BUGS {
        let words = bug.variant.split_inclusive(|_: char| true).map(|letter| {
            let dash = if letter.chars().all(char::is_uppercase) { "-" } else { "" };
            format!("{dash}{}", letter.to_lowercase())
        });
        assert_eq!(words.collect::<String>(), format!("-{}", bug.name));
        assert!(bug.what.ends_with('.'), "{}: a sentence", bug.name);
    }
}

/// A test that was given another name would find nothing, and say so only when all bugs are planted.
#[test]
fn tests_that_are_to_find_planted_bugs_are_there() {
    let named = BUGS.iter().filter_map(|bug| match bug.finder {
        Finder::Test(filter) => Some(filter),
        Finder::Simulation { .. } | Finder::Blocking { .. } => None,
    });
    let named: BTreeSet<_> = named.collect();
    assert!(named.len() > 5);
    for test in named {
        let mut this = Command::new(std::env::current_exe().unwrap());
        let found = this.args(["--list", test]).output().unwrap();
        assert!(String::from_utf8_lossy(&found.stdout).contains(": test"), "{test}");
    }
}

/// What else there is of them is compiled with `--cfg planted_bugs` only.
#[test]
fn helpers_of_planted_bugs_are_in_no_other_build() {
    let src = root().join("src");
    for file in files(&src, "rs").iter().filter(|file| !file.starts_with(src.join("planted"))) {
        let source = fs::read_to_string(file).unwrap();
        let lines: Vec<_> = source.lines().map(str::trim).collect();
        for (i, line) in lines.iter().enumerate() {
            let is_helper = line.contains("planted::") && !line.starts_with("//");
            let cfg = |line: &&str| line.starts_with("#[cfg(") && line.contains("planted_bugs");
            // The attribute stands before the statement, or before the block around it.
            let guarded = lines[i.saturating_sub(3)..i].iter().any(cfg);
            assert!(!is_helper || guarded, "{}:{}", file.display(), i + 1);
        }
    }
}

fn names_after<'a>(text: &'a str, mark: &'a str) -> impl Iterator<Item = &'a str> {
    let rest = text.match_indices(mark).map(|(i, _)| &text[i + mark.len()..]);
    rest.map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default())
        .filter(|name| !name.is_empty())
}
