//! The pages in `docs/src` and the README: links lead somewhere, and what is quoted is what the programs say.

use std::{
    collections::BTreeSet,
    fs,
    path::{Component, Path, PathBuf},
};

use super::{files, root};

/// What is longer is not read to its end.
const WORDS: usize = 1_200;
/// As many lines as a README may have.
const LINES: usize = 150;

/// A page with its path below the top.
struct Page {
    path: PathBuf,
    text: String,
}

impl Page {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_default();
        Self { path: path.strip_prefix(root()).unwrap().to_owned(), text }
    }

    /// The lines outside of blocks of code.
    fn prose(&self) -> impl Iterator<Item = &str> {
        let mut is_code = false;
        self.text.lines().filter(move |line| {
            let is_fence = line.trim_start().starts_with("```");
            is_code ^= is_fence;
            !is_code && !is_fence
        })
    }

    /// The blocks of code: what stands behind the three marks, and the lines.
    fn blocks(&self) -> Vec<(&str, Vec<&str>)> {
        let (mut found, mut open) = (Vec::new(), None);
        for line in self.text.lines() {
            match (line.trim_start().strip_prefix("```"), &mut open) {
                (Some(tag), None) => open = Some((tag, Vec::new())),
                (Some(_), Some(_)) => found.extend(open.take()),
                (None, Some((_, lines))) => lines.push(line),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "a block of {} has no end", self.path.display());
        found
    }

    /// Targets of links and of pictures, but for those on other hosts.
    fn targets(&self) -> Vec<&str> {
        let prose = self.prose().flat_map(|line| line.split("](").skip(1));
        let targets = prose.filter_map(|rest| Some(rest.split_once(')')?.0));
        targets.filter(|target| !target.contains("://")).collect()
    }

    /// What a link behind a `#` may name.
    fn anchors(&self) -> BTreeSet<String> {
        self.prose().filter_map(|line| line.strip_prefix('#')).map(anchor).collect()
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap()
    }
}

/// As code hosts and mdBook make one of a heading.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Without its `..`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        if part == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
        plain
    })
}

fn pages() -> Vec<Page> {
    let mut paths = files(&root().join("docs/src"), "md");
    paths.push(root().join("README.md"));
    paths.sort();
    paths.iter().map(|path| Page::read(path)).collect()
}

/// All strings of the programs, in lines that do not go on.
fn said() -> String {
    let sources = ["src", "cli/src"].map(|below| files(&root().join(below), "rs"));
    let mut said = String::new();
    for path in sources.iter().flatten() {
        let text = fs::read_to_string(path).unwrap();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let mut line = line.to_owned();
            while let Some(begun) = line.strip_suffix('\\') {
                line = format!("{begun}{}", lines.next().unwrap_or_default().trim_start());
            }
            said += &line;
            said.push('\n');
        }
    }
    said
}

#[test]
fn links_of_pages_lead_somewhere() {
    let mut dead = Vec::new();
    for page in pages() {
        for target in page.targets() {
            let (path, fragment) = target.split_once('#').unwrap_or((target, ""));
            let is_own = path.is_empty();
            let path = if is_own { page.path.clone() } else { plain(&page.folder().join(path)) };
            let whole = root().join(&path);
            let has_anchor = || Page::read(&whole).anchors().contains(fragment);
            if !whole.exists() || !(fragment.is_empty() || has_anchor()) {
                dead.push(format!("{}: {target}", page.path.display()));
            }
        }
    }
    assert!(dead.is_empty(), "these links lead nowhere:\n{}", dead.join("\n"));
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let summary = Page::read(&root().join("docs/src/SUMMARY.md"));
    let named: Vec<_> = summary.targets().iter().map(|it| summary.folder().join(it)).collect();
    for page in pages().iter().filter(|page| page.path.starts_with("docs/src")) {
        let times = named.iter().filter(|named| **named == page.path).count();
        let expected = usize::from(page.path != summary.path);
        assert_eq!(times, expected, "{} in SUMMARY.md", page.path.display());
    }
    assert!(named.len() > 40, "{} pages are named", named.len());
}

#[test]
fn pages_are_short_and_their_code_is_tagged() {
    for page in pages() {
        let (name, words) = (page.path.display(), page.text.split_whitespace().count());
        assert!(words <= WORDS, "{name} has {words} words: it is two pages");
        for (tag, lines) in page.blocks() {
            assert!(!tag.is_empty(), "{name} has code of no language: {lines:?}");
        }
    }
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let lines = readme.lines().count();
    assert!(lines <= LINES, "README.md has {lines} lines: what is detail has a page");
}

#[test]
fn rust_in_pages_is_compiled() {
    let door = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    for page in pages() {
        let has_rust = page.blocks().iter().any(|(tag, _)| tag.starts_with("rust"));
        let include = format!("include_str!(\"../{}\")", page.path.display());
        assert!(!has_rust || door.contains(&include), "nothing compiles {}", page.path.display());
    }
}

/// Names of the library, such as `Client::fenced`. Pages about other libraries have theirs, too.
#[test]
fn names_in_pages_are_those_of_today() {
    let said = said();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let known: BTreeSet<_> = said.split(|c| !is_word(c)).collect();
    let mut names = 0;
    for page in pages().iter().filter(|page| !page.path.starts_with("docs/src/move-over")) {
        let quoted = page.prose().flat_map(|line| line.split('`').skip(1).step_by(2));
        for name in quoted.filter(|name| name.starts_with(char::is_uppercase)) {
            let Some((of, member)) = name.split_once("::") else { continue };
            let member = member.split(|c| !is_word(c)).next().unwrap_or_default();
            let is_known = known.contains(of) && known.contains(member);
            assert!(is_known || member.is_empty(), "{}: what is {name}?", page.path.display());
            names += 1;
        }
    }
    assert!(names > 60, "{names} names were found");
}

/// `…` stands for what differs from one time to the next.
#[test]
fn texts_of_incidents_are_what_is_said() {
    let said = said();
    let is_invented = |piece: &&str| piece.len() > 3 && !said.contains(*piece);
    let incidents = pages();
    let incidents = incidents.iter().filter(|page| page.path.starts_with("docs/src/incidents"));
    let mut texts = 0;
    for page in incidents {
        let blocks = page.blocks();
        let quoted = blocks.iter().filter(|(tag, _)| *tag == "text").flat_map(|(_, lines)| lines);
        for line in quoted {
            texts += 1;
            let pieces = line.split('…').map(str::trim).collect::<Vec<_>>();
            let invented: Vec<_> = pieces.iter().copied().filter(is_invented).collect();
            assert!(invented.is_empty(), "{}: nothing says {invented:?}", page.path.display());
        }
    }
    assert!(texts >= 15, "{texts} texts were found");
}

#[test]
fn files_that_pages_include_are_there() {
    let mut included = BTreeSet::new();
    for page in pages() {
        for rest in page.text.split("{{#include ").skip(1) {
            let path = plain(&page.folder().join(rest.split_once("}}").unwrap().0));
            assert!(root().join(&path).is_file(), "{}: {}", page.path.display(), path.display());
            included.insert(path);
        }
    }
    for file in fs::read_dir(root().join("docs/src/operate/files")).unwrap() {
        let path = Path::new("docs/src/operate/files").join(file.unwrap().file_name());
        assert!(included.contains(&path), "no page shows {}", path.display());
    }
}

/// The book has no file from outside of its folder, and a code host shows no picture behind a symbolic link.
#[test]
fn picture_of_the_book_is_the_one_of_the_chaos_runs() {
    let [theirs, ours] = ["docs/timeline.svg", "docs/src/choose/timeline.svg"];
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    assert!(read(theirs) == read(ours), "copy {theirs} to {ours}");
}

#[test]
fn anchors_are_those_of_a_code_host() {
    assert_eq!(anchor("## What `RedLock` needs, and why?"), "what-redlock-needs-and-why");
    assert_eq!(plain(Path::new("a/b/../../c.md")), Path::new("c.md"));
    let text = "# A\n```sh\n[x](no.md)\n```\n[b](c.md#d), ![e](f.svg) [g](https://h)\n".to_owned();
    let page = Page { path: "x.md".into(), text };
    assert_eq!(page.targets(), ["c.md#d", "f.svg"]);
    assert_eq!(page.blocks(), [("sh", vec!["[x](no.md)"])]);
    assert_eq!(page.anchors(), BTreeSet::from(["a".to_owned()]));
}
