//! The names that markers may have, and the checks of histories.

/// An invariant of `docs/maintain/invariants.md`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Invariant {
    pub(crate) name: String,
    /// The sentence in bold.
    pub(crate) title: String,
}

impl Invariant {
    /// Each is ``- `name`: **Title** …``.
    pub(super) fn all(page: &str) -> Vec<Self> {
        let items = page.split("\n- `").skip(1);
        let read = items.filter_map(|item| {
            let (name, rest) = item.split_once("`: **")?;
            let title = rest.split_once("**")?.0;
            Some(Self { name: name.to_owned(), title: one_line(title) })
        });
        read.collect()
    }
}

/// A check of histories: `exclusion`, I1, and what it says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Check {
    pub(crate) file: String,
    pub(crate) number: String,
    pub(crate) says: String,
}

/// Each is ``* `file` (I1): what it says`` in the head of `checkers/src/check/mod.rs`.
pub(super) fn checks(source: &str) -> Vec<Check> {
    let head = source.lines().map_while(|line| line.strip_prefix("//!"));
    let head: String = head.map(|line| format!("{}\n", line.trim_start())).collect();
    let items = head.split("\n* `").skip(1);
    let read = items.filter_map(|item| {
        let (file, rest) = item.split_once("` (")?;
        let (number, says) = rest.split_once("): ")?;
        Some(Check { file: file.to_owned(), number: number.to_owned(), says: one_line(says) })
    });
    read.collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn invariants_are_read_with_titles_over_two_lines() {
    let page = "# A\n\n- `one`: **First\n  of all**: text.\n- no name\n- `two`: **Second.** More";
    let read = |name: &str, title: &str| Invariant { name: name.into(), title: title.into() };
    assert_eq!(Invariant::all(page), [read("one", "First of all"), read("two", "Second.")]);
}

#[test]
fn checks_without_a_number_are_no_promises() {
    let head = "//! All.\n//!\n//! * `order` (I11): nothing is\n//!   granted.\n//! * `promise`: else.\n\nmod a;";
    let order =
        Check { file: "order".into(), number: "I11".into(), says: "nothing is granted.".into() };
    assert_eq!(checks(head), [order]);
}
