//! The sentences of comments and documents, and what is wrong with one.
//!
//! Lua is left out: the comments of a script are a part of its digest, so a better word there would be a new script.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folders with sources, and the documents that lie beside them.
const FOLDERS: [&str; 16] = [
    "src",
    "cli",
    "tests",
    "testkit",
    "chaos",
    "simulation",
    "checkers",
    "workload",
    "soak",
    "benches",
    "interop",
    "model",
    "examples",
    "xtask",
    "docs",
    "docker",
];

const DOCUMENTS: [&str; 5] =
    ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];

/// One sentence, or what stands for one: a heading, or a cell of a table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sentence {
    /// Below the root, with slashes.
    pub(crate) file: String,
    /// Where it begins, from 1.
    pub(crate) line: usize,
    pub(crate) text: String,
    /// Whether users read it first: the README, the pages, the docs of what is public, and the doors of modules.
    pub(crate) is_public: bool,
}

impl Sentence {
    pub(crate) fn words(&self) -> usize {
        self.text.split(' ').filter(|word| word.contains(char::is_alphanumeric)).count()
    }

    /// Whether a person is in it where a thing could be.
    pub(crate) fn leans_on_a_person(&self) -> bool {
        let words: Vec<_> = self.text.split(' ').map(bare).collect();
        words.iter().enumerate().any(|(i, word)| {
            let before = i.checked_sub(1).and_then(|i| words.get(i)).map_or("", String::as_str);
            let after = words.get(i + 1).map_or("", String::as_str);
            match word.as_str() {
                "whose" => !may_own(before),
                "one" => before == "no" || (before == "as" && MODALS.contains(&after)),
                word => PERSONS.contains(&word),
            }
        })
    }
}

const PERSONS: [&str; 17] = [
    "who",
    "who's",
    "whoever",
    "whoever's",
    "whom",
    "whomever",
    "whosever",
    "nobody",
    "nobody's",
    "somebody",
    "somebody's",
    "someone",
    "anybody",
    "anyone",
    "everybody",
    "everyone",
    "oneself",
];

const MODALS: [&str; 6] = ["would", "could", "should", "might", "must", "wants"];

/// Whether the word before a *whose* can be a thing. A question has none there: "it shows `whose`
/// turn it is".
fn may_own(before: &str) -> bool {
    let asks = [
        "", "those", "all", "others", "he", "know", "knows", "known", "say", "says", "show",
        "shows", "tell", "tells", "see", "sees", "ask", "asks", "decide", "decides", "whether",
        "is",
    ];
    !asks.contains(&before)
}

/// A word in lower case, without what is around it. What is in code is no word: `who` may be a name there.
fn bare(word: &str) -> String {
    let is_edge = |c: char| !c.is_alphanumeric() && c != '`';
    word.trim_matches(is_edge).to_lowercase()
}

/// All that is read by people.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn of_workspace(root: &Path) -> io::Result<Vec<Sentence>> {
    let mut files: Vec<_> = DOCUMENTS.iter().map(|file| root.join(file)).collect();
    for folder in FOLDERS {
        collect(&root.join(folder), &mut files)?;
    }
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file)?;
        let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        found.extend(of_file(&name, &text));
    }
    Ok(found)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::path);
    for path in entries.into_iter().map(|entry| entry.path()) {
        if path.is_dir() {
            if !path.ends_with("target") {
                collect(&path, files)?;
            }
        } else if path.extension().is_some_and(|kind| kind == "rs" || kind == "md") {
            files.push(path);
        }
    }
    Ok(())
}

fn of_file(name: &str, text: &str) -> Vec<Sentence> {
    let blocks = match name {
        "CHANGELOG.md" => vec![newest_section(text)],
        name if name.ends_with(".md") => {
            vec![document(text, name == "README.md" || name.starts_with("docs/src/"))]
        }
        _ => comments(text, name.starts_with("src/")),
    };
    let mut found = Vec::new();
    for block in blocks {
        for (line, text) in sentences(&block.lines) {
            // A heading is no sentence: it would make the others look shorter.
            let is_public = block.is_public && !text.starts_with('#');
            found.push(Sentence { file: name.to_owned(), line, text, is_public });
        }
    }
    found
}

/// Lines that are read together, each with its number.
struct Block<'a> {
    is_public: bool,
    lines: Vec<(usize, &'a str)>,
}

fn document(text: &str, is_public: bool) -> Block<'_> {
    Block { is_public, lines: text.lines().enumerate().map(|(i, line)| (i + 1, line)).collect() }
}

/// What was released is history, and stays as it was written.
fn newest_section(text: &str) -> Block<'_> {
    let mut block = document(text, false);
    let mut heads = block.lines.iter().filter(|(_, line)| line.starts_with("## ")).skip(1);
    if let Some(end) = heads.next().map(|(number, _)| *number) {
        block.lines.retain(|(number, _)| *number < end);
    }
    block
}

/// The comments of a source: lines below each other with one mark are one block.
fn comments(text: &str, is_library: bool) -> Vec<Block<'_>> {
    let mut found: Vec<Block<'_>> = Vec::new();
    let (mut open, mut docs) = ("", false);
    for (i, line) in text.lines().enumerate() {
        let code = line.trim_start();
        let mark = ["//!", "///", "//"].into_iter().find(|mark| code.starts_with(mark));
        match mark {
            Some(mark) => {
                if mark != open {
                    found.push(Block { is_public: is_library && mark == "//!", lines: Vec::new() });
                }
                let said = code.strip_prefix(mark).unwrap_or(code);
                if let Some(block) = found.last_mut() {
                    block.lines.push((i + 1, said.strip_prefix(' ').unwrap_or(said)));
                }
                (open, docs) = (mark, mark == "///");
            }
            None => {
                if docs && code.starts_with("pub ") {
                    found
                        .iter_mut()
                        .last()
                        .into_iter()
                        .for_each(|block| block.is_public = is_library);
                }
                docs = docs && code.starts_with("#[");
                open = "";
                if let Some(said) = beside_code(code) {
                    found.push(Block { is_public: false, lines: vec![(i + 1, said)] });
                    docs = false;
                }
            }
        }
    }
    found
}

/// The comment at the end of a line of code.
fn beside_code(code: &str) -> Option<&str> {
    let (before, said) = code.split_once(" // ")?;
    before.matches('"').count().is_multiple_of(2).then_some(said)
}

/// The sentences of a block, without its samples of code.
fn sentences(lines: &[(usize, &str)]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut paragraph = Vec::new();
    let (mut in_sample, mut is_behind_blank) = (false, true);
    for &(number, line) in lines {
        let text = line.trim();
        let is_fence = text.starts_with("```");
        let is_indented = is_behind_blank && line.starts_with("    ") && !is_item(text);
        if is_fence || in_sample || is_indented || text.is_empty() || starts_anew(text) {
            end(&mut paragraph, &mut found);
        }
        in_sample ^= is_fence;
        is_behind_blank = text.is_empty() || (is_behind_blank && is_indented);
        if is_fence || in_sample || is_indented || is_no_prose(text) {
            continue;
        }
        if text.starts_with('|') {
            for cell in text.split(" | ").map(|cell| cell.trim_matches(['|', ' '])) {
                paragraph.extend(cell.split_whitespace().map(|word| (number, word)));
                end(&mut paragraph, &mut found);
            }
        } else {
            paragraph.extend(text.split_whitespace().map(|word| (number, word)));
        }
        if text.starts_with('#') {
            end(&mut paragraph, &mut found);
        }
    }
    end(&mut paragraph, &mut found);
    found
}

fn starts_anew(text: &str) -> bool {
    is_item(text) || text.starts_with(['#', '|'])
}

fn is_item(text: &str) -> bool {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    text.starts_with("- ")
        || text.starts_with("* ")
        || (digits.len() < text.len() && digits.starts_with(". "))
}

/// Targets of links, rulers of tables and HTML.
fn is_no_prose(text: &str) -> bool {
    let is_target = text.starts_with('[') && text.contains("]: ");
    is_target || text.starts_with("|-") || text.starts_with("|:") || text.starts_with("<")
}

/// Cuts a paragraph where a sentence ends.
fn end(paragraph: &mut Vec<(usize, &str)>, found: &mut Vec<(usize, String)>) {
    let mut sentence: Vec<&str> = Vec::new();
    let mut begins = 0;
    let words = std::mem::take(paragraph);
    for (i, (number, word)) in words.iter().enumerate() {
        if sentence.is_empty() {
            begins = *number;
        }
        sentence.push(word);
        let next = words.get(i + 1).and_then(|(_, next)| next.chars().next());
        let goes_on = next.is_some_and(char::is_lowercase);
        let ends = word.trim_end_matches([')', '"', '*', '_', ']']).ends_with(['.', '?', '!']);
        let is_number = i == 0 && word.trim_end_matches('.').chars().all(|c| c.is_ascii_digit());
        if next.is_none() || (ends && !goes_on && !is_number) {
            found.push((begins, sentence.join(" ")));
            sentence.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(name: &str, text: &str) -> Vec<(usize, String)> {
        of_file(name, text).into_iter().map(|it| (it.line, it.text)).collect()
    }

    #[test]
    fn comments_are_cut_into_sentences() {
        let text = "//! A door. It has\n//! two.\n\n/// Says `a.b` (or not). 3 more\npub fn a() {} // Beside it.\n";
        let expected = [
            (1, "A door."),
            (1, "It has two."),
            (4, "Says `a.b` (or not)."),
            (4, "3 more"),
            (5, "Beside it."),
        ];
        assert_eq!(texts("src/a.rs", text), expected.map(|(line, text)| (line, text.to_owned())));
        let public: Vec<_> = of_file("src/a.rs", text).iter().map(|it| it.is_public).collect();
        assert_eq!(public, [true, true, true, true, false]);
        assert!(of_file("tests/a.rs", text).iter().all(|it| !it.is_public));
    }

    #[test]
    fn samples_and_targets_are_no_prose() {
        let text = "# Head\n\nOne.\n\n```sh\nwho\n```\n\n- an item\n  of two lines\n1. first\n\n| cell | two. More |\n|---|---|\n\n[a]: b\n\n    who\n";
        let expected = [
            (1, "# Head"),
            (3, "One."),
            (9, "- an item of two lines"),
            (11, "1. first"),
            (13, "cell"),
            (13, "two."),
            (13, "More"),
        ];
        assert_eq!(texts("a.md", text), expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn what_was_released_is_not_read() {
        let text = "# Log\n\n## New\n\nThis.\n\n## Old\n\nWho?\n";
        assert_eq!(texts("CHANGELOG.md", text).last().map(|(line, _)| *line), Some(5));
    }

    #[test]
    fn persons_are_told_from_things() {
        let leans = |text: &str| {
            let sentence =
                Sentence { file: String::new(), line: 1, text: text.to_owned(), is_public: true };
            sentence.leans_on_a_person()
        };
        for text in [
            "Whoever waits.",
            "It shows whose it is.",
            "No one asks.",
            "(somebody) is there",
            "As one would.",
        ] {
            assert!(leans(text), "{text}");
        }
        for text in ["A server whose data is lost.", "`who` is a name.", "The first one asks."] {
            assert!(!leans(text), "{text}");
        }
    }
}
