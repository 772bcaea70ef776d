//! Markers in the sources, and the places where bugs are planted.

/// A marker, for one of the names that it has.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) invariant: String,
    pub(crate) role: Role,
    /// From the top of the repository.
    pub(crate) file: String,
    /// What it is above; `None` for a whole file.
    pub(crate) item: Option<String>,
}

/// What an item does for an invariant: by the word, and by where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Code,
    Rule,
    /// A check in the simulation alone.
    Simulation,
    /// A check in chaos alone.
    Chaos,
    /// A check of histories, whatever they are of.
    Checker,
    Test,
}

impl Role {
    fn of(word: &str, file: &str) -> Self {
        let top = file.split('/').next().unwrap_or_default();
        match (word, top) {
            (KEEPS, _) => Self::Code,
            (_, "model") => Self::Rule,
            (_, "checkers") => Self::Checker,
            (_, "simulation") if !file.contains("/tests/") => Self::Simulation,
            (_, "chaos") if !file.contains("/tests/") => Self::Chaos,
            _ => Self::Test,
        }
    }
}

/// The markers of a file.
pub(super) fn of(file: &str, text: &str) -> Vec<Mark> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut found = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let marker =
            [KEEPS, PROVES].into_iter().find_map(|word| Some((word, line.strip_prefix(word)?)));
        let Some((word, names)) = marker else { continue };
        let below = lines.get(i + 1..).unwrap_or_default();
        for name in names.split(',') {
            found.push(Mark {
                invariant: name.trim().to_owned(),
                role: Role::of(word, file),
                file: file.to_owned(),
                item: item(below),
            });
        }
    }
    found
}

/// The name of the first item in these lines; `None` if the file's own text comes first.
fn item(lines: &[&str]) -> Option<String> {
    let is_passed =
        |line: &&&str| line.starts_with("//") && !line.starts_with("//!") || line.starts_with("#[");
    let line = lines.iter().find(|line| !is_passed(line))?;
    if line.starts_with("//!") {
        return None;
    }
    if line.starts_with("impl") {
        return Some(line.trim_end_matches([' ', '{']).to_owned());
    }
    let bare = match line.strip_prefix("pub(") {
        Some(rest) => rest.split_once(") ")?.1,
        None => line,
    };
    // What stands behind the name may have such words, too: `'static`.
    let head = bare.split(['(', '<', '{', ':', '=', ';']).next()?;
    let words: Vec<&str> = head.split_whitespace().collect();
    let kind = words.iter().rposition(|word| KINDS.contains(word));
    let behind = kind.and_then(|kind| words.get(kind + 1));
    behind.or(words.first()).map(|name| (*name).to_owned())
}

/// A place where a bug is planted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The variant.
    pub(crate) bug: String,
    /// Below `src`.
    pub(crate) file: String,
}

/// Those of a file, each once.
pub(super) fn planted(file: &str, text: &str) -> Vec<Place> {
    let Some(below) = file.strip_prefix("src/") else { return Vec::new() };
    let mut found = Vec::new();
    let code = text.lines().filter(|line| !line.trim().starts_with("//"));
    for asked in code.flat_map(|line| line.split("planted!(").skip(1)) {
        let bug = asked.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let place = Place { bug: bug.to_owned(), file: below.to_owned() };
        if !bug.is_empty() && !found.contains(&place) {
            found.push(place);
        }
    }
    found
}

const KEEPS: &str = "// keeps: ";
const PROVES: &str = "// proves: ";

/// Behind these words stands the name of an item. The last one counts: `const fn`.
const KINDS: [&str; 8] =
    ["fn", "struct", "enum", "trait", "mod", "const", "static", "macro_rules!"];

#[test]
fn markers_have_the_name_of_what_stands_below() {
    let text = "// keeps: a, b\n/// Text.\n#[must_use]\npub(crate) const fn ask<K: 'static>() {}\n\n    // proves: c\n    \
                one => TWO,\n// proves: d\npub(crate) rule: bool,\n// keeps: e\nimpl Drop for A {\n";
    let found = of("src/x.rs", text);
    let read: Vec<_> = found
        .iter()
        .map(|mark| (mark.invariant.as_str(), mark.role, mark.item.as_deref()))
        .collect();
    let expected = [
        ("a", Role::Code, Some("ask")),
        ("b", Role::Code, Some("ask")),
        ("c", Role::Test, Some("one")),
        ("d", Role::Test, Some("rule")),
        ("e", Role::Code, Some("impl Drop for A")),
    ];
    assert_eq!(read, expected);
}

#[test]
fn marker_above_a_files_text_is_of_the_file() {
    let found = of("checkers/src/check/order.rs", "// proves: a\n//! Text.\n\nfn check() {}\n");
    assert_eq!((found[0].role, found[0].item.as_deref()), (Role::Checker, None));
}

#[test]
fn places_of_bugs_are_told_once_a_file() {
    let text = "if planted!(One) && planted!(Two) || planted!(One) {}\n// planted!(Three)";
    let bugs: Vec<_> = planted("src/a/b.rs", text).into_iter().map(|place| place.bug).collect();
    assert_eq!(bugs, ["One", "Two"]);
    assert!(planted("tests/it/x.rs", text).is_empty());
}
