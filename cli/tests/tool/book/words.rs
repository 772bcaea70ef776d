//! Each call of the tool in the book, and in the files beside it, has words that the tool knows.

use std::{fs, path::Path};

use clap::error::ErrorKind;

use super::{page, pages, root};

/// The words of each call, as a shell divides them, from `palisade` to where its command ends.
fn calls(text: &str, is_code: bool) -> Vec<Vec<String>> {
    let begins = |before: &str| match before.trim_end() {
        before if !is_code => before.ends_with('`'),
        "" => true,
        before if before.ends_with(['$', '`', '/', '|', ';', '&', '(', '=', ':', '"', '\'']) => {
            true
        }
        before => {
            before.ends_with(" do") || before.rsplit(' ').next().is_some_and(|it| it.contains('='))
        }
    };
    let found = text.match_indices("palisade ").filter(|(at, _)| begins(&text[..*at]));
    found.map(|(at, _)| words(&text[at..])).collect()
}

/// Lines of code, each by itself, and the prose, in which a call may go on in the next line.
fn parts(path: &Path, text: &str) -> Vec<(String, bool)> {
    let (mut parts, mut prose, mut is_code) = (Vec::new(), String::new(), false);
    let is_page = path.extension().is_some_and(|it| it == "md");
    for line in text.replace("\\\n", " ").lines() {
        if is_page && line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if is_code || !is_page {
            parts.push((line.to_owned(), true));
        } else {
            prose += line.trim_start();
            prose.push(' ');
        }
    }
    parts.push((prose, false));
    parts
}

fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut is_open) = (Vec::new(), String::new(), None, false);
    for c in text.chars() {
        match (quote, c) {
            (None, '\'' | '"') => (quote, is_open) = (Some(c), true),
            (Some(open), c) if c == open => quote = None,
            (None, ';' | '|' | '&' | '`' | '>' | ')' | '#') => break,
            (None, c) if c.is_whitespace() => {
                if is_open || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                is_open = false;
            }
            (_, c) => word.push(c),
        }
    }
    if is_open || !word.is_empty() {
        words.push(word);
    }
    words
}

/// What the tool has against them, but for what is left out in a sentence.
fn objection(words: &[String]) -> Option<String> {
    // A number of which nothing is said.
    let words: Vec<_> = words.iter().map(|word| if word == "M" { "1" } else { word }).collect();
    if words.iter().any(|word| *word == "SUB" || word.contains('…')) {
        return None;
    }
    match palisade_cli::command().try_get_matches_from(&words).err()?.kind() {
        ErrorKind::InvalidValue if words.last().is_some_and(|last| last.starts_with("--")) => None,
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::MissingRequiredArgument
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => None,
        kind => Some(kind.to_string()),
    }
}

#[test]
fn every_call_in_the_book_is_understood() {
    let folder = Path::new("docs/src/operate/files");
    let files = fs::read_dir(root().join(folder)).expect("a folder");
    let files = files.map(|file| folder.join(file.expect("an entry").file_name()));
    let (mut found, mut wrong) = (0, Vec::new());
    for path in pages().into_iter().chain(files) {
        for (text, is_code) in parts(&path, &page(&path.display().to_string())) {
            for words in calls(&text, is_code) {
                found += 1;
                if let Some(objection) = objection(&words) {
                    wrong.push(format!("{}: {objection}: {words:?}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(found > 150, "{found} calls were found");
}

#[test]
fn calls_are_found_and_judged() {
    let found = |line, is_code| {
        let words = calls(line, is_code).into_iter().map(|it| it.join("|"));
        words.collect::<Vec<_>>()
    };
    let line = "$ A=b palisade run -n x -- sh -c 'a; b'; echo $?";
    assert_eq!(found(line, true), ["palisade|run|-n|x|--|sh|-c|a; b"]);
    assert_eq!(found("`palisade ls` and the palisade of; palisade is", false), ["palisade|ls"]);
    assert_eq!(found("ExecStart=/usr/bin/palisade ls | head", true), ["palisade|ls"]);
    let judged = |line: &str| objection(&words(line));
    assert!(judged("palisade run --no-such-option x -- true").is_some());
    assert!(judged("palisade rum x").is_some());
    assert_eq!(judged("palisade run -n x -- true"), None);
}
