//! The lists in `docs/maintain/walks` name functions that are still where the list has them.

use std::fs;

use super::root;

/// The function and the file of each row.
fn rows(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let (function, file) =
            line.strip_prefix("| `")?.strip_suffix("` |")?.split_once("` | `")?;
        Some((function, file))
    })
}

/// Whether `fn NAME` stands in a text; of `Type::name` the last part is looked for.
fn has_function(text: &str, name: &str) -> bool {
    let bare = name.rsplit("::").next().unwrap();
    text.split("fn ").skip(1).any(|rest| {
        let after = rest.strip_prefix(bare).and_then(|rest| rest.chars().next());
        after.is_some_and(|c| !c.is_alphanumeric() && c != '_')
    })
}

#[test]
fn walks_lead_through_functions_that_are_there() {
    let mut gone = Vec::new();
    for list in ["acquire", "renew", "release"] {
        let text =
            fs::read_to_string(root().join(format!("docs/maintain/walks/{list}.md"))).unwrap();
        assert!(rows(&text).count() > 50, "{list}.md has no list");
        for (function, file) in rows(&text) {
            let source = fs::read_to_string(root().join("src").join(file)).unwrap_or_default();
            if !has_function(&source, function) {
                gone.push(format!("{list}.md: {function} is not in {file}"));
            }
        }
    }
    assert!(gone.is_empty(), "write them anew by `cargo xtask walk --write`:\n{}", gone.join("\n"));
}

#[test]
fn functions_are_found_by_their_whole_name() {
    assert!(has_function("    pub(crate) fn ask<K>(", "Claim::ask"));
    assert!(!has_function("fn ask_in(", "ask"));
    assert_eq!(rows("| `a::b` | `c.rs` |\n| x | y |").collect::<Vec<_>>(), [("a::b", "c.rs")]);
}
