//! No type of the library has the name of another: a name that stands in two files means two things.

use std::collections::{BTreeMap, BTreeSet};

use super::sources;

/// The types that a file declares, but for those of a trait or an `impl`.
fn types(code: &str) -> impl Iterator<Item = &str> {
    code.lines().filter_map(|line| {
        let bare = line.trim_start();
        let bare = match bare.strip_prefix("pub(") {
            Some(rest) => rest.split_once(") ")?.1,
            None => bare.strip_prefix("pub ").unwrap_or(bare),
        };
        let (kind, rest) = bare.split_once(' ')?;
        let is_type = ["struct", "enum", "trait", "union"].contains(&kind)
            || (kind == "type" && !line.starts_with(' '));
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        is_type.then(|| &rest[..end])
    })
}

#[test]
fn no_type_has_the_name_of_another() {
    let sources = sources();
    let mut files: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for source in &sources {
        for name in types(&source.code) {
            files.entry(name).or_default().insert(&source.path);
        }
    }
    assert!(files.contains_key("Claim"), "no types were found");
    files.retain(|_, files| files.len() > 1);
    assert!(files.is_empty(), "these names stand in several files: {files:#?}");
}

#[test]
fn types_are_read_from_their_declarations() {
    let code = "pub(crate) struct A<T>(T);\npub enum B {\n    type C = u8;\n}\ntype D = A;\n    trait E {}\nstructure F";
    assert_eq!(types(code).collect::<Vec<_>>(), ["A", "B", "D", "E"]);
}
