//! The guides in `docs/maintain` name files that are there.

use std::fs;

use super::root;

/// What stands between backticks and is a path: below `src`, or below the top.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter(|quoted| {
        let is_path = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        quoted.contains('/') && quoted.chars().all(is_path)
    })
}

#[test]
fn guides_name_files_that_are_there() {
    let top = root();
    for guide in ["change.md", "where.md", "invariants.md", "semver.md"] {
        let text = fs::read_to_string(top.join("docs/maintain").join(guide)).unwrap();
        let is_there =
            |path: &str| ["", "src"].iter().any(|base| top.join(base).join(path).exists());
        let gone: Vec<_> = paths(&text).filter(|path| !is_there(path)).collect();
        assert!(gone.is_empty(), "{guide} names what is not there: {gone:?}");
        assert!(paths(&text).count() > 2, "{guide} names no files");
    }
}

#[test]
fn paths_are_told_from_code() {
    let text = "`a/b.rs` and `planted!(x/y)`, `word`, `kinds/*/*.lua`, `docs/maintain`";
    assert_eq!(paths(text).collect::<Vec<_>>(), ["a/b.rs", "docs/maintain"]);
}
